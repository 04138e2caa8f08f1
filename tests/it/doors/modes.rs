//! `greenlight tdd`, `refactor` and `explain` in real checkouts: their output, changes and exit codes.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};

use super::fix::{GREEN, RED, document, sums};
use super::terminal::Terminal;
use super::{Door, Ended, tree, written};
use crate::harness::model::{KEY, ScriptedModel, calls};

const TEST: &str = "\
import unittest
import sums

class MeanTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(sums.mean([1, 3]), 2)
";

fn door(model: &ScriptedModel) -> Door {
    Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY)
}

async fn run(door: &Door, arguments: &[&str], root: &Path) -> Ended {
    let arguments = arguments.iter().map(AsRef::<OsStr>::as_ref);
    door.run(arguments.chain([root.as_os_str()])).await
}

fn mean() -> String {
    format!("{GREEN}\n\ndef mean(numbers):\n    return sum(numbers) / len(numbers)\n")
}

/// A model that writes a test, and then the code for it.
async fn test_and_code() -> ScriptedModel {
    let model = ScriptedModel::start([]).await;
    model
        .then(calls("write_file", json!({ "path": "test_mean.py", "text": TEST })))
        .submits("The mean of two numbers.")
        .then(calls("write_file", json!({ "path": "sums.py", "text": mean() })))
        .submits("The mean is the sum by the count.");
    model
}

#[tokio::test]
async fn tests_come_first_and_both_are_written() {
    let checkout = sums(GREEN, &[]);
    let specification = written(&[("spec.md", b"mean(numbers) gives the mean.\n")]);
    let file = specification.path().join("spec.md");
    let model = test_and_code().await;
    let arguments = ["tdd", "--json", "--yes", "--spec", file.to_str().unwrap()];
    let done = document(&run(&door(&model), &arguments, checkout.path()).await.with(0));
    assert_eq!(
        (&done["outcome"], &done["mode"]),
        (&json!("implemented"), &json!("tdd"))
    );
    assert_eq!(done["tests"]["files"], json!(["test_mean.py"]));
    assert_eq!(done["tests"]["red"]["failed"], 1);
    assert_eq!(done["proposal"]["evidence"]["after"]["passed"], 2);
    let code = done["proposal"]["code"].as_str().unwrap();
    assert!(code.contains("sums.py") && !code.contains("test_mean.py"), "{code}");
    assert_eq!(
        std::fs::read_to_string(checkout.path().join("test_mean.py")).unwrap(),
        TEST
    );
    assert_eq!(
        std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(),
        mean()
    );
    assert!(
        model.requests()[0]
            .to_string()
            .contains("mean(numbers) gives the mean.")
    );
    model.finish();
}

/// A project in one language: its files, the test that is written first, and the code that follows.
struct Project<'a> {
    files: &'a [(&'a str, &'a str)],
    test: (&'a str, &'a str),
    code: (&'a str, &'a str),
}

/// Missing code shows differently in each language: during compilation, loading or execution.
async fn works(project: &Project<'_>) {
    let files: Vec<(&str, &[u8])> = project
        .files
        .iter()
        .map(|(path, text)| (*path, text.as_bytes()))
        .collect();
    let checkout = written(&files);
    std::fs::write(checkout.path().join("spec.md"), "The mean of numbers.\n").unwrap();
    let write = |(path, text): (&str, &str)| calls("write_file", json!({ "path": path, "text": text }));
    let model = ScriptedModel::start([write(project.test)]).await;
    model
        .submits("The mean.")
        .then(write(project.code))
        .submits("The mean.");
    let file = checkout.path().join("spec.md");
    let arguments = ["tdd", "--json", "--yes", "--spec", file.to_str().unwrap()];
    let ended = run(&door(&model), &arguments, checkout.path()).await;
    assert_eq!(ended.code, Some(0), "{ended:#?}\n{}", model.told());
    let done = document(&ended);
    let names = done["tests"]["names"].to_string();
    assert!(names.to_lowercase().contains("mean"), "{names}");
    model.finish();
}

#[tokio::test]
async fn what_python_cannot_import_yet_is_demanded() {
    works(&Project {
        files: &[("sums.py", GREEN), ("test_sums.py", super::fix::TESTS)],
        test: (
            "test_mean.py",
            &TEST
                .replace("import sums", "from sums import mean")
                .replace("sums.mean", "mean"),
        ),
        code: ("sums.py", &mean()),
    })
    .await;
}

#[tokio::test]
async fn what_rust_cannot_find_yet_is_demanded() {
    let before = "pub fn one() -> u32 {\n    1\n}\n";
    let tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one_is_one() {\n        assert_eq!(super::one(), 1);\n    }\n}\n";
    let new = "    #[test]\n    fn mean_of_two() {\n        assert_eq!(super::mean(&[1, 3]), 2);\n    }\n}\n";
    let with_new = format!("{}{new}", tests.strip_suffix("}\n").unwrap());
    let mean = "\npub fn mean(numbers: &[u32]) -> u32 {\n    numbers.iter().sum::<u32>() / numbers.len() as u32\n}\n";
    works(&Project {
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "Cargo.lock",
                "version = 3\n\n[[package]]\nname = \"sums\"\nversion = \"0.1.0\"\n",
            ),
            ("src/lib.rs", &format!("{before}{tests}")),
        ],
        test: ("src/lib.rs", &format!("{before}{with_new}")),
        code: ("src/lib.rs", &format!("{before}{mean}{with_new}")),
    })
    .await;
}

#[tokio::test]
async fn what_go_calls_undefined_is_demanded() {
    let test = "package sums\n\nimport \"testing\"\n\nfunc TestMean(t *testing.T) {\n\tif got := Mean([]int{1, 3}); got != 2 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n";
    works(&Project {
        files: &[
            ("go.mod", "module example.com/sums\n\ngo 1.21\n"),
            ("sums.go", "package sums\n\nfunc One() int { return 1 }\n"),
            (
                "sums_test.go",
                "package sums\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fail()\n\t}\n}\n",
            ),
        ],
        test: ("mean_test.go", test),
        code: (
            "mean.go",
            "package sums\n\nfunc Mean(numbers []int) int {\n\tsum := 0\n\tfor _, n := range numbers {\n\t\tsum += n\n\t}\n\treturn sum / len(numbers)\n}\n",
        ),
    })
    .await;
}

#[tokio::test]
async fn what_a_javascript_module_does_not_export_yet_is_demanded() {
    let head = "import assert from 'node:assert';\nimport { test } from 'node:test';\n";
    let one = "export function one() { return 1; }\n";
    works(&Project {
        files: &[
            ("package.json", "{ \"name\": \"sums\", \"type\": \"module\", \"scripts\": { \"test\": \"node --test\" } }\n"),
            ("sums.js", one),
            (
                "one.test.js",
                &format!("{head}import {{ one }} from './sums.js';\ntest('one', () => assert.equal(one(), 1));\n"),
            ),
        ],
        test: (
            "mean.test.js",
            &format!("{head}import {{ mean }} from './sums.js';\ntest('mean of two', () => {{\n  assert.equal(mean([1, 3]), 2);\n}});\n"),
        ),
        code: (
            "sums.js",
            &format!("{one}export function mean(numbers) {{ return numbers.reduce((a, b) => a + b) / numbers.length; }}\n"),
        ),
    })
    .await;
}

#[tokio::test]
async fn somebody_is_asked_about_the_tests_where_that_is_wanted() {
    let checkout = sums(
        GREEN,
        &[("greenlight.toml", "[gate]\ntests = true\n"), ("spec.md", "mean")],
    );
    let model = test_and_code().await;
    let door = door(&model);
    let file = checkout.path().join("spec.md");
    let arguments = [
        OsStr::new("tdd"),
        "--spec".as_ref(),
        file.as_ref(),
        checkout.path().as_ref(),
    ];
    let mut terminal = Terminal::start(door.command(arguments));
    terminal.shows("Tests, seen to fail without the code:").await;
    terminal
        .shows("Write the code for these tests? [y]es, [n]o, or why not:")
        .await;
    terminal.types("y");
    terminal.shows("Code, besides the tests above:").await;
    terminal.shows("Write this to the working tree?").await;
    terminal.types("y");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(
        std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(),
        mean()
    );
    model.finish();
}

#[tokio::test]
async fn a_refactoring_says_what_is_better() {
    let long = "def total(numbers):\n    if numbers:\n        if len(numbers) > 0:\n            return sum(numbers)\n    return 0\n";
    let short = "def total(numbers):\n    return sum(numbers)\n";
    let checkout = sums(long, &[]);
    let model = ScriptedModel::start([calls("write_file", json!({ "path": "sums.py", "text": short }))]).await;
    model.submits("One way is enough.");
    // Somebody may drop the file onto the terminal.
    let file = checkout.path().join("sums.py");
    let file = file.to_str().unwrap();
    let arguments = ["refactor", "less complexity", "--in", file, "--json", "--yes"];
    let done = document(&run(&door(&model), &arguments, checkout.path()).await.with(0));
    assert_eq!(done["outcome"], "refactored");
    let measures = &done["proposal"]["measures"];
    assert_eq!(
        (&measures["before"]["complexity"], &measures["after"]["complexity"]),
        (&json!([3]), &json!([1]))
    );
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), short);
    model.finish();

    let checkout = sums(RED, &[]);
    let model = ScriptedModel::start([]).await;
    let refused = run(&door(&model), &["refactor", "tidy"], checkout.path()).await.with(3);
    refused.saying("fail before the refactoring");
    let elsewhere = ["refactor", "tidy", "--in", "other.py"];
    let elsewhere = run(&door(&model), &elsewhere, checkout.path()).await.with(2);
    elsewhere.saying("--in: there is no other.py in ");
    model.finish();
}

#[tokio::test]
async fn an_explanation_shows_lines_and_writes_nothing() {
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let place = json!({ "path": "sums.py", "from": 2, "to": 2, "says": "subtracts" });
    let explains = calls("explain", json!({ "root_cause": "It subtracts.", "because": [place] }));
    let model = ScriptedModel::start([explains.clone(), explains]).await;
    let said = run(&door(&model), &["explain"], checkout.path()).await.with(0);
    for part in [
        "It subtracts.",
        "sums.py:2: subtracts",
        "    2      return numbers[0] - numbers[1]",
    ] {
        assert!(said.out.contains(part), "{part}\n{}", said.out);
    }
    let said = document(
        &run(&door(&model), &["explain", "--json"], checkout.path())
            .await
            .with(0),
    );
    assert_eq!(said["outcome"], "explained");
    assert_eq!(
        said["explanation"]["because"][0]["lines"],
        "    return numbers[0] - numbers[1]"
    );
    assert_eq!(tree(checkout.path()), before);
    model.finish();
}

#[tokio::test]
async fn without_a_model_an_explanation_says_what_was_seen() {
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let said = run(&Door::new(), &["explain"], checkout.path()).await.with(0);
    for part in [
        "test_sums",
        "red in 2 of 2 runs",
        "sums.py",
        "numbers[0] - numbers[1]",
        "GREENLIGHT_MODEL",
    ] {
        assert!(said.out.contains(part), "{part}\n{}", said.out);
    }
    let said = document(&run(&Door::new(), &["explain", "--json"], checkout.path()).await.with(0));
    assert_eq!(said["outcome"], "explained");
    assert_eq!(said["explanation"]["because"][0]["path"], "sums.py");
    assert_eq!(tree(checkout.path()), before);
    let green = sums(GREEN, &[]);
    let said = run(&Door::new(), &["explain"], green.path()).await.with(0);
    assert!(said.err.contains("nothing to explain"), "{}", said.err);
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let checkout = sums(GREEN, &[("empty.md", " \n"), ("spec.md", "mean")]);
    let root = checkout.path();
    let file = |name: &str| root.join(name).display().to_string();
    let door = Door::new();
    for (arguments, part) in [
        (
            vec!["tdd".to_string(), "--spec".into(), file("nowhere.md")],
            "nowhere.md",
        ),
        (vec!["tdd".into(), "--spec".into(), file("empty.md")], "is empty"),
        (
            vec!["tdd".into(), "--spec".into(), file("spec.md")],
            "`tdd` needs a model",
        ),
        (
            vec!["refactor".into(), "x".into(), "--engine".into(), "builtin".into()],
            "`--engine builtin` (GREENLIGHT_ENGINE) uses none",
        ),
        (vec!["refactor".into(), " ".into()], "the goal is empty"),
        (
            vec!["refactor".into(), "x".into(), "--in".into(), "../x".into()],
            "--in takes a path",
        ),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(&door, &arguments, root).await.with(2).saying(part);
    }
    let json: Value = document(&run(&door, &["refactor", "--json", "x"], root).await.with(2));
    assert_eq!(json["outcome"], "usage");
}

#[tokio::test]
async fn a_recorded_run_is_the_same_again_after_its_fix_was_written() {
    let checkout = sums(RED, &[]);
    let model = ScriptedModel::start([]).await;
    model
        .then(calls("write_file", json!({ "path": "sums.py", "text": GREEN })))
        .submits("It adds now.");
    let door = door(&model);
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("run.greenlight");
    let program = checkout.path().join("sums.py");
    let record = ["fix", "--yes", "--record", program.to_str().unwrap()];
    let refused = run(&door, &record, checkout.path()).await.with(2);
    refused.saying("sums.py exists and is not a recorded run; name another file");
    assert_eq!(std::fs::read_to_string(&program).unwrap(), RED);
    let record = ["fix", "--yes", "--record", bundle.to_str().unwrap()];
    run(&door, &record, checkout.path()).await.with(0);
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    let replayed = run(&door, &["replay", "--json"], &bundle).await.with(0);
    let replayed: Value = serde_json::from_str(&replayed.out).unwrap();
    assert_eq!((&replayed["same"], &replayed["attempts"]), (&json!(true), &json!(1)));
    model.finish();
}

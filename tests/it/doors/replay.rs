//! `greenlight replay`: a recording replays with the same result, and later changes are detected.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::fix::{GREEN, RED, document, sums};
use super::{Door, Ended, ended};
use crate::harness::model::{KEY, ScriptedModel, Turn, calls};

fn door(model: &ScriptedModel) -> Door {
    Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY)
}

async fn run(door: &Door, arguments: &[&str], path: &Path) -> Ended {
    let arguments = arguments.iter().map(AsRef::<OsStr>::as_ref);
    door.run(arguments.chain([path.as_os_str()])).await
}

/// A recorded run, and everything that must stay alive with it.
struct Recorded {
    door: Door,
    file: PathBuf,
    _folder: TempDir,
}

/// `greenlight fix` on a wrong sum, recorded to a file.
async fn recorded(door: Door, more: &[&str], code: i32) -> Recorded {
    let checkout = sums(RED, &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.zip");
    let arguments = [&["fix", "--record", file.to_str().unwrap()], more].concat();
    run(&door, &arguments, checkout.path()).await.with(code);
    Recorded {
        door,
        file,
        _folder: folder,
    }
}

impl Recorded {
    async fn replayed(&self, code: i32) -> Value {
        document(&run(&self.door, &["replay", "--json"], &self.file).await.with(code))
    }

    /// Changes one entry of the bundle.
    fn change(&self, name: &str, change: impl Fn(&str) -> String) {
        let mut archive = ZipArchive::new(std::fs::File::open(&self.file).unwrap()).unwrap();
        let mut entries: Vec<(String, String)> = Vec::new();
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            entries.push((entry.name().unwrap().to_string(), text));
        }
        let mut writer = ZipWriter::new(std::fs::File::create(&self.file).unwrap());
        for (entry, text) in entries {
            let after = if entry == name { change(&text) } else { text.clone() };
            assert!(entry != name || after != text, "{name} is as it was: {text}");
            writer.start_file(entry, SimpleFileOptions::default()).unwrap();
            writer.write_all(after.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
    }
}

/// A model that reads, edits, runs the tests and submits, after these first turns.
async fn model(first: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    let model = ScriptedModel::start(first).await;
    model
        .reads("sums.py")
        .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
        .runs_tests()
        .submits("The numbers were subtracted.");
    model
}

fn request() -> Turn {
    let why = "To see how it adds.";
    calls(
        "request_execution",
        json!({ "command": "echo $((6 * 7)) answers", "minutes": 1, "why": why }),
    )
}

#[tokio::test]
async fn the_built_in_engine_finds_the_same_again() {
    let recorded = recorded(Door::new(), &["--yes"], 0).await;
    let replayed = run(&recorded.door, &["replay"], &recorded.file).await.with(0);
    assert!(replayed.out.starts_with("the same: 1 attempt"), "{}", replayed.out);
    let replayed = recorded.replayed(0).await;
    let expected = json!({ "same": true, "attempts": 1, "turns": 0, "results": 0, "differences": [] });
    assert_eq!(replayed, expected);
}

/// Half a megabyte that expands to 250 MB, and to gigabytes of steps: a person who replays it gets a clear error.
#[tokio::test]
async fn a_bundle_that_expands_is_refused_in_bounded_memory() {
    let recorded = recorded(Door::new(), &["--yes"], 0).await;
    recorded.change("journal.jsonl", |_| "\"announced\"\n".repeat(250_000_000 / 12));
    assert!(recorded.file.metadata().unwrap().len() < 2 << 20);
    let program = env!("CARGO_BIN_EXE_greenlight");
    let bounded = ["--as=2147483648", program, "replay", recorded.file.to_str().unwrap()];
    let command = recorded.door.command_of(Path::new("prlimit"), bounded).spawn().unwrap();
    ended(command)
        .await
        .with(2)
        .saying("its journal has more than 20000 steps");
}

#[tokio::test]
async fn a_model_with_tools_is_the_same_again_and_asked_for_nothing() {
    let model = model([]).await;
    let recorded = recorded(door(&model), &["--yes"], 0).await;
    let replayed = recorded.replayed(0).await;
    assert_eq!((&replayed["same"], &replayed["turns"]), (&json!(true), &json!(4)));
    assert_eq!(model.requests().len(), 4);
    model.finish();
}

#[tokio::test]
async fn what_was_approved_is_taken_from_the_record() {
    let model = model([request()]).await;
    let recorded = recorded(door(&model), &["--yes"], 0).await;
    let replayed = recorded.replayed(0).await;
    assert_eq!((&replayed["same"], &replayed["turns"]), (&json!(true), &json!(5)));
    assert_eq!(replayed["results"], 5);
    // A different answer would not be the one that was approved, so the recorded answer is used.
    recorded.change("journal.jsonl", |text| text.replace("42 answers", "43 answers"));
    recorded.replayed(0).await;
    // The request itself is replayed.
    recorded.change("journal.jsonl", |text| text.replacen("6 * 7", "6 * 8", 1));
    let replayed = recorded.replayed(1).await;
    assert!(
        replayed["differences"].to_string().contains("what the model asks for"),
        "{replayed}"
    );
    model.finish();
}

#[tokio::test]
async fn where_nobody_could_be_asked_nobody_is() {
    let model = ScriptedModel::start([]).await;
    model
        .then(calls(
            "write_file",
            json!({ "path": ".github/workflows/ci.yml", "text": "x" }),
        ))
        .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
        .submits("The numbers were subtracted.");
    let recorded = recorded(door(&model), &["--json"], 3).await;
    assert_eq!(recorded.replayed(0).await["same"], true);
    model.finish();
}

#[tokio::test]
async fn a_changed_reply_comes_to_something_else() {
    let model = model([]).await;
    let recorded = recorded(door(&model), &["--yes"], 0).await;
    recorded.change("journal.jsonl", |text| {
        let lines = text.lines().map(|line| match line.contains("\"reply\"") {
            true => line.replace("sum(numbers)", "numbers[1]"),
            false => line.to_string(),
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    let ended = run(&recorded.door, &["replay"], &recorded.file).await.with(1);
    let ended = ended.saying("steps differed");
    for part in [
        "attempt 1, item",
        "recorded:",
        "now:",
        "attempt 1, what came of it",
        "not the same",
    ] {
        assert!(ended.out.contains(part), "{part}\n{}", ended.out);
    }
    model.finish();
}

#[tokio::test]
async fn a_changed_result_is_named() {
    let model = model([]).await;
    let recorded = recorded(door(&model), &["--yes"], 0).await;
    recorded.change("journal.jsonl", |text| {
        let lines = text.lines().map(|line| match line.starts_with(r#"{"said":{"result""#) {
            true => line.replace("def total", "def sum_up"),
            false => line.to_string(),
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    let replayed = recorded.replayed(1).await;
    assert_eq!(replayed["same"], false);
    let first = &replayed["differences"][0];
    assert!(first["at"].as_str().unwrap().starts_with("attempt 1, item "), "{first}");
    assert!(first["recorded"].as_str().unwrap().contains("def sum_up"), "{first}");
    assert!(first["now"].as_str().unwrap().contains("def total"), "{first}");
    model.finish();
}

#[tokio::test]
async fn a_changed_tree_and_what_is_no_bundle_are_refused() {
    let recorded = recorded(Door::new(), &["--yes"], 0).await;
    recorded.change("tree/sums.py", |_| GREEN.into());
    let refused = run(&recorded.door, &["replay"], &recorded.file).await.with(2);
    refused.saying("the bundle was changed");
    std::fs::write(&recorded.file, "no").unwrap();
    let refused = run(&recorded.door, &["replay", "--json"], &recorded.file).await.with(2);
    refused.saying("it is not a greenlight bundle");
}

#[tokio::test]
async fn tests_and_their_code_are_the_same_again() {
    let test = "import unittest\nimport sums\n\nclass MeanTest(unittest.TestCase):\n    def test_mean(self):\n        \
                self.assertEqual(sums.mean([1, 3]), 2)\n";
    let code = format!("{GREEN}\n\ndef mean(numbers):\n    return sum(numbers) / len(numbers)\n");
    let checkout = sums(GREEN, &[("spec.md", "The mean of numbers.\n")]);
    let model = ScriptedModel::start([]).await;
    model
        .then(calls("write_file", json!({ "path": "test_mean.py", "text": test })))
        .submits("The mean.")
        .then(request())
        .then(calls("write_file", json!({ "path": "sums.py", "text": code })))
        .submits("The mean.");
    let (door, folder) = (door(&model), tempfile::tempdir().unwrap());
    let (file, specification) = (folder.path().join("run.zip"), checkout.path().join("spec.md"));
    let paths = [specification.to_str().unwrap(), file.to_str().unwrap()];
    let arguments = ["tdd", "--yes", "--spec", paths[0], "--record", paths[1]];
    run(&door, &arguments, checkout.path()).await.with(0);
    let replayed = document(&run(&door, &["replay", "--json"], &file).await.with(0));
    assert_eq!((&replayed["same"], &replayed["attempts"]), (&json!(true), &json!(2)));
    assert_eq!(replayed["turns"], 5);
    model.finish();
}

//! What compilers, linters and interpreters suggest, and what their messages hint at: real tools where every machine has
//! them, and a TypeScript that lies.

use std::collections::BTreeSet;

use greenlight::domain::test_run::Outcome;
use greenlight::repair::{End, Origin, PassingPatch};

use super::patient::{BUDGET, Patient};

const MANIFEST: &str =
    "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n";

/// The only file that a patch edits, and its text.
#[track_caller]
fn after(found: &PassingPatch) -> (String, String) {
    let mut files = found.patch.files();
    let (path, change) = files.next().unwrap();
    assert!(files.next().is_none(), "{:?}", found.patch);
    let text = change.after.as_ref().and_then(|blob| blob.text()).unwrap();
    (path.to_string(), text.to_string())
}

/// Checks that a file of a tree becomes this text.
async fn becomes(files: &[(&str, &str)], command: &str, (path, text): (&str, &str)) -> PassingPatch {
    let patient = Patient::commanded(files, command).await;
    let found = patient.found().await;
    assert_eq!(after(&found), (path.to_string(), text.to_string()));
    found
}

#[tokio::test]
async fn what_rustc_suggests_without_being_sure_is_proved_by_the_tests() {
    let code = "pub struct Lines(pub Vec<u32>);\n\nimpl Lines {\n    pub fn count(&self) -> usize {\n        \
                self.0.size()\n    }\n}\n\n#[test]\nfn counts() {\n    assert_eq!(Lines(vec![3, 4]).count(), 2);\n}\n";
    let files = [("Cargo.toml", MANIFEST), ("src/lib.rs", code)];
    let right = code.replace("size()", "len()");
    let found = becomes(&files, "cargo test", ("src/lib.rs", &right)).await;
    assert_eq!(found.origin, Origin::Tool);
    // Two errors, and the second only shows once the first is settled.
    let code = "pub fn names(of: &[&str]) -> BTreeSet<String> {\n    let all: BTreeSet<String> = of.iter().map(|one| one.to_string()).collect();\n    \
                al\n}\n\n#[test]\nfn names_are_kept() {\n    assert_eq!(names(&[\"a\"]).len(), 1);\n}\n";
    let files = [("Cargo.toml", MANIFEST), ("src/lib.rs", code)];
    let right = format!(
        "use std::collections::BTreeSet;\n\n{}",
        code.replace("    al\n", "    all\n")
    );
    becomes(&files, "cargo test", ("src/lib.rs", &right)).await;
}

#[tokio::test]
async fn names_imports_and_tokens_of_python_are_put_right() {
    let test = "from words import main\n\n\ndef test_main():\n    assert main(['b', 'a', 'b']) == {'a': 1, 'b': 2}\n";
    for (wrong, right) in [
        (
            "\"\"\"Words.\"\"\"\n\n\ndef main(words):\n    counted = Counter(words)\n    return dict(counted)\n",
            "\"\"\"Words.\"\"\"\nfrom collections import Counter\n\n\n\ndef main(words):\n    counted = Counter(words)\n    return dict(counted)\n",
        ),
        (
            "def main(words):\n    counted = {}\n    for word in words:\n        counted[word] = counted.get(word, 0) + 1\n    return cuonted\n",
            "def main(words):\n    counted = {}\n    for word in words:\n        counted[word] = counted.get(word, 0) + 1\n    return counted\n",
        ),
        (
            "def main(words):\n    counted = {}\n    for word in words\n        counted[word] = counted.get(word, 0) + 1\n    return counted\n",
            "def main(words):\n    counted = {}\n    for word in words:\n        counted[word] = counted.get(word, 0) + 1\n    return counted\n",
        ),
        (
            "from colections import Counter\n\n\ndef main(words):\n    return dict(Counter(words))\n",
            "from collections import Counter\n\n\ndef main(words):\n    return dict(Counter(words))\n",
        ),
    ] {
        let files = [("words.py", wrong), ("test_words.py", test)];
        becomes(&files, "python3 -m pytest -q", ("words.py", right)).await;
    }
}

#[tokio::test]
async fn a_package_that_go_misses_is_imported() {
    let code = "package words\n\nimport \"strings\"\n\nfunc Sorted(text string) []string {\n\twords := strings.Fields(text)\n\t\
                sort.Strings(words)\n\treturn words\n}\n";
    let test = "package words\n\nimport \"testing\"\n\nfunc TestSorted(t *testing.T) {\n\tif got := Sorted(\"b a\"); got[0] != \"a\" {\n\t\t\
                t.Fatal(got)\n\t}\n}\n";
    let files = [
        ("go.mod", "module example.com/words\n\ngo 1.21\n"),
        ("words.go", code),
        ("words_test.go", test),
    ];
    let right = code.replace("import \"strings\"", "import (\n\t\"sort\"\n\t\"strings\"\n)");
    becomes(&files, "go test ./...", ("words.go", &right)).await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "it asks whether a compiler is installed")]
async fn symbols_that_javac_does_not_find_are_spelled_or_imported() {
    if std::process::Command::new("javac").arg("-version").output().is_err() {
        eprintln!("javac is unavailable, so its messages are not tested");
        return;
    }
    let code = "import java.util.Map;\n\npublic class Words {\n    static int count(String text) {\n        \
                Map<String, Integer> counts = new HashMap<>();\n        counts.put(text, 1);\n        return conts.size();\n    }\n\n    \
                public static void main(String[] args) {\n        if (count(\"a\") != 1) throw new AssertionError();\n        \
                System.out.println(\"ok 1 - counts\");\n        System.out.println(\"1..1\");\n    }\n}\n";
    let files = [
        ("src/Words.java", code),
        (
            "run.sh",
            "set -e\nmkdir -p out\njavac -d out src/Words.java\njava -cp out Words\n",
        ),
    ];
    let right = code
        .replace(
            "import java.util.Map;\n",
            "import java.util.Map;\nimport java.util.HashMap;\n",
        )
        .replace("conts", "counts");
    becomes(&files, "sh run.sh", ("src/Words.java", &right)).await;
}

#[tokio::test]
async fn scripts_that_cannot_be_loaded_are_put_right() {
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { main } = require('../src/words.js');\n\n\
                test('main', () => assert.strictEqual(main('a', 'b'), 'a/b'));\n";
    for (wrong, right) in [
        (
            "function main(...parts) {\n  return parts.join('/');\n}\n\nmodule.exports = { mian };\n",
            "function main(...parts) {\n  return parts.join('/');\n}\n\nmodule.exports = { main };\n",
        ),
        (
            "const os = require('node:os');\n\nfunction main(...parts) {\n  return path.posix.join(...parts);\n}\n\nmodule.exports = { main, os };\n",
            "const os = require('node:os');\nconst path = require('node:path');\n\nfunction main(...parts) {\n  return path.posix.join(...parts);\n}\n\nmodule.exports = { main, os };\n",
        ),
    ] {
        let files = [
            ("package.json", "{}"),
            ("src/words.js", wrong),
            ("test/words.test.js", test),
        ];
        if wrong.contains("mian") {
            // `module.exports = { mian }` names what is exported.
            let patient = Patient::commanded(&files, "node --test test/").await;
            let found = patient.found().await;
            assert!(
                after(&found).1.contains("main }") || after(&found).1.contains("main: "),
                "{:?}",
                found.explanation
            );
            continue;
        }
        becomes(&files, "node --test test/", ("src/words.js", right)).await;
    }
}

/// A check that complains like tsc, and a TypeScript that answers with these fixes.
async fn typed(fixes: &str) -> Patient {
    let check = "#!/bin/sh\nif grep -q totl src/a.ts; then echo \"src/a.ts(3,22): error TS2304: Cannot find name 'totl'.\"; exit 2; fi\n";
    let typescript = format!(
        "const fs = require('fs');\nconst text = () => fs.readFileSync('src/a.ts', 'utf8');\nmodule.exports = {{\n  sys: {{ fileExists: () => true, readFile: (file) => fs.readFileSync(file, 'utf8') }},\n  \
         getParsedCommandLineOfConfigFile: () => ({{ fileNames: ['/workspace/src/a.ts'] }}),\n  DiagnosticCategory: {{ Error: 1 }},\n  \
         getDefaultFormatCodeSettings: () => ({{}}),\n  flattenDiagnosticMessageText: (message) => message,\n  createLanguageService: () => ({{\n    \
         getSyntacticDiagnostics: () => [],\n    getSemanticDiagnostics: () => (text().includes('totl') ? [{{ category: 1, code: 2304, start: text().indexOf('totl'), length: 4, messageText: \"Cannot find name 'totl'.\" }}] : []),\n    \
         getCodeFixesAtPosition: () => {{ const at = text().indexOf('totl'); return {fixes}; }},\n  }}),\n}};\n"
    );
    Patient::commanded(
        &[
            ("bin/tsc", check),
            ("tsconfig.json", "{}"),
            ("package.json", "{}"),
            (
                "src/a.ts",
                "const unused = '';\nconst total = 1;\nexport const shown = totl;\n",
            ),
            ("src/b.ts", "export const other = 1;\n"),
            ("src/a.test.ts", "export const test = 1;\n"),
            ("node_modules/typescript/index.js", &typescript),
        ],
        "./bin/tsc --noEmit",
    )
    .await
}

fn fix(file: &str, start: &str, length: u32, text: &str) -> String {
    format!(
        "{{ fixName: 'spelling', description: 'x', changes: [{{ fileName: '{file}', textChanges: [{{ span: {{ start: {start}, length: {length} }}, newText: {text} }}] }}] }}"
    )
}

#[tokio::test]
async fn quick_fixes_of_the_projects_typescript_are_tried() {
    let patient = typed(&format!("[{}]", fix("/workspace/src/a.ts", "at", 4, "'total'"))).await;
    assert_eq!(patient.before.outcome, Outcome::Flagged, "{:#?}", patient.before);
    let found = patient.found().await;
    assert_eq!(found.origin, Origin::Tool);
    assert!(after(&found).1.contains("shown = total;"));
}

#[tokio::test]
async fn a_lying_typescript_edits_nothing_but_open_files_of_the_tree() {
    let hostile = [
        fix("/workspace/src/a.test.ts", "0", 1, "'evil'"),
        fix("/workspace/../../etc/passwd", "0", 1, "'evil'"),
        fix("/workspace/src/new.ts", "0", 0, "'evil'"),
        fix("/workspace/src/b.ts", "999999", 5, "'evil'"),
        fix("/workspace/src/b.ts", "-5", 5, "'evil'"),
        fix("/workspace/src/a.ts", "0", 3, "'e'.repeat(5000000)"),
    ];
    let mut patient = typed(&format!("[{}]", hostile.join(", "))).await;
    patient.protected.push("src/b.ts");
    // What remains is the hint of the message itself.
    let found = patient.found().await;
    let paths: BTreeSet<String> = found.patch.paths().map(ToString::to_string).collect();
    assert_eq!(paths, BTreeSet::from(["src/a.ts".to_string()]));
    assert!(after(&found).1.contains("shown = total;"), "{}", found.explanation);
    patient.protected.push("src/a.ts");
    let end = patient.search(BUDGET).await;
    assert!(
        matches!(&end, End::NotFound(tried) if tried.findings.is_empty()),
        "{end:?}"
    );
}

#[tokio::test]
async fn messages_of_the_code_under_test_edit_no_test() {
    let test = "import pytest\nfrom words import main\n\nEXPECTED = 2\n\n\ndef test_main():\n    if main() != EXPECTD:\n        raise AssertionError\n";
    let patient = Patient::commanded(
        &[("words.py", "def main():\n    return 2\n"), ("test_words.py", test)],
        "python3 -m pytest -q",
    )
    .await;
    let end = patient.search(BUDGET).await;
    assert!(matches!(end, End::NotFound(_)), "{end:?}");
}

#[tokio::test]
async fn what_a_pull_request_adds_is_not_taken_back() {
    let base = "def one():\n    return 1\n";
    let now = "def one():\n    return 1\n\n\ndef two():\n    return un_known_thing(2)\n";
    let mut patient = Patient::commanded(
        &[
            ("words.py", now),
            (
                "check.sh",
                "if grep -q un_known_thing words.py; then echo words.py:6: error: wrong; exit 1; fi\n",
            ),
        ],
        "sh check.sh",
    )
    .await;
    patient.originals.insert("words.py".parse().unwrap(), base.into());
    match patient.search(BUDGET).await {
        End::NotFound(tried) => assert!(
            tried.findings.iter().any(|finding| finding
                .risks
                .iter()
                .any(|risk| risk.contains("what the pull request is for"))),
            "{tried:?}"
        ),
        end => panic!("{end:?}"),
    }
}

#[tokio::test]
async fn two_faulty_hunks_are_put_back_together() {
    let base = "def one():\n    return 1\n\n\ndef filler():\n    return 0\n\n\ndef two():\n    return 2\n\n\ndef last():\n    return 9\n";
    let now = base
        .replace("return 1", "return 'abc'")
        .replace("return 2", "return 'xyz'")
        .replace("return 9", "return 10");
    let test = "from words import one, two, last\n\n\ndef test_both():\n    assert (one(), two()) == (1, 2)\n\n\ndef test_last():\n    assert last() == 10\n";
    let mut patient = Patient::commanded(&[("words.py", &now), ("test_words.py", test)], "python3 -m pytest -q").await;
    patient.originals.insert("words.py".parse().unwrap(), base.into());
    let found = patient.found().await;
    assert_eq!(found.origin, Origin::Revert);
    assert_eq!(after(&found).1, base.replace("return 9", "return 10"));
}

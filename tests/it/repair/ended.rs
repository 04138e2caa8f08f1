//! Tests that never end, or that end their whole process: they are found, and repaired like others.

use std::time::Duration;

use greenlight::domain::test_run::Outcome;

use super::patient::Patient;

/// Enough time for a failing run to reach the test that never ends: a compiler takes longer than an interpreter.
const COMPILED: Duration = Duration::from_secs(10);
const INTERPRETED: Duration = Duration::from_secs(4);

async fn is_mended(files: &[(&str, &str)], ended: Outcome, to: &str) {
    let is_compiled = [GO_MODULE, MANIFEST].contains(&files[0]);
    let after = if is_compiled { COMPILED } else { INTERPRETED };
    let patient = match ended {
        Outcome::TimedOut => Patient::endless(files, after).await,
        _ => Patient::written(files).await,
    };
    assert_eq!(patient.before.outcome, ended, "{:#?}", patient.before);
    let found = patient.found().await;
    assert!(found.explanation.contains(to), "{}", found.explanation);
    assert!(found.after.is_green());
}

const GO_MODULE: (&str, &str) = ("go.mod", "module example.com/bits\n\ngo 1.20\n");

#[tokio::test]
async fn go_that_panics() {
    let library = "package bits\n\n// Last is the last of them.\nfunc Last(xs []int) int {\n\tif len(xs) == 0 {\n\t\treturn 0\n\t}\n\treturn xs[len(xs)]\n}\n";
    let tests = "package bits\n\nimport \"testing\"\n\nfunc TestLast(t *testing.T) {\n\tif Last([]int{1, 2}) != 2 {\n\t\tt.Fatal(\"not the last\")\n\t}\n}\n\nfunc TestNone(t *testing.T) {\n\tif Last(nil) != 0 {\n\t\tt.Fatal(\"not nothing\")\n\t}\n}\n";
    let files = [GO_MODULE, ("bits.go", library), ("bits_test.go", tests)];
    is_mended(&files, Outcome::Panicked, "`xs[len(xs) - 1]`").await;
}

/// It sleeps now and then, so that the tests beside this one have a processor.
#[tokio::test]
async fn go_that_never_ends() {
    let library = "package bits\n\nimport \"time\"\n\n// Count counts.\nfunc Count(to int) int {\n\tn := 0\n\tfor n < to {\n\t\tn -= 1\n\t\tif n < -9 {\n\t\t\ttime.Sleep(time.Millisecond)\n\t\t\tn = 0\n\t\t}\n\t}\n\treturn n\n}\n";
    let tests = "package bits\n\nimport \"testing\"\n\nfunc TestNone(t *testing.T) {\n\tif Count(0) != 0 {\n\t\tt.Fatal(\"not none\")\n\t}\n}\n\nfunc TestSome(t *testing.T) {\n\tif Count(7) != 7 {\n\t\tt.Fatal(\"not seven\")\n\t}\n}\n";
    let files = [GO_MODULE, ("bits.go", library), ("bits_test.go", tests)];
    is_mended(&files, Outcome::TimedOut, "`Count`").await;
}

const MANIFEST: (&str, &str) = (
    "Cargo.toml",
    "[package]\nname = \"bits\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
);

/// The harness does not name a test that did not end, but counts the others. It sleeps like the one in Go.
#[tokio::test]
async fn rust_that_never_ends() {
    let library = "pub fn count(to: i32) -> i32 {\n    let mut n = 0;\n    while n < to {\n        n -= 1;\n        if n < -9 {\n            std::thread::sleep(std::time::Duration::from_millis(1));\n            n = 0;\n        }\n    }\n    n\n}\n\n\
        #[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn none() {\n        assert_eq!(count(0), 0);\n    }\n\n    #[test]\n    fn some() {\n        assert_eq!(count(7), 7);\n    }\n\n    \
        #[test]\n    #[should_panic = \"no\"]\n    fn refused() {\n        panic!(\"no\");\n    }\n}\n";
    is_mended(&[MANIFEST, ("src/lib.rs", library)], Outcome::TimedOut, "`count`").await;
}

#[tokio::test]
async fn rust_that_overflows_its_stack() {
    let library = "pub fn sum(to: u64) -> u64 {\n    if to == 0 {\n        return 0;\n    }\n    to + sum(to)\n}\n\n\
        #[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn none() {\n        assert_eq!(sum(0), 0);\n    }\n\n    #[test]\n    fn some() {\n        assert_eq!(sum(4), 10);\n        assert_eq!(sum(1), 1);\n    }\n}\n";
    is_mended(&[MANIFEST, ("src/lib.rs", library)], Outcome::Crashed, "`sum`").await;
}

const PYTHON: &str =
    "def count(to):\n    n = 0\n    while n < to:\n        n -= 1\n    return n\n\n\ndef half(n):\n    return n // 2\n";
const PYTHON_TESTS: &str = "from bits import count, half\n\n\ndef test_half():\n    assert half(5) == 2\n\n\ndef test_none():\n    assert count(0) == 0\n\n\ndef test_some():\n    assert count(7) == 7\n";

#[tokio::test]
async fn python_that_never_ends() {
    let files = [("bits.py", PYTHON), ("test_bits.py", PYTHON_TESTS)];
    is_mended(&files, Outcome::TimedOut, "`count`").await;
}

#[tokio::test]
async fn python_that_ends_its_process() {
    let library = "import os\n\n\ndef total(prices):\n    sum = 0\n    for price in prices:\n        sum -= price\n    if sum < 0:\n        os._exit(3)\n    return sum\n";
    let tests = "from bits import total\n\n\ndef test_none():\n    assert total([]) == 0\n\n\ndef test_some():\n    assert total([3, 4]) == 7\n\n\ndef test_one():\n    assert total([5]) == 5\n";
    let files = [("bits.py", library), ("test_bits.py", tests)];
    is_mended(&files, Outcome::Crashed, "`total`").await;
}

#[tokio::test]
async fn javascript_that_never_ends() {
    let package = r#"{"name": "bits", "version": "1.0.0", "scripts": {"test": "node --test"}}"#;
    let library = "function count(to) {\n  let n = 0;\n  while (n < to) {\n    n -= 1;\n  }\n  return n;\n}\n\nmodule.exports = { count };\n";
    let tests = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { count } = require('./bits');\n\n\
        test('none', () => assert.equal(count(0), 0));\ntest('some', () => assert.equal(count(7), 7));\n";
    let files = [("package.json", package), ("bits.js", library), ("bits.test.js", tests)];
    is_mended(&files, Outcome::TimedOut, "`count`").await;
}

//! Logs as CI serves them, made of recorded outputs and of noise.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::*;

/// A log as GitHub serves it: a time stamp before every line.
fn stamped(text: &str) -> String {
    text.lines()
        .map(|line| format!("2026-11-20T07:39:00.1688150Z {line}\n"))
        .collect()
}

/// A recorded output as if it had been made where hosted runners check out.
fn recorded(name: &str) -> String {
    let path = format!("{}/tests/fixtures/outputs/{name}", env!("CARGO_MANIFEST_DIR"));
    let recorded = std::fs::read_to_string(path).unwrap();
    let place = Regex::new("/tmp/fx/[a-z]+/").unwrap();
    place
        .replace_all(&recorded, "/home/runner/work/shop/shop/")
        .into_owned()
}

#[test]
fn what_the_machine_added_is_taken_away() {
    let log = stamped(
        "##[group]Run cargo test\n\x1b[36;1mcargo test\x1b[0m\nshell: /usr/bin/bash -e {0}\n##[endgroup]\n\
         ::error file=src/lib.rs,line=3::it broke\n##[error]Process completed with exit code 101.",
    );
    assert_snapshot!(plain(format!("\u{feff}{log}").as_bytes()), @r"
    Run cargo test
    cargo test
    shell: /usr/bin/bash -e {0}
    Error: it broke
    Error: Process completed with exit code 101.
    ");
}

#[test]
fn failures_are_read_from_the_logs_of_every_framework() {
    let noise = "Downloading something (1/2)\n".repeat(2_000);
    let mut shown = String::new();
    for file in [
        "cargo/fail.txt",
        "cargo/compile_error.txt",
        "pytest/fail.txt",
        "pytest/collection_error.txt",
        "unittest/fail.txt",
        "node/fail.txt",
        "node/fail_spec.txt",
        "jest/fail.txt",
        "vitest/fail.txt",
        "mocha/fail.txt",
        "go/fail.txt",
        "go/fail_text.txt",
    ] {
        let log = stamped(&format!(
            "{noise}{}\n##[error]Process completed with exit code 1.\n",
            recorded(file)
        ));
        let distillate = distil(log.as_bytes());
        assert!(
            distillate.excerpt.len() <= MAX_EXCERPT,
            "{file}: {}",
            distillate.excerpt.len()
        );
        let first = &distillate.failures[0];
        let place = first.location.as_ref().map_or(0, |place| place.line);
        writeln!(
            shown,
            "{file}: {:?}, {} failures, {} bytes, first {}:{place}",
            distillate.framework.unwrap(),
            distillate.failures.len(),
            distillate.excerpt.len(),
            first.name,
        )
        .unwrap();
        let telling = first.message.lines().find(|line| weight(line) == 2);
        if let Some(line) = telling.filter(|line| !file.starts_with("go/fail.txt") && !line.contains(": |-")) {
            assert!(
                distillate.excerpt.contains(line.trim()),
                "{file}: {line}\n{}",
                distillate.excerpt
            );
        }
    }
    assert_snapshot!(shown, @"
    cargo/fail.txt: Cargo, 4 failures, 2453 bytes, first sample:src/lib.rs tests::adds:35
    cargo/compile_error.txt: Cargo, 2 failures, 2036 bytes, first error[E0425]: cannot find value `c` in this scope:9
    pytest/fail.txt: Pytest, 4 failures, 2425 bytes, first tests/test_shop.py::test_discount[100-10-90]:11
    pytest/collection_error.txt: Pytest, 2 failures, 2613 bytes, first tests/test_bad.py:1
    unittest/fail.txt: Unittest, 3 failures, 1405 bytes, first tests.test_calc.TestAdd.test_error:24
    node/fail.txt: Node, 3 failures, 4286 bytes, first adds:5
    node/fail_spec.txt: Node, 3 failures, 5813 bytes, first adds:5
    jest/fail.txt: Jest, 2 failures, 1390 bytes, first adds:2
    vitest/fail.txt: Vitest, 2 failures, 1544 bytes, first vitest/shop.test.js > adds:2
    mocha/fail.txt: Mocha, 2 failures, 548 bytes, first adds:2
    go/fail.txt: Go, 3 failures, 1246 bytes, first example.com/shop TestAdd:7
    go/fail_text.txt: Go, 3 failures, 395 bytes, first TestAdd:7
    ");
}

#[test]
fn places_are_paths_of_the_repository() {
    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        let place = Location {
            path: path.into(),
            line: 1,
        };
        assert_eq!(in_repository(place).map(|place| place.path).as_deref(), expected);
    }
    check("/home/runner/work/shop/shop/tests/a.py", Some("tests/a.py"));
    check("/__w/shop/shop/a.py", Some("a.py"));
    check("/github/workspace/a.py", Some("a.py"));
    check("./sub/a.go", Some("sub/a.go"));
    check("src/lib.rs", Some("src/lib.rs"));
    check("/usr/lib/python3/a.py", None);
    check("/home/runner/work/shop/shop/../../../../etc/passwd", None);
}

#[test]
fn the_first_cause_stays_and_the_rest_goes() {
    let log = stamped(&format!(
        "{}thread 'tests::a' (1) panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n{}done",
        "Compiling something v1.0\n".repeat(3_000),
        "a line that says nothing\n".repeat(3_000)
    ));
    let excerpt = distil(log.as_bytes()).excerpt;
    assert!(
        excerpt.contains("panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1"),
        "{excerpt}"
    );
    assert!(excerpt.ends_with("done") && excerpt.len() < 2_000, "{excerpt}");
}

#[test]
fn a_hostile_log_is_bounded() {
    for log in [
        "E   AssertionError\n".repeat(20_000).into_bytes(),
        "x\n".repeat(100_000).into_bytes(),
        vec![0xff; 1 << 20],
        b"\x1b]0;".repeat(100_000),
        format!("FAILED {}.py::{}\n", "a".repeat(100_000), "b".repeat(100_000))
            .repeat(20)
            .into_bytes(),
        Vec::new(),
    ] {
        let distillate = distil(&log);
        assert!(distillate.excerpt.len() <= MAX_EXCERPT);
        assert!(
            distillate
                .failures
                .iter()
                .all(|failure| failure.message.len() + failure.name.len() < 6_000)
        );
        assert!(!distillate.excerpt.contains('\x1b'));
    }
}

#[test]
fn of_a_huge_log_both_ends_are_read() {
    let log = format!("first\n{}last\n", "middle\n".repeat(3 << 20));
    let parts = ends(log.as_bytes());
    assert!(parts.iter().map(|part| part.len()).sum::<usize>() <= 2 * MAX_READ + 100);
    assert!(parts[0].starts_with(b"first\n") && parts[0].ends_with(b"middle\n"));
    assert!(parts[2].starts_with(b"middle\n") && parts[2].ends_with(b"last\n"));
}

#[test]
fn a_log_without_failures_keeps_its_end() {
    let distillate = distil(stamped("one\ntwo\nthree").as_bytes());
    assert_eq!(distillate.excerpt, "one\ntwo\nthree");
    assert_eq!((distillate.framework, distillate.failures.len()), (None, 0));
}

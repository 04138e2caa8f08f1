//! Logs as CI serves them, made from recorded outputs and noise.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::*;

/// A log as GitHub serves it: a timestamp before every line.
fn stamped(text: &str) -> String {
    text.lines()
        .map(|line| format!("2026-11-20T07:39:00.1688150Z {line}\n"))
        .collect()
}

/// A recorded output as if it had been produced in the checkout directory of a hosted runner.
fn recorded(name: &str) -> String {
    let path = format!("{}/tests/fixtures/outputs/{name}", env!("CARGO_MANIFEST_DIR"));
    let recorded = std::fs::read_to_string(path).unwrap();
    let place = Regex::new("/tmp/fx/[a-z]+/").unwrap();
    place
        .replace_all(&recorded, "/home/runner/work/shop/shop/")
        .into_owned()
}

fn distilled(log: &str) -> Distillate {
    distil(log.as_bytes()).unwrap()
}

#[test]
fn what_the_machine_added_is_taken_away() {
    let log = stamped(
        "##[group]Run cargo test\n\x1b[36;1mcargo test\x1b[0m\nshell: /usr/bin/bash -e {0}\n##[endgroup]\n\
         ::error file=src/lib.rs,line=3::it broke\n##[error]Process completed with exit code 101.",
    );
    let distillate = distilled(&format!("\u{feff}{log}"));
    assert_snapshot!(distillate.excerpt, @r"
    Run cargo test
    Error: it broke
    Error: Process completed with exit code 101.
    ");
    assert_eq!(distillate.failures.len(), 1);
    let failure = &distillate.failures[0];
    assert_eq!(
        (failure.name.as_str(), failure.location.as_ref().unwrap().line),
        ("it broke", 3)
    );
}

#[test]
fn a_cause_that_is_about_no_failure_is_told_apart() {
    for (before, begins_with_failure) in [("", true), ("ERROR: the cache is cold\n", false)] {
        for file in [
            "pytest/fail.txt",
            "unittest/fail.txt",
            "cargo/fail.txt",
            "node/fail.txt",
        ] {
            let distillate = distilled(&stamped(&format!("{before}{}", recorded(file))));
            assert_eq!(
                distillate.begins_with_failure, begins_with_failure,
                "{file}: {}",
                distillate.excerpt
            );
        }
    }
    assert!(!distilled(&stamped("make: *** [all] Error 2")).begins_with_failure);
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
        let distillate = distilled(&log);
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
        let telling = first.message.lines().find(|line| causes::weight(line) == 2);
        if let Some(line) = telling.filter(|line| !file.starts_with("go/fail.txt") && !line.contains(": |-")) {
            assert!(
                distillate.excerpt.contains(line.trim()),
                "{file}: {line}\n{}",
                distillate.excerpt
            );
        }
    }
    assert_snapshot!(shown, @"
    cargo/fail.txt: Cargo, 4 failures, 2401 bytes, first sample:src/lib.rs tests::adds:35
    cargo/compile_error.txt: Cargo, 2 failures, 1468 bytes, first error[E0425]: cannot find value `c` in this scope:9
    pytest/fail.txt: Pytest, 4 failures, 2425 bytes, first tests/test_shop.py::test_discount[100-10-90]:11
    pytest/collection_error.txt: Pytest, 2 failures, 2613 bytes, first tests/test_bad.py:1
    unittest/fail.txt: Unittest, 3 failures, 1405 bytes, first tests.test_calc.TestAdd.test_error:24
    node/fail.txt: Node, 3 failures, 4159 bytes, first adds:5
    node/fail_spec.txt: Node, 3 failures, 6365 bytes, first adds:5
    jest/fail.txt: Jest, 2 failures, 1390 bytes, first adds:2
    vitest/fail.txt: Vitest, 2 failures, 1544 bytes, first vitest/shop.test.js > adds:2
    mocha/fail.txt: Mocha, 2 failures, 697 bytes, first adds:2
    go/fail.txt: Go, 3 failures, 1317 bytes, first example.com/shop TestAdd:7
    go/fail_text.txt: Go, 3 failures, 395 bytes, first example.com/shop TestAdd:7
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
    let excerpt = distilled(&log).excerpt;
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
        let distillate = distil(log.as_slice()).unwrap();
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
fn a_log_without_failures_keeps_its_end() {
    let distillate = distilled(&stamped("one\ntwo\nthree"));
    assert_eq!(distillate.excerpt, "one\ntwo\nthree");
    assert_eq!((distillate.framework, distillate.failures.len()), (None, 0));
}

/// A step's header as runners write it, and the step's output.
fn step(title: &str, output: &str) -> String {
    format!(
        "##[group]Run {title}\n\x1b[36;1m{title} || echo 'error: none'\x1b[0m\nshell: /usr/bin/bash -e {{0}}\n##[endgroup]\n{output}\n"
    )
}

#[test]
fn the_cause_is_looked_for_in_the_step_that_failed() {
    let noise = "error: no such package, using the next one\nAssertionError is a word\n".repeat(100);
    let log = stamped(&format!(
        "{}{}{}Post job cleanup.\nerror: could not save the cache\nfatal: gone",
        step("pip install .", &format!("##[error]no cache\n{noise}")),
        step(
            "pytest -q",
            &format!(
                "{}\n##[error]Process completed with exit code 1.",
                recorded("pytest/fail.txt")
            )
        ),
        step("./upload", "error: nothing to upload\n"),
    ));
    let distillate = distilled(&log);
    assert!(
        distillate.excerpt.starts_with("Run pytest -q\n"),
        "{}",
        distillate.excerpt
    );
    for absent in ["no such package", "nothing to upload", "the cache", "echo"] {
        assert!(!distillate.excerpt.contains(absent), "{absent}: {}", distillate.excerpt);
    }
    assert_eq!(distillate.framework, Some(Framework::Pytest));
}

#[test]
fn of_two_failed_steps_the_one_that_is_asked_for_is_told() {
    let fails = |what: &str| format!("AssertionError: {what}\n##[error]Process completed with exit code 1.");
    let log = format!("{}{}", step("may fail", &fails("one")), step("must not", &fails("two")));
    assert!(distilled(&log).excerpt.contains(": one"));
    let mut distiller = Distiller::default().of_script("must not\nmore");
    assert!(distiller.take(log.as_bytes()).is_continue());
    let excerpt = distiller.finish().excerpt;
    assert!(excerpt.contains(": two") && !excerpt.contains(": one"), "{excerpt}");
}

#[test]
fn what_a_green_log_has_too_is_left_out() {
    let usual = "warning: error while parsed config 17, ignored\nexception handler installed in 3.2s\n";
    let mut green = GreenLog::default();
    assert!(
        green
            .take(stamped(&format!("{usual}ok 5 passed\n")).as_bytes())
            .is_continue()
    );
    let mut distiller = Distiller::default().beside(green);
    let red = stamped(&format!("{}error happened in job 9\n{usual}", usual.replace("17", "4")));
    assert!(distiller.take(red.as_bytes()).is_continue());
    assert_eq!(distiller.finish().excerpt, "error happened in job 9");
}

#[test]
fn a_distillate_is_at_most_a_tenth_and_has_the_failing_assertion() {
    let mut noise = String::new();
    for number in 0..600 {
        let _written = writeln!(
            noise,
            "tests/test_{number}.py::test_it PASSED [ {}%] in {number}ms",
            number / 6
        );
    }
    let mut shown = String::new();
    for (file, assertion) in [
        ("cargo/fail.txt", "assertion `left == right` failed"),
        ("pytest/fail.txt", "assert 110.0 == 90"),
        ("unittest/fail.txt", "AssertionError"),
        ("jest/fail.txt", "Expected"),
        ("vitest/fail.txt", "AssertionError"),
        ("mocha/fail.txt", "AssertionError"),
        ("go/fail_text.txt", "FAIL: TestAdd"),
        ("node/fail_spec.txt", "strictly equal"),
        ("maven/fail.txt", "expected"),
    ] {
        let output = recorded(file);
        assert!(output.contains(assertion), "{file}");
        let log = stamped(&format!(
            "{noise}{output}{noise}##[error]Process completed with exit code 1."
        ));
        let excerpt = distilled(&log).excerpt;
        let has = excerpt.contains(assertion);
        let (from, to) = (log.len(), excerpt.len());
        let _written = writeln!(
            shown,
            "{file}: {} lines, {from} bytes -> {to} bytes, {has}",
            log.lines().count()
        );
        assert!(to * 10 <= from && has, "{shown}{excerpt}");
    }
    assert_snapshot!(shown, @"
    cargo/fail.txt: 1311 lines, 100281 bytes -> 3316 bytes, true
    pytest/fail.txt: 1264 lines, 98757 bytes -> 3160 bytes, true
    unittest/fail.txt: 1241 lines, 97246 bytes -> 2320 bytes, true
    jest/fail.txt: 1247 lines, 96911 bytes -> 1780 bytes, true
    vitest/fail.txt: 1256 lines, 97413 bytes -> 2099 bytes, true
    mocha/fail.txt: 1242 lines, 96118 bytes -> 1432 bytes, true
    go/fail_text.txt: 1210 lines, 94815 bytes -> 1723 bytes, true
    node/fail_spec.txt: 1356 lines, 105076 bytes -> 6707 bytes, true
    maven/fail.txt: 1294 lines, 102303 bytes -> 3076 bytes, true
    ");
}

#[test]
fn what_is_beyond_the_bound_is_named() {
    let mut distiller = Distiller::default();
    distiller.state.taken = MAX_LOG - 4;
    assert!(distiller.take(b"one\ntwo\n").is_break());
    assert!(distiller.take(b"three\n").is_break());
    assert_eq!(
        distiller.finish().excerpt,
        "[only the first GiB of the log was read]\none"
    );
}

fn archive(entries: &[(&str, &[u8])]) -> std::io::Cursor<Vec<u8>> {
    use std::io::Write as _;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn the_log_of_a_job_is_found_in_an_archive() {
    let archive_of = |entries| archive(entries);
    let find = |archive, job| {
        distil_archive(archive, job, Distiller::default())
            .unwrap()
            .map(|found| found.excerpt)
    };
    let entries: &[(&str, &[u8])] = &[
        ("../../etc/passwd", b"root"),
        ("0_build.txt", b"error: of build"),
        ("1_test (3.11, a_b).txt", b"error: of test"),
        ("steps only/10_Tests.txt", b"error: of ten"),
        ("steps only/2_Install.txt", b"error: of two"),
    ];
    assert_eq!(
        find(archive_of(entries), "test (3.11, a/b)").as_deref(),
        Some("error: of test")
    );
    assert_eq!(
        find(archive_of(entries), "steps only").as_deref(),
        Some("error: of two\nerror: of ten")
    );
    assert_eq!(find(archive_of(entries), "../../etc/passwd"), None);
    assert_eq!(find(archive_of(entries), "absent"), None);
    assert!(distil_archive(std::io::Cursor::new(b"no archive"), "a", Distiller::default()).is_err());
}

#[test]
fn a_hostile_archive_is_bounded() {
    let bomb = vec![b'E'; 16 << 20];
    let small = archive(&[("0_a.txt", &bomb)]);
    assert!(small.get_ref().len() < 200_000);
    let found = distil_archive(small, "a", Distiller::default()).unwrap().unwrap();
    assert!(found.excerpt.len() <= MAX_EXCERPT);
    let names: Vec<String> = (0..30_000)
        .map(|number| format!("{number}_{}.txt", "b".repeat(60)))
        .collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert!(distil_archive(archive(&many), "a", Distiller::default()).is_err());
    let mut torn = archive(&[("0_a.txt", b"error: of a\n".repeat(1_000).as_slice())]).into_inner();
    torn[60] ^= 0x55;
    let _broken_or_short = distil_archive(std::io::Cursor::new(torn), "a", Distiller::default());
}

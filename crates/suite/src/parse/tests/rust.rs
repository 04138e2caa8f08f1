//! `cargo test` and the diagnostics of rustc.

use super::*;

#[test]
fn cargo() {
    assert_snapshot!(read_file(Framework::Cargo, "cargo/pass.txt", 0), @r"
    Passed: 10 passed, 0 failed, 1 skipped
    passed: adds, halves, sample:src/lib.rs tests::adds, sample:src/main.rs tests::adds, src/lib.rs - add, src/lib.rs - half, src/lib.rs - half #2, src/lib.rs - half #3, tests::divides_by_zero, tests::returns_a_result
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/fail.txt", 101), @r"
    Failed: 6 passed, 4 failed, 1 skipped
    passed: halves, src/lib.rs - half, src/lib.rs - half #2, src/lib.rs - half #3, tests::divides_by_zero, tests::returns_a_result
    sample:src/lib.rs tests::adds at src/lib.rs:35: assertion `left == right` failed
    sample:src/main.rs tests::adds at src/main.rs:7: assertion `left == right` failed
    adds at tests/story.rs:8: one and one
    src/lib.rs - add at src/lib.rs:5: assertion `left == right` failed
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/compile_error.txt", 101), @r"
    DidNotBuild: 0 passed, 2 failed, 0 skipped
    error[E0425]: cannot find value `c` in this scope at src/lib.rs:9: error[E0425]: cannot find value `c` in this scope
    error[E0277]: cannot add `&str` to `i32` at src/lib.rs:9: error[E0277]: cannot add `&str` to `i32`
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/compile_error_json.txt", 101), @r"
    DidNotBuild: 0 passed, 2 failed, 0 skipped
    error[E0425]: cannot find value `c` in this scope at src/lib.rs:9: error[E0425]: cannot find value `c` in this scope
    error[E0277]: cannot add `&str` to `i32` at src/lib.rs:9: error[E0277]: cannot add `&str` to `i32`
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/crash.txt", 101), @r"
    Crashed: 0 passed, 1 failed, 0 skipped
    tests::dies at -: process didn't exit successfully: `/tmp/fx/cargo/target/debug/deps/sample-e6daf73c296d6df0 --test-threads 1 dies` (signal: 6, SIGABRT: process abort signal)
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/overflow.txt", 101), @r"
    Crashed: 0 passed, 1 failed, 0 skipped
    tests::overflows at -: thread 'tests::overflows' (26395) has overflowed its stack
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/workspace.txt", 101), @"
    Failed: 3 passed, 3 failed, 0 skipped
    passed: a/src/lib.rs - f, a:src/lib.rs tests::works, it:tests/it.rs works
    b:src/lib.rs tests::works at b/src/lib.rs:5: assertion `left == right` failed
    it:tests/it.rs#2 works at b/tests/it.rs:1: assertion `left == right` failed
    b/src/lib.rs - f at b/src/lib.rs:1: assertion `left == right` failed
    ");
    assert_snapshot!(read_file(Framework::Cargo, "cargo/manifest_error.txt", 101), @"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    error: key with no value, expected `=` at Cargo.toml:4: error: key with no value, expected `=`
    ");
}

#[test]
fn cargo_kinds() {
    assert_snapshot!(whole(Framework::Cargo, "cargo/kinds.txt", 101), @r#"
    Failed: 4 passed, 9 failed, 1 skipped
    passed: src/lib.rs - double, src/lib.rs - double #4, tests::passes, tests::prints_like_a_harness
    tests::does_not_panic at src/lib.rs:49: note: test did not panic as expected at src/lib.rs:49:8
    tests::fails_with_words at src/lib.rs:33: assertion `left == right` failed: one is 1
    tests::panics_otherwise at src/lib.rs:44: two
    tests::returns_an_error at -: Error: "no"
    tests::panics_in_a_thread at src/lib.rs:57: inside
    tests::texts at src/lib.rs:38: assertion `left == right` failed
    --test own at -: checking what nobody counts
    src/lib.rs - double #2 at src/lib.rs:7: assertion `left == right` failed
    src/lib.rs - double #3 at src/lib.rs:11: Test compiled successfully, but it's marked `compile_fail`.
    skipped: tests::ignored
    tests::fails_with_words: "3", not "2"
    tests::texts: "\"red\\ngreen\"", not "\"red\\nblue\""
    src/lib.rs - double #2: "5", not "4"
    {"failed": 8, "ignored": 1, "passed": 4}
    "#);
    assert_snapshot!(whole(Framework::Cargo, "cargo/own_harness_fail.txt", 101), @"
    Failed: 0 passed, 1 failed, 0 skipped
    --test own at -: checking what nobody counts
    ");
    assert_snapshot!(whole(Framework::Cargo, "cargo/own_harness_pass.txt", 0), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: own:tests/own.rs
    ");
}

#[test]
fn clippy() {
    assert_snapshot!(whole(Framework::Rustc, "rustc/clippy_denied.txt", 101), @"
    Flagged: 0 passed, 4 failed, 0 skipped
    error: unused variable: `unused` at src/lib.rs:2: error: unused variable: `unused`
    error: unneeded `return` statement at src/lib.rs:3: error: unneeded `return` statement
    error: unneeded `return` statement at src/lib.rs:3: error: unneeded `return` statement
    error: this if-then-else expression returns a bool literal at src/lib.rs:3: error: this if-then-else expression returns a bool literal
    ");
    assert_snapshot!(whole(Framework::Rustc, "rustc/clippy_denied_json.txt", 101), @"
    Flagged: 0 passed, 4 failed, 0 skipped
    error: unused variable: `unused` at src/lib.rs:2: error: unused variable: `unused`
    error: unneeded `return` statement at src/lib.rs:3: error: unneeded `return` statement
    error: unneeded `return` statement at src/lib.rs:3: error: unneeded `return` statement
    error: this if-then-else expression returns a bool literal at src/lib.rs:3: error: this if-then-else expression returns a bool literal
    ");
    assert_snapshot!(whole(Framework::Rustc, "rustc/clippy_warns.txt", 0), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    ");
}

#[test]
fn nextest() {
    let shown = |name: &str, code| read_file(Framework::Nextest, &format!("nextest/{name}.txt"), code);
    assert_snapshot!(shown("pass", 0), @r"
    Passed: 6 passed, 0 failed, 1 skipped
    passed: sample tests::adds, sample tests::adds_with_a_message, sample tests::passes, sample tests::returns_a_result, sample::story is_positive, sample::story sums
    ");
    assert_snapshot!(shown("fail", 100), @r#"
    Failed: 2 passed, 4 failed, 1 skipped
    passed: sample tests::passes, sample::story is_positive
    sample tests::adds_with_a_message at src/lib.rs:16: two and two
    sample tests::adds at src/lib.rs:11: assertion `left == right` failed
    sample tests::returns_a_result at -: Error: "wrong sum"
    sample::story sums at tests/story.rs:4: assertion `left == right` failed
    "#);
    assert_snapshot!(shown("crash", 100), @r"
    Crashed: 5 passed, 2 failed, 1 skipped
    passed: sample tests::adds, sample tests::adds_with_a_message, sample tests::passes, sample tests::returns_a_result, sample::story is_fine
    sample::story aborts at -: about to abort
    sample::story takes_long at -: (test timed out)
    ");
    assert_snapshot!(shown("retries", 100), @r"
    Failed: 5 passed, 1 failed, 1 skipped
    passed: sample tests::adds, sample tests::adds_with_a_message, sample tests::passes, sample tests::returns_a_result, sample::story is_flaky
    sample::story never_passes at tests/story.rs:13: every time
    ");
    assert_snapshot!(shown("compile_error", 101), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    error[E0308]: mismatched types at tests/story.rs:3: error[E0308]: mismatched types
    ");
    assert_snapshot!(shown("nothing_ran", 4), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(shown("not_found", 4), @"NothingRan: 0 passed, 0 failed, 7 skipped");
    // An unknown command that calls it gives the same result.
    for (name, code) in [
        ("pass", 0),
        ("fail", 100),
        ("crash", 100),
        ("compile_error", 101),
        ("nothing_ran", 4),
    ] {
        assert_eq!(
            read_file(Framework::Other, &format!("nextest/{name}.txt"), code),
            shown(name, code)
        );
    }
}

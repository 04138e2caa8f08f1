//! `cargo test`.

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

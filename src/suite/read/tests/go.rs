//! Go: its tests and `go vet`.

use super::*;

#[test]
fn go() {
    assert_snapshot!(read_file(Framework::Go, "go/pass.txt", 0), @"");
    assert_snapshot!(read_file(Framework::Go, "go/fail.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/fail_text.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/compile_error.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/panic.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/crash.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/nothing_ran.txt", 0), @"");
}

#[test]
fn the_tail_of_go_is_text_for_people() {
    let run = read(Framework::Go, &exited(1, &fixture("go/fail.txt")));
    assert!(
        run.tail
            .starts_with("=== RUN   TestAdd\n    shop_test.go:7: Add(1, 2) = -1, want 3\n"),
        "{}",
        run.tail
    );
    assert!(run.tail.ends_with("FAIL\texample.com/shop\t0.006s\n=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\nPASS\nok  \texample.com/shop/sub\t0.005s"), "{}", run.tail);
}

#[test]
fn go_that_ends_early() {
    assert_snapshot!(read_file(Framework::Go, "go/timeout.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/timeout_text.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/exit.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/signal.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/deadlock.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/race.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/panic_subtest.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/panic_text.txt", 1), @"");
}

#[test]
fn go_that_cannot_be_built() {
    assert_snapshot!(read_file(Framework::Go, "go/vet.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/vet_text.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/missing_module.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/missing_module_mod.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/missing_std.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/not_downloaded.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/toolchain.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Go, "go/bad_mod.txt", 1), @"");
}

#[test]
fn go_that_tells_little() {
    assert_snapshot!(read_file(Framework::Go, "go/cached.txt", 0), @"");
    assert_snapshot!(read_file(Framework::Go, "go/no_test_files.txt", 0), @"");
}

#[test]
fn go_vet() {
    assert_snapshot!(read_file(Framework::GoVet, "govet/found.txt", 1), @"");
    assert_snapshot!(read_file(Framework::GoVet, "govet/found_json.txt", 0), @"");
}

//! Go: its tests and `go vet`.

use super::*;

#[test]
fn go() {
    assert_snapshot!(read_file(Framework::Go, "go/pass.txt", 0), @r"
    Passed: 5 passed, 0 failed, 1 skipped
    passed: example.com/shop TestAdd, example.com/shop TestTable, example.com/shop TestTable/a/b, example.com/shop TestTable/one_two, example.com/shop/sub TestAdd
    ");
    assert_snapshot!(read_file(Framework::Go, "go/fail.txt", 1), @r#"
    Failed: 2 passed, 3 failed, 1 skipped
    passed: example.com/shop TestTable/one_two, example.com/shop/sub TestAdd
    example.com/shop TestAdd at example.com/shop/shop_test.go:7:     shop_test.go:7: Add(1, 2) = -1, want 3
    example.com/shop TestTable at -: a subtest failed
    example.com/shop TestTable/a/b at example.com/shop/shop_test.go:15:     shop_test.go:15: bad "a/b"
    "#);
    assert_snapshot!(read_file(Framework::Go, "go/fail_text.txt", 1), @r#"
    Failed: 1 passed, 3 failed, 0 skipped
    example.com/shop TestAdd at example.com/shop/shop_test.go:7:     shop_test.go:7: Add(1, 2) = -1, want 3
    example.com/shop TestTable at -: a subtest failed
    example.com/shop TestTable/a/b at example.com/shop/shop_test.go:15:         shop_test.go:15: bad "a/b"
    "#);
    assert_snapshot!(read_file(Framework::Go, "go/compile_error.txt", 1), @r"
    DidNotBuild: 1 passed, 1 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    undefined: c at ./shop.go:3: ./shop.go:3:37: undefined: c
    ");
    assert_snapshot!(read_file(Framework::Go, "go/panic.txt", 1), @r"
    Panicked: 5 passed, 1 failed, 1 skipped
    passed: example.com/shop TestAdd, example.com/shop TestTable, example.com/shop TestTable/a/b, example.com/shop TestTable/one_two, example.com/shop/sub TestAdd
    example.com/shop TestPanics at /tmp/fx/go/shop_test.go:23: panic: runtime error: invalid memory address or nil pointer dereference [recovered, repanicked]
    ");
    assert_snapshot!(read_file(Framework::Go, "go/crash.txt", 1), @r"
    Crashed: 5 passed, 1 failed, 1 skipped
    passed: example.com/shop TestAdd, example.com/shop TestTable, example.com/shop TestTable/a/b, example.com/shop TestTable/one_two, example.com/shop/sub TestAdd
    example.com/shop TestPanics at -:
    ");
    assert_snapshot!(read_file(Framework::Go, "go/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
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
    assert!(
        run.tail.ends_with(
            "FAIL\texample.com/shop\t0.006s\n=== RUN   TestAdd\n--- PASS: TestAdd \
                                (0.00s)\nPASS\nok  \texample.com/shop/sub\t0.005s"
        ),
        "{}",
        run.tail
    );
}

#[test]
fn go_that_is_ended_names_the_test_that_took_the_time() {
    let event = |action: &str, test: &str| {
        format!("{{\"Action\":\"{action}\",\"Package\":\"example.com/shop\",\"Test\":\"{test}\"}}\n")
    };
    let text = [
        event("run", "TestA"),
        event("pass", "TestA"),
        event("run", "TestB"),
        event("run", "TestC"),
        event("pause", "TestC"),
    ];
    let ended = |outcome| show(&read(Framework::Go, &output(outcome, text.concat().as_bytes())));
    assert_snapshot!(ended(sandbox::Outcome::TimedOut), @r"
    TimedOut: 1 passed, 1 failed, 0 skipped
    passed: example.com/shop TestA
    example.com/shop TestB at -: it did not finish
    ");
    assert_snapshot!(ended(sandbox::Outcome::Signalled(9)), @r"
    Crashed: 1 passed, 0 failed, 0 skipped
    passed: example.com/shop TestA
    ");
}

#[test]
fn go_that_ends_early() {
    assert_snapshot!(read_file(Framework::Go, "go/timeout.txt", 1), @r"
    TimedOut: 2 passed, 2 failed, 0 skipped
    passed: example.com/shop TestFirst, example.com/shop/sub TestAdd
    example.com/shop TestSlow at /tmp/fx/go/shop_test.go:11: panic: test timed out after 1s
    example.com/shop TestSlow/deep at /tmp/fx/go/shop_test.go:11: panic: test timed out after 1s
    ");
    assert_snapshot!(read_file(Framework::Go, "go/timeout_text.txt", 1), @r"
    TimedOut: 1 passed, 1 failed, 0 skipped
    example.com/shop TestSlow/deep at /tmp/fx/go/shop_test.go:11: panic: test timed out after 1s
    ");
    assert_snapshot!(read_file(Framework::Go, "go/exit.txt", 1), @r"
    Crashed: 2 passed, 1 failed, 0 skipped
    passed: example.com/shop TestFirst, example.com/shop/sub TestAdd
    example.com/shop TestExits at -:
    ");
    assert_snapshot!(read_file(Framework::Go, "go/signal.txt", 1), @r"
    Crashed: 2 passed, 1 failed, 0 skipped
    passed: example.com/shop TestFirst, example.com/shop/sub TestAdd
    example.com/shop TestKilled at -: signal: killed
    ");
    assert_snapshot!(read_file(Framework::Go, "go/deadlock.txt", 1), @r"
    Panicked: 2 passed, 1 failed, 0 skipped
    passed: example.com/shop TestFirst, example.com/shop/sub TestAdd
    example.com/shop TestWaits at /tmp/fx/go/shop_test.go:7: fatal error: all goroutines are asleep - deadlock!
    ");
    assert_snapshot!(read_file(Framework::Go, "go/race.txt", 1), @r"
    Failed: 2 passed, 1 failed, 0 skipped
    passed: example.com/shop TestFirst, example.com/shop/sub TestAdd
    example.com/shop TestRaces at /tmp/fx/go/shop_test.go:9: WARNING: DATA RACE
    ");
    assert_snapshot!(read_file(Framework::Go, "go/panic_subtest.txt", 1), @r"
    Panicked: 1 passed, 2 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    example.com/shop TestParent at /tmp/fx/go/shop_test.go:6: panic: assignment to entry in nil map [recovered, repanicked]
    example.com/shop TestParent/child at /tmp/fx/go/shop_test.go:6: panic: assignment to entry in nil map [recovered, repanicked]
    ");
    assert_snapshot!(read_file(Framework::Go, "go/panic_text.txt", 1), @r"
    Panicked: 1 passed, 2 failed, 0 skipped
    example.com/shop TestParent at /tmp/fx/go/shop_test.go:6: panic: assignment to entry in nil map [recovered, repanicked]
    example.com/shop TestParent/child at /tmp/fx/go/shop_test.go:6: panic: assignment to entry in nil map [recovered, repanicked]
    ");
}

#[test]
fn go_that_cannot_be_built() {
    assert_snapshot!(read_file(Framework::Go, "go/vet.txt", 1), @r#"
    DidNotBuild: 1 passed, 1 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    (*testing.common).Errorf format %d has arg "x" of wrong type string at ./shop_test.go:5: ./shop_test.go:5:42: (*testing.common).Errorf format %d has arg "x" of wrong type string
    "#);
    assert_snapshot!(read_file(Framework::Go, "go/vet_text.txt", 1), @r#"
    DidNotBuild: 1 passed, 1 failed, 0 skipped
    (*testing.common).Errorf format %d has arg "x" of wrong type string at ./shop_test.go:5: ./shop_test.go:5:42: (*testing.common).Errorf format %d has arg "x" of wrong type string
    "#);
    assert_snapshot!(read_file(Framework::Go, "go/missing_module.txt", 1), @r"
    MissingModule: 1 passed, 1 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    no required module provides package example.com/nope; to add it: at shop_test.go:6: shop_test.go:6:2: no required module provides package example.com/nope; to add it:
    ");
    assert_snapshot!(read_file(Framework::Go, "go/missing_module_mod.txt", 1), @r"
    MissingModule: 1 passed, 1 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    cannot find module providing package example.com/nope: module lookup disabled by GOPROXY=off at shop_test.go:6: shop_test.go:6:2: cannot find module providing package example.com/nope: module lookup disabled by GOPROXY=off
    ");
    assert_snapshot!(read_file(Framework::Go, "go/missing_std.txt", 1), @r"
    MissingModule: 1 passed, 1 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    package nope/gone is not in std (/usr/local/go/src/nope/gone) at shop_test.go:6: shop_test.go:6:2: package nope/gone is not in std (/usr/local/go/src/nope/gone)
    ");
    assert_snapshot!(read_file(Framework::Go, "go/not_downloaded.txt", 1), @r"
    DidNotStart: 1 passed, 0 failed, 0 skipped
    passed: example.com/shop/sub TestAdd
    ");
    assert_snapshot!(read_file(Framework::Go, "go/toolchain.txt", 1), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Go, "go/bad_mod.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    unknown directive: bogus at go.mod:4: go.mod:4: unknown directive: bogus
    ");
}

#[test]
fn go_that_tells_little() {
    assert_snapshot!(read_file(Framework::Go, "go/cached.txt", 0), @"Passed: 2 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Go, "go/no_test_files.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn go_vet() {
    assert_snapshot!(read_file(Framework::GoVet, "go_vet/found.txt", 1), @r#"
    Flagged: 0 passed, 1 failed, 0 skipped
    (*testing.common).Errorf format %d has arg "x" of wrong type string at shop_test.go:5: shop_test.go:5:42: (*testing.common).Errorf format %d has arg "x" of wrong type string
    "#);
    assert_snapshot!(read_file(Framework::GoVet, "go_vet/found_json.txt", 0), @r#"
    Flagged: 0 passed, 1 failed, 0 skipped
    printf at /tmp/fx/go/shop_test.go:5: /tmp/fx/go/shop_test.go:5:42: (*testing.common).Errorf format %d has arg "x" of wrong type string
    "#);
}

#[test]
fn downloads_of_a_test_are_not_its_failure() {
    let event = |action: &str, output: &str| {
        format!("{{\"Action\":\"{action}\",\"Package\":\"m\",\"Test\":\"TestA\",\"Output\":{output:?}}}\n")
    };
    let text = event("run", "")
        + &event("output", "go: downloading example.org/a v1.6.1\n")
        + &event("output", "main.go:3:8: no such module\n")
        + &event("fail", "")
        + "{\"Action\":\"fail\",\"Package\":\"m\"}\n";
    let run = read(Framework::Go, &exited(1, text.as_bytes()));
    assert_eq!(run.failures[0].message.trim(), "main.go:3:8: no such module");
}

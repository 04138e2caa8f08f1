//! Go, Java, and commands of no known framework.

use super::*;

#[test]
fn go() {
    assert_snapshot!(read_file(Framework::Go, "go/pass.txt", 0), @r"
    Passed: 5 passed, 0 failed, 1 skipped
    passed: TestTable, TestTable/a/b, TestTable/one_two, example.com/shop TestAdd, example.com/shop/sub TestAdd
    ");
    assert_snapshot!(read_file(Framework::Go, "go/fail.txt", 1), @r#"
    Failed: 2 passed, 3 failed, 1 skipped
    passed: TestTable/one_two, example.com/shop/sub TestAdd
    example.com/shop TestAdd at shop_test.go:7:     shop_test.go:7: Add(1, 2) = -1, want 3
    TestTable at -: a subtest failed
    TestTable/a/b at shop_test.go:15:     shop_test.go:15: bad "a/b"
    "#);
    assert_snapshot!(read_file(Framework::Go, "go/fail_text.txt", 1), @r#"
    Failed: 1 passed, 3 failed, 0 skipped
    TestAdd at shop_test.go:7:     shop_test.go:7: Add(1, 2) = -1, want 3
    TestTable at -: 
    TestTable/a/b at shop_test.go:15:         shop_test.go:15: bad "a/b"
    "#);
    assert_snapshot!(read_file(Framework::Go, "go/compile_error.txt", 1), @r"
    DidNotBuild: 1 passed, 1 failed, 0 skipped
    passed: TestAdd
    undefined: c at ./shop.go:3: ./shop.go:3:37: undefined: c
    ");
    assert_snapshot!(read_file(Framework::Go, "go/panic.txt", 1), @r"
    Failed: 5 passed, 1 failed, 1 skipped
    passed: TestTable, TestTable/a/b, TestTable/one_two, example.com/shop TestAdd, example.com/shop/sub TestAdd
    TestPanics at /tmp/fx/go/shop_test.go:23: panic: runtime error: invalid memory address or nil pointer dereference [recovered, repanicked]
    ");
    assert_snapshot!(read_file(Framework::Go, "go/crash.txt", 1), @r"
    Crashed: 5 passed, 1 failed, 1 skipped
    passed: TestTable, TestTable/a/b, TestTable/one_two, example.com/shop TestAdd, example.com/shop/sub TestAdd
    TestPanics at -:
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
    assert!(run.tail.ends_with("FAIL\texample.com/shop\t0.006s\n=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\nPASS\nok  \texample.com/shop/sub\t0.005s"), "{}", run.tail);
}

#[test]
fn maven() {
    assert_snapshot!(read_file(Framework::Maven, "maven/pass.txt", 0), @"Passed: 4 passed, 0 failed, 1 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/fail.txt", 1), @"
    Failed: 1 passed, 3 failed, 1 skipped
    com.example.ShopTest.breaks at com/example/ShopTest.java:10: java.lang.IllegalStateException: no sum
    com.example.ShopTest.adds at com/example/ShopTest.java:7: org.opentest4j.AssertionFailedError: expected: <3> but was: <-1>
    com.example.ShopTest$Inner.nested at com/example/ShopTest.java:13: org.opentest4j.AssertionFailedError: two and two ==> expected: <true> but was: <false>
    ");
    assert_snapshot!(read_file(Framework::Maven, "maven/compile_error.txt", 1), @"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    cannot find symbol at /tmp/fx/java/src/main/java/com/example/Shop.java:5: [ERROR] /tmp/fx/java/src/main/java/com/example/Shop.java:[5,20] cannot find symbol
    ");
    assert_snapshot!(read_file(Framework::Maven, "maven/crash.txt", 1), @"Crashed: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/missing_dependency.txt", 1), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn a_command_of_no_known_framework_is_one_test() {
    assert_snapshot!(show(&read(Framework::Other, &exited(0, b"all fine"))), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    ");
    assert_snapshot!(show(&read(Framework::Other, &exited(3, b"boom"))), @"
    Failed: 0 passed, 1 failed, 0 skipped
    the test command at -: boom
    ");
    assert_snapshot!(show(&read(Framework::Other, &exited(127, b"sh: 1: make: not found"))), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(show(&read(Framework::Other, &output(sandbox::Outcome::TimedOut, b"..."))), @"TimedOut: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn a_command_of_a_known_framework_is_recognised_by_its_output() {
    for (file, code) in [
        ("cargo/fail.txt", 101),
        ("cargo/nothing_ran.txt", 0),
        ("pytest/fail.txt", 1),
        ("pytest/nothing_ran.txt", 5),
        ("unittest/fail.txt", 1),
        ("unittest/nothing_ran.txt", 0),
        ("node/fail.txt", 1),
        ("node/nothing_ran.txt", 0),
        ("jest/fail.txt", 1),
        ("jest/nothing_ran.txt", 0),
        ("jest/nothing_found.txt", 1),
        ("vitest/fail.txt", 1),
        ("vitest/nothing_found.txt", 1),
        ("mocha/fail.txt", 2),
        ("mocha/nothing_ran.txt", 0),
        ("go/fail.txt", 1),
        ("go/nothing_ran.txt", 0),
        ("maven/fail.txt", 1),
        ("maven/nothing_ran.txt", 0),
    ] {
        let run = read(Framework::Other, &exited(code, &fixture(file)));
        let expected = if file.contains("fail") {
            Outcome::Failed
        } else {
            Outcome::NothingRan
        };
        let found = run.outcome;
        assert!(
            found == expected || (code != 0 && !file.contains("fail") && found == Outcome::Crashed),
            "{file}: {found:?}"
        );
        assert!(
            run.failing_names().all(|name| name != conclude::WHOLE_COMMAND),
            "{file}"
        );
    }
}

//! Pest, Meson, GoogleTest, Catch2 and ExUnit; and Swift, whose outputs are not recorded.

use super::javascript::check;
use super::*;

#[test]
fn pest() {
    let check = |name, code, expected| check(Framework::Pest, name, code, expected);
    check(
        "pest/fail",
        2,
        r##"
        Failed: 1 passed, 6 failed, 2 skipped
        passed: Tests\ShopTest::it is empty
        OldTest::testAdds at /tmp/rd/pest/proj/tests/OldTest.php:3: Failed asserting that -1 is identical to 3.
        Tests\ShopTest::adds at /tmp/rd/pest/proj/tests/ShopTest.php:4: Failed asserting that -1 is identical to 3.
        Tests\ShopTest::it sums (a|b) 100% at /tmp/rd/pest/proj/tests/ShopTest.php:5: Failed asserting that two arrays are equal.
        Tests\ShopTest::it adds one with (1) at /tmp/rd/pest/proj/tests/ShopTest.php:9: Failed asserting that 0 is identical to 2.
        Tests\ShopTest::it adds one with (5) at /tmp/rd/pest/proj/tests/ShopTest.php:9: Failed asserting that 4 is identical to 6.
        Tests\ShopTest::it raises at /tmp/rd/pest/proj/tests/ShopTest.php:10: RuntimeException: no sum
        "##,
    );
    check(
        "pest/missing",
        1,
        r##"
        MissingModule: 0 passed, 1 failed, 0 skipped
        require(gone.php): Failed to open stream: No such file or directory at tests/BadTest.php:1: Whoops\Exception\ErrorException
        "##,
    );
    check("pest/none", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("pest/not_found", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check(
        "pest/only",
        0,
        r##"
        Passed: 1 passed, 0 failed, 0 skipped
        passed: Tests\ShopTest::it sums (a|b) 100%
        "##,
    );
    check(
        "pest/pass",
        0,
        r##"
        Passed: 7 passed, 0 failed, 2 skipped
        passed: OldTest::testAdds, Tests\ShopTest::adds, Tests\ShopTest::it adds one with (1), Tests\ShopTest::it adds one with (5), Tests\ShopTest::it is empty, Tests\ShopTest::it raises, Tests\ShopTest::it sums (a|b) 100%
        "##,
    );
    check(
        "pest/syntax",
        1,
        r##"
        DidNotCollect: 0 passed, 1 failed, 0 skipped
        Unclosed '(' on line 1 at tests/BadTest.php:2: ParseError
        "##,
    );
}

#[test]
fn meson() {
    let check = |name: &str, code, expected| check(Framework::Meson, name, code, expected);
    check(
        "meson/bad_build",
        1,
        r##"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        Expecting rparen got eof. at e/meson.build:2: e/meson.build:2:39: ERROR: Expecting rparen got eof.
        "##,
    );
    check(
        "meson/compile_error",
        1,
        r##"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        ‘c’ undeclared (first use in this function) at ../e/add.c:6: ../e/add.c: In function ‘add’:
        "##,
    );
    check(
        "meson/missing_dependency",
        1,
        "DidNotStart: 0 passed, 0 failed, 0 skipped",
    );
    check("meson/not_found", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("meson/nothing_ran", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check(
        "meson/only",
        0,
        r##"
        Passed: 1 passed, 0 failed, 0 skipped
        passed: adds
        "##,
    );
    for version in ["1.0", "1.4", "1.9"] {
        check(
            &format!("meson/v{version}_fail"),
            6,
            r##"
        Failed: 0 passed, 6 failed, 1 skipped
        adds at add.c:11: FAIL
        sums (a|b) 100% at add.c:11: FAIL
        points at -: FAIL
        dies at -: FAIL
        google at ../src/google.cc:9: FAIL
        slow at -: TIMEOUT
        "##,
        );
        check(
            &format!("meson/v{version}_pass"),
            0,
            r##"
        Passed: 4 passed, 0 failed, 1 skipped
        passed: adds, google, points, sums (a|b) 100%
        "##,
        );
    }
}

#[test]
fn googletest() {
    let check = |name, code, expected| check(Framework::Googletest, name, code, expected);
    check(
        "googletest/crash",
        139,
        r##"
        Crashed: 3 passed, 1 failed, 2 skipped
        passed: Shop.Adds, Shop.IsEmpty, Shop.Throws
        Zoo.Dies at -: the process ended in this test
        "##,
    );
    check(
        "googletest/fail",
        1,
        r##"
        Failed: 1 passed, 4 failed, 2 skipped
        passed: Shop.IsEmpty
        Shop.Adds at gt/t.cc:9: gt/t.cc:9
        Shop.Throws at -: unknown file
        Values/Table.AddsOne/0 at gt/t.cc:15: gt/t.cc:15
        Values/Table.AddsOne/1 at gt/t.cc:15: gt/t.cc:15
        "##,
    );
    check("googletest/not_found", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check(
        "googletest/pass",
        0,
        r##"
        Passed: 5 passed, 0 failed, 2 skipped
        passed: Shop.Adds, Shop.IsEmpty, Shop.Throws, Values/Table.AddsOne/0, Values/Table.AddsOne/1
        "##,
    );
}

#[test]
fn catch2() {
    let check = |name, code, expected| check(Framework::Catch2, name, code, expected);
    check(
        "catch2/v2_crash",
        139,
        r##"
        Crashed: 3 passed, 1 failed, 0 skipped
        known at c2/t.cc:14: known
        dies at c2/t.cc:17: dies
        "##,
    );
    check(
        "catch2/v2_fail",
        3,
        r##"
        Failed: 0 passed, 3 failed, 0 skipped
        adds at c2/t.cc:9: adds
        basket at c2/t.cc:11: basket > sums (a|b) 100%
        known at c2/t.cc:14: known
        throws at c2/t.cc:15: throws
        "##,
    );
    check("catch2/v2_not_found", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("catch2/v2_pass", 0, "Passed: 3 passed, 0 failed, 0 skipped");
    check(
        "catch2/v3_crash",
        139,
        r##"
        Crashed: 3 passed, 1 failed, 0 skipped
        known at t.cc:14: known
        dies at t.cc:17: dies
        "##,
    );
    check(
        "catch2/v3_fail",
        42,
        r##"
        Failed: 0 passed, 3 failed, 0 skipped
        adds at t.cc:9: adds
        basket at t.cc:11: basket > sums (a|b) 100%
        known at t.cc:14: known
        throws at t.cc:15: throws
        "##,
    );
    check("catch2/v3_not_found", 2, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("catch2/v3_one", 0, "Passed: 1 passed, 0 failed, 0 skipped");
    check("catch2/v3_pass", 0, "Passed: 3 passed, 0 failed, 0 skipped");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one recorded output after the other")]
fn exunit() {
    let check = |name, code, expected| check(Framework::Exunit, name, code, expected);
    check(
        "exunit/compile_error",
        1,
        r##"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        syntax error before: end. "end" is a reserved word in Elixir and therefore its usage is limited. For instance, it can't be used as a variable or be defined nor invoked as a regular function at lib/shop.ex:3: ** (SyntaxError) lib/shop.ex:3:1: syntax error before: end. "end" is a reserved word in Elixir and therefore its usage is limited. For instance, it can't be used as a variable or be defined nor invoked as a regular function
        "##,
    );
    check(
        "exunit/fail",
        2,
        r##"
        Failed: 1 passed, 6 failed, 1 skipped
        passed: ShopTest test basket is empty
        ShopTest test adds one to 1 at test/shop_test.exs:20: Assertion with == failed
        ShopTest test basket sums (a|b) 100% at test/shop_test.exs:8: Assertion with == failed
        ShopTest test basket some day at test/shop_test.exs:13: Not implemented
        ShopTest test raises at test/shop_test.exs:16: ** (ArgumentError) no sum
        ShopTest test adds at test/shop_test.exs:4: Assertion with == failed
        ShopTest test adds one to 5 at test/shop_test.exs:20: Assertion with == failed
        "##,
    );
    check(
        "exunit/fail_quiet",
        2,
        r##"
        Failed: 1 passed, 6 failed, 1 skipped
        ShopTest test raises at test/shop_test.exs:16: ** (ArgumentError) no sum
        ShopTest test basket some day at test/shop_test.exs:13: Not implemented
        ShopTest test adds one to 1 at test/shop_test.exs:20: Assertion with == failed
        ShopTest test adds at test/shop_test.exs:4: Assertion with == failed
        ShopTest test adds one to 5 at test/shop_test.exs:20: Assertion with == failed
        ShopTest test basket sums (a|b) 100% at test/shop_test.exs:8: Assertion with == failed
        "##,
    );
    check(
        "exunit/load_error",
        1,
        r##"
        DidNotCollect: 0 passed, 1 failed, 0 skipped
        missing terminator: ) (for "(" starting at line 4) at test/bad_test.exs:6: ** (TokenMissingError) test/bad_test.exs:6:1: missing terminator: ) (for "(" starting at line 4)
        "##,
    );
    check(
        "exunit/missing",
        1,
        r##"
        MissingModule: 0 passed, 1 failed, 0 skipped
        module Gone is not loaded and could not be found at test/gone_test.exs:3: ** (CompileError) test/gone_test.exs:3: module Gone is not loaded and could not be found
        "##,
    );
    check(
        "exunit/missing_dependency",
        1,
        "DidNotStart: 0 passed, 0 failed, 0 skipped",
    );
    check("exunit/none", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check("exunit/not_found", 0, "NothingRan: 0 passed, 0 failed, 0 skipped");
    check(
        "exunit/only",
        0,
        r##"
        Passed: 1 passed, 0 failed, 0 skipped
        passed: ShopTest test basket sums (a|b) 100%
        "##,
    );
    check(
        "exunit/pass",
        0,
        r##"
        Passed: 6 passed, 0 failed, 1 skipped
        passed: ShopTest test adds, ShopTest test adds one to 1, ShopTest test adds one to 5, ShopTest test basket is empty, ShopTest test basket sums (a|b) 100%, ShopTest test raises
        "##,
    );
    check("exunit/pass_quiet", 0, "Passed: 6 passed, 0 failed, 1 skipped");
    check(
        "exunit/setup",
        2,
        r##"
        Failed: 1 passed, 8 failed, 1 skipped
        passed: ShopTest test basket is empty
        ShopTest test basket sums (a|b) 100% at test/shop_test.exs:8: Assertion with == failed
        ShopTest test basket some day at test/shop_test.exs:13: Not implemented
        ShopTest test adds one to 5 at test/shop_test.exs:20: Assertion with == failed
        ShopTest test raises at test/shop_test.exs:16: ** (ArgumentError) no sum
        ShopTest test adds at test/shop_test.exs:4: Assertion with == failed
        ShopTest test adds one to 1 at test/shop_test.exs:20: Assertion with == failed
        SetupTest at test/setup_test.exs:4: ** (RuntimeError) no database
        "##,
    );
}

#[test]
fn swift() {
    let check = |name, code, expected| check(Framework::Swift, name, code, expected);
    check(
        "swift/compile_error",
        1,
        r##"
        DidNotBuild: 0 passed, 1 failed, 0 skipped
        cannot find 'c' in scope at /src/shop/Sources/Shop/Shop.swift:2: /src/shop/Sources/Shop/Shop.swift:2:14: error: cannot find 'c' in scope
        "##,
    );
    check(
        "swift/crash",
        1,
        r##"
        Crashed: 1 passed, 1 failed, 0 skipped
        passed: OldTests.testIsEmpty
        OldTests.testDies at -: the process ended in this test
        "##,
    );
    check(
        "swift/fail",
        1,
        r##"
        Failed: 2 passed, 3 failed, 2 skipped
        passed: "sums (a|b) 100%", OldTests.testIsEmpty
        OldTests.testAdds at /src/shop/Tests/ShopTests/OldTests.swift:6: XCTAssertEqual failed: ("-1") is not equal to ("3") - the sum
        adds() at ShopTests.swift:8: Expectation failed: (add(1, 2) → -1) == 3
        addsOne(_:) at ShopTests.swift:18: Expectation failed: (add(number, 1) → 4) == (number + 1 → 6)
        "##,
    );
    check(
        "swift/missing",
        1,
        r##"
        MissingModule: 0 passed, 1 failed, 0 skipped
        no such module 'Gone' at /src/shop/Tests/ShopTests/OldTests.swift:2: /src/shop/Tests/ShopTests/OldTests.swift:2:8: error: no such module 'Gone'
        "##,
    );
}

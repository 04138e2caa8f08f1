//! Ruby and PHP.

use super::*;

#[test]
fn rspec() {
    assert_snapshot!(read_case(Framework::Rspec, "rspec/pass", 0, None), @r##"
    Passed: 6 passed, 0 failed, 4 skipped
    summary_counts: {"examples": 10, "pending": 4}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/pass", 0, Some("json")), @r##"
    Passed: 6 passed, 0 failed, 4 skipped
    passed: ./spec/shop_spec.rb[1:1], ./spec/shop_spec.rb[1:2:1], ./spec/shop_spec.rb[1:2:2], ./spec/shop_spec.rb[1:7], ./spec/shop_spec.rb[1:8], ./spec/shop_spec.rb[1:9]
    skipped: ./spec/shop_spec.rb[1:3], ./spec/shop_spec.rb[1:4], ./spec/shop_spec.rb[1:5], ./spec/shop_spec.rb[1:6]
    summary_counts: {"examples": 10, "pending": 4}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/fail", 1, None), @r##"
    Failed: 1 passed, 7 failed, 4 skipped
    ./spec/shop_spec.rb:4 at ./spec/shop_spec.rb:5: basket sums (a|b) # 100%
    ./spec/shop_spec.rb[1:7] at ./spec/shop_spec.rb:17: basket adds 1
    ./spec/shop_spec.rb[1:8] at ./spec/shop_spec.rb:17: basket adds 2
    ./spec/shop_spec.rb:18 at ./spec/shop_spec.rb:18: basket is expected to eq 4
    ./spec/shop_spec.rb:10 at ./spec/shop_spec.rb:10: basket empty raises
    ./spec/shop_spec.rb:21 at ./spec/shop_spec.rb:21: fixed was mended already
    ./spec/shop_spec.rb:24 at ./spec/shop_spec.rb:24: fixed has many
    An error occurred in an `after(:context)` hook. at ./spec/shop_spec.rb:23: An error occurred in an `after(:context)` hook.
    ./spec/shop_spec.rb:4: wanted "3", got "-1"
    ./spec/shop_spec.rb[1:7]: wanted "2", got "0"
    ./spec/shop_spec.rb[1:8]: wanted "4", got "0"
    ./spec/shop_spec.rb:18: wanted "4", got "0"
    ./spec/shop_spec.rb:24: wanted "2", got "1"
    summary_counts: {"errors": 1, "examples": 12, "failures": 7, "pending": 4}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/fail", 1, Some("json")), @r##"
    Failed: 1 passed, 7 failed, 4 skipped
    passed: ./spec/shop_spec.rb[1:2:1]
    ./spec/shop_spec.rb[1:1] at /tmp/others/rec/rspec/fail/spec/shop_spec.rb:5: basket sums (a|b) # 100%
    ./spec/shop_spec.rb[1:7] at /tmp/others/rec/rspec/fail/spec/shop_spec.rb:17: basket adds 1
    ./spec/shop_spec.rb[1:8] at /tmp/others/rec/rspec/fail/spec/shop_spec.rb:17: basket adds 2
    ./spec/shop_spec.rb[1:9] at /tmp/others/rec/rspec/fail/spec/shop_spec.rb:18: basket is expected to eq 4
    ./spec/shop_spec.rb[1:2:2] at /tmp/others/rec/rspec/fail/spec/shop_spec.rb:10: basket empty raises
    ./spec/shop_spec.rb[2:1] at ./spec/shop_spec.rb:21: fixed was mended already
    ./spec/shop_spec.rb[2:2] at /tmp/others/rec/rspec/fail/spec/shop_spec.rb:24: fixed has many
    An error occurred in an `after(:context)` hook. at ./spec/shop_spec.rb:23: An error occurred in an `after(:context)` hook.
    ./spec/shop_spec.rb[1:1]: wanted "3", got "-1"
    ./spec/shop_spec.rb[1:7]: wanted "2", got "0"
    ./spec/shop_spec.rb[1:8]: wanted "4", got "0"
    ./spec/shop_spec.rb[1:9]: wanted "4", got "0"
    skipped: ./spec/shop_spec.rb[1:3], ./spec/shop_spec.rb[1:4], ./spec/shop_spec.rb[1:5], ./spec/shop_spec.rb[1:6]
    summary_counts: {"errors": 1, "examples": 12, "failures": 7, "pending": 4}
    "##);
}

#[test]
fn rspec_without_results() {
    assert_snapshot!(read_case(Framework::Rspec, "rspec/load", 1, None), @r##"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    ./spec/shop_spec.rb at ./spec/shop_spec.rb:3: An error occurred while loading ./spec/shop_spec.rb.
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/load", 1, Some("json")), @r##"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    ./spec/shop_spec.rb at ./spec/shop_spec.rb:3: An error occurred while loading ./spec/shop_spec.rb.
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/missing", 1, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    ./spec/shop_spec.rb at ./spec/shop_spec.rb:1: An error occurred while loading ./spec/shop_spec.rb.
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/missing", 1, Some("json")), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    ./spec/shop_spec.rb at ./spec/shop_spec.rb:1: An error occurred while loading ./spec/shop_spec.rb.
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/syntax", 1, None), @r##"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    ./spec/shop_spec.rb at /tmp/others/rec/rspec/syntax/shop.rb:3: An error occurred while loading ./spec/shop_spec.rb.
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/syntax", 1, Some("json")), @r##"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    ./spec/shop_spec.rb at /tmp/others/rec/rspec/syntax/shop.rb:3: An error occurred while loading ./spec/shop_spec.rb.
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/none", 0, None), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Rspec, "rspec/none", 0, Some("json")), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Rspec, "rspec/filtered", 0, None), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Rspec, "rspec/not_found", 1, None), @r##"
    NothingRan: 0 passed, 0 failed, 0 skipped
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/not_found", 1, Some("json")), @r##"
    NothingRan: 0 passed, 0 failed, 0 skipped
    summary_counts: {"errors": 1}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/crash", 134, None), @"Crashed: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Rspec, "rspec/exit", 0, None), @r##"
    Passed: 2 passed, 0 failed, 0 skipped
    summary_counts: {"examples": 2}
    "##);
    assert_snapshot!(read_case(Framework::Rspec, "rspec/exit", 0, Some("json")), @r##"
    Crashed: 1 passed, 1 failed, 0 skipped
    passed: ./spec/a_spec.rb[1:1]
    ./spec/a_spec.rb[1:2] at -: the process ended in the middle of this example
    summary_counts: {"examples": 2}
    "##);
}

#[test]
fn minitest() {
    assert_snapshot!(read_case(Framework::Minitest, "minitest/pass", 0, None), @r##"
    Passed: 5 passed, 0 failed, 1 skipped
    passed: TestShop#test_adds, TestShop#test_odd name (a|b) # 100%, TestShop#test_raises, TestShop#test_true, TestShop#test_zero
    skipped: TestShop#test_is_skipped
    summary_counts: {"assertions": 4, "errors": 0, "failures": 0, "runs": 6, "skips": 1}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/fail", 1, None), @r##"
    Failed: 1 passed, 4 failed, 1 skipped
    passed: TestShop#test_zero
    TestShop#test_true at /tmp/others/rec/minitest/fail/test/shop_test.rb:18: two and two
    TestShop#test_raises at /tmp/others/rec/minitest/fail/test/shop_test.rb:14: ArgumentError: no sum
    TestShop#test_odd name (a|b) # 100% at /tmp/others/rec/minitest/fail/test/shop_test.rb:25: --- expected
    TestShop#test_adds at /tmp/others/rec/minitest/fail/test/shop_test.rb:6: Expected: 3
    TestShop#test_adds: wanted "3", got "-1"
    skipped: TestShop#test_is_skipped
    summary_counts: {"assertions": 4, "errors": 1, "failures": 3, "runs": 6, "skips": 1}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/fail_quiet", 1, None), @r##"
    Failed: 1 passed, 4 failed, 1 skipped
    TestShop#test_raises at /tmp/others/rec/minitest/fail/test/shop_test.rb:14: ArgumentError: no sum
    TestShop#test_adds at /tmp/others/rec/minitest/fail/test/shop_test.rb:6: Expected: 3
    TestShop#test_true at /tmp/others/rec/minitest/fail/test/shop_test.rb:18: two and two
    TestShop#test_odd name (a|b) # 100% at /tmp/others/rec/minitest/fail/test/shop_test.rb:25: --- expected
    TestShop#test_adds: wanted "3", got "-1"
    summary_counts: {"assertions": 4, "errors": 1, "failures": 3, "runs": 6, "skips": 1}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/spec", 1, None), @r##"
    Failed: 1 passed, 1 failed, 1 skipped
    passed: basket#test_0001_sums
    basket#test_0002_fails at /tmp/others/rec/minitest/spec/test/shop_test.rb:7: Expected: 4
    basket#test_0002_fails: wanted "4", got "3"
    skipped: basket::inner#test_0001_skips
    summary_counts: {"assertions": 2, "errors": 0, "failures": 1, "runs": 3, "skips": 1}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/missing", 1, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    cannot load such file -- no_such_gem at /tmp/others/rec/minitest/missing/test/shop_test.rb:1: <internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85:in `require': cannot load such file -- no_such_gem (LoadError)
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/syntax", 1, None), @r##"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    syntax error, unexpected `end', expecting ')' (SyntaxError) at /tmp/others/rec/minitest/syntax/shop.rb:3: /tmp/others/rec/minitest/syntax/test/shop_test.rb:2:in `require_relative': /tmp/others/rec/minitest/syntax/shop.rb:3: syntax error, unexpected `end', expecting ')' (SyntaxError)
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/none", 0, None), @r##"
    NothingRan: 0 passed, 0 failed, 0 skipped
    summary_counts: {"assertions": 0, "errors": 0, "failures": 0, "runs": 0, "skips": 0}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/crash", 1, None), @r##"
    Crashed: 0 passed, 1 failed, 0 skipped
    TestA#test_dies at -: the process died in this test
    "##);
}

#[test]
fn test_unit() {
    assert_snapshot!(read_case(Framework::Minitest, "minitest/testunit_pass", 0, None), @r##"
    Passed: 5 passed, 0 failed, 2 skipped
    passed: TestShop#test: odd name (a|b) # 100%, TestShop#test_adds, TestShop#test_raises, TestShop#test_zero
    skipped: TestShop#test_left_out, TestShop#test_not_written
    summary_counts: {"assertions": 3, "errors": 0, "failures": 0, "notifications": 1, "omissions": 1, "pendings": 1, "tests": 7}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/testunit_fail", 1, None), @r##"
    Failed: 2 passed, 3 failed, 2 skipped
    passed: TestShop#test_zero
    TestShop#test: odd name (a|b) # 100% at /tmp/others/rec/testunit/fail/test/shop_test.rb:30:   two and two.
    TestShop#test_adds at /tmp/others/rec/testunit/fail/test/shop_test.rb:6: /tmp/others/rec/testunit/fail/test/shop_test.rb:6:in `test_adds'
    TestShop#test_raises at /tmp/others/rec/testunit/fail/test/shop_test.rb:14: ArgumentError: no sum
    TestShop#test_adds: wanted "3", got "-1"
    skipped: TestShop#test_left_out, TestShop#test_not_written
    summary_counts: {"assertions": 3, "errors": 1, "failures": 2, "notifications": 1, "omissions": 1, "pendings": 1, "tests": 7}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/testunit_fail_quiet", 1, None), @r##"
    Failed: 2 passed, 3 failed, 2 skipped
    TestShop#test: odd name (a|b) # 100% at /tmp/others/rec/testunit/fail/test/shop_test.rb:30:   two and two.
    TestShop#test_adds at /tmp/others/rec/testunit/fail/test/shop_test.rb:6: /tmp/others/rec/testunit/fail/test/shop_test.rb:6:in `test_adds'
    TestShop#test_raises at /tmp/others/rec/testunit/fail/test/shop_test.rb:14: ArgumentError: no sum
    TestShop#test_adds: wanted "3", got "-1"
    skipped: TestShop#test_left_out, TestShop#test_not_written
    summary_counts: {"assertions": 3, "errors": 1, "failures": 2, "notifications": 1, "omissions": 1, "pendings": 1, "tests": 7}
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/testunit_missing", 1, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    cannot load such file -- no_such_gem at /tmp/others/rec/testunit/missing/test/shop_test.rb:1: <internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85:in `require': cannot load such file -- no_such_gem (LoadError)
    "##);
    assert_snapshot!(read_case(Framework::Minitest, "minitest/testunit_none", 0, None), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn phpunit() {
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/pass", 0, None), @r##"
    Passed: 8 passed, 0 failed, 2 skipped
    summary_counts: {"Assertions": 7, "Incomplete": 1, "Risky": 1, "Skipped": 1, "Tests": 10}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/pass", 0, Some("xml")), @r##"
    Passed: 8 passed, 0 failed, 2 skipped
    passed: Acme\Tests\ShopTest::testAdds, Acme\Tests\ShopTest::testRaises, Acme\Tests\ShopTest::testRisky, Acme\Tests\ShopTest::testTable with data set "one & "two" (a|b)", Acme\Tests\ShopTest::testTable with data set #0, Acme\Tests\ShopTest::testTable with data set #1, Acme\Tests\ShopTest::testText, Acme\Tests\ShopTest::testZero
    skipped: Acme\Tests\ShopTest::testIncomplete, Acme\Tests\ShopTest::testSkipped
    summary_counts: {"Assertions": 7, "Incomplete": 1, "Risky": 1, "Skipped": 1, "Tests": 10}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/fail", 2, None), @r##"
    Failed: 3 passed, 6 failed, 2 skipped
    Acme\Tests\ShopTest::testRaises at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:10: RuntimeException: no sum
    Acme\Tests\ShopTest::testAdds at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:8: Failed asserting that -1 is identical to 3.
    Acme\Tests\ShopTest::testTable with data set "one & "two" (a|b)" at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:15: Failed asserting that -1 is identical to 3.
    Acme\Tests\ShopTest::testTable with data set #1 at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:15: Failed asserting that 0 is identical to 2.
    Acme\Tests\ShopTest::testText at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:17: two lines
    Acme\Tests\ShopTest::testWarns at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:18: Failed asserting that 0 is identical to 2.
    Acme\Tests\ShopTest::testAdds: wanted "3", got "-1"
    Acme\Tests\ShopTest::testTable with data set "one & "two" (a|b)": wanted "3", got "-1"
    Acme\Tests\ShopTest::testTable with data set #1: wanted "2", got "0"
    Acme\Tests\ShopTest::testText: wanted "'a\nb'", got "'a\nc'"
    Acme\Tests\ShopTest::testWarns: wanted "2", got "0"
    summary_counts: {"Assertions": 7, "Errors": 1, "Failures": 5, "Incomplete": 1, "Risky": 1, "Skipped": 1, "Tests": 11}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/fail", 2, Some("xml")), @r##"
    Failed: 3 passed, 6 failed, 2 skipped
    passed: Acme\Tests\ShopTest::testRisky, Acme\Tests\ShopTest::testTable with data set #0, Acme\Tests\ShopTest::testZero
    Acme\Tests\ShopTest::testAdds at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:8: Failed asserting that -1 is identical to 3.
    Acme\Tests\ShopTest::testRaises at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:10: RuntimeException: no sum
    Acme\Tests\ShopTest::testTable with data set "one & "two" (a|b)" at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:15: Failed asserting that -1 is identical to 3.
    Acme\Tests\ShopTest::testTable with data set #1 at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:15: Failed asserting that 0 is identical to 2.
    Acme\Tests\ShopTest::testText at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:17: two lines
    Acme\Tests\ShopTest::testWarns at /tmp/others/rec/phpunit/fail/tests/ShopTest.php:18: Failed asserting that 0 is identical to 2.
    Acme\Tests\ShopTest::testAdds: wanted "3", got "-1"
    Acme\Tests\ShopTest::testTable with data set "one & "two" (a|b)": wanted "3", got "-1"
    Acme\Tests\ShopTest::testTable with data set #1: wanted "2", got "0"
    Acme\Tests\ShopTest::testText: wanted "'a\nb'", got "'a\nc'"
    Acme\Tests\ShopTest::testWarns: wanted "2", got "0"
    skipped: Acme\Tests\ShopTest::testIncomplete, Acme\Tests\ShopTest::testSkipped
    summary_counts: {"Assertions": 7, "Errors": 1, "Failures": 5, "Incomplete": 1, "Risky": 1, "Skipped": 1, "Tests": 11}
    "##);
}

#[test]
fn phpunit_without_results() {
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/fatal", 2, None), @r##"
    Failed: 1 passed, 1 failed, 0 skipped
    DiesTest::testDies at /tmp/others/rec/phpunit/fatal/tests/DiesTest.php:1: Error: Class "Nope" not found
    summary_counts: {"Assertions": 1, "Errors": 1, "Tests": 2}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/fatal", 2, Some("xml")), @r##"
    Failed: 1 passed, 1 failed, 0 skipped
    passed: DiesTest::testA
    DiesTest::testDies at /tmp/others/rec/phpunit/fatal/tests/DiesTest.php:1: Error: Class "Nope" not found
    summary_counts: {"Assertions": 1, "Errors": 1, "Tests": 2}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/syntax", 255, None), @r##"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    ParseError: syntax error, unexpected variable "$a" at /tmp/others/rec/phpunit/syntax/shop.php:2: ParseError: syntax error, unexpected variable "$a"
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/missing", 255, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    Error: Failed opening required '/tmp/others/rec/phpunit/missing/tests/../gone.php' (include_path='.:/usr/share/php') at /tmp/others/rec/phpunit/missing/tests/ShopTest.php:4: Error: Failed opening required '/tmp/others/rec/phpunit/missing/tests/../gone.php' (include_path='.:/usr/share/php')
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/oom", 255, None), @"OutOfMemory: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/crash", 139, None), @"Crashed: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/none", 0, None), @r##"
    NothingRan: 0 passed, 0 failed, 1 skipped
    summary_counts: {"Assertions": 0, "Tests": 1, "Warnings": 1}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/none", 0, Some("xml")), @r##"
    NothingRan: 0 passed, 0 failed, 1 skipped
    skipped: Warning
    summary_counts: {"Assertions": 0, "Tests": 1, "Warnings": 1}
    "##);
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/filtered", 0, None), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/not_found", 1, None), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Phpunit, "phpunit/testdox", 0, None), @r##"
    Passed: 8 passed, 0 failed, 2 skipped
    summary_counts: {"Assertions": 7, "Incomplete": 1, "Risky": 1, "Skipped": 1, "Tests": 10}
    "##);
}

//! pytest and `unittest`.

use super::*;

#[test]
fn pytest_reports() {
    assert_snapshot!(read_pytest("pass", 0), @r#"
    Passed: 11 passed, 0 failed, 2 skipped
    passed: tests/test_shop.py::TestBasket::test_empty, tests/test_shop.py::TestBasket::test_setup, tests/test_shop.py::test_discount[10-0-10], tests/test_shop.py::test_discount[100-10-90], tests/test_shop.py::test_discount[200-50-100], tests/test_shop.py::test_odd[-k], tests/test_shop.py::test_odd[[z]], tests/test_shop.py::test_odd[\xfc], tests/test_shop.py::test_odd[a b], tests/test_shop.py::test_odd[x::y], tests/test_shop.py::test_total
    "#);
    assert_snapshot!(read_pytest("fail", 1), @r#"
    Failed: 7 passed, 4 failed, 2 skipped
    passed: tests/test_shop.py::test_discount[10-0-10], tests/test_shop.py::test_odd[-k], tests/test_shop.py::test_odd[[z]], tests/test_shop.py::test_odd[\xfc], tests/test_shop.py::test_odd[a b], tests/test_shop.py::test_odd[x::y], tests/test_shop.py::test_total
    tests/test_shop.py::test_discount[100-10-90] at tests/test_shop.py:11: assert 110.0 == 90
    tests/test_shop.py::test_discount[200-50-100] at tests/test_shop.py:11: assert 300.0 == 100
    tests/test_shop.py::TestBasket::test_empty at tests/test_shop.py:32: assert None == 0
    tests/test_shop.py::TestBasket::test_setup at tests/test_shop.py:36: failed on setup with "RuntimeError: no fixture"
    "#);
    assert_snapshot!(read_pytest("collection_error", 2), @r"
    DidNotBuild: 0 passed, 2 failed, 0 skipped
    tests/test_bad.py at /tmp/fx/py/tests/test_bad.py:1: /root/.pyenv/versions/3.11.7/lib/python3.11/site-packages/_pytest/python.py:528: in importtestmodule
    tests/test_bad2.py at tests/test_bad2.py:1: ImportError while importing test module '/tmp/fx/py/tests/test_bad2.py'.
    ");
    assert_snapshot!(read_pytest("nothing_ran", 5), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn pytest_text() {
    assert_snapshot!(read_file(Framework::Pytest, "pytest/pass.txt", 0), @"Passed: 11 passed, 0 failed, 2 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/fail.txt", 1), @r"
    Failed: 7 passed, 4 failed, 2 skipped
    tests/test_shop.py::test_discount[100-10-90] at tests/test_shop.py:11: price = 100, percent = 10, expected = 90
    tests/test_shop.py::test_discount[200-50-100] at tests/test_shop.py:11: price = 200, percent = 50, expected = 100
    tests/test_shop.py::TestBasket::test_empty at tests/test_shop.py:32: self = <test_shop.TestBasket object at 0x7fa630f8f890>
    tests/test_shop.py::TestBasket::test_setup at tests/test_shop.py:36: self = <test_shop.TestBasket object at 0x7fa630f8fe90>
    ");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/collection_error.txt", 2), @r"
    DidNotBuild: 0 passed, 2 failed, 0 skipped
    tests/test_bad.py at /tmp/fx/py/tests/test_bad.py:1: /root/.pyenv/versions/3.11.7/lib/python3.11/site-packages/_pytest/python.py:528: in importtestmodule
    tests/test_bad2.py at tests/test_bad2.py:1: ImportError while importing test module '/tmp/fx/py/tests/test_bad2.py'.
    ");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/nothing_ran.txt", 5), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/conftest_error.txt", 4), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    conftest.py at tests/conftest.py:1: ImportError while loading conftest '/tmp/fx/py/tests/conftest.py'.
    ");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/not_found.txt", 4), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/missing_file.txt", 4), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/usage_error.txt", 4), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    let crash = output(sandbox::Outcome::Signalled(11), &fixture("pytest/crash.txt"));
    assert_snapshot!(show(&read(Framework::Pytest, &crash)), @"Crashed: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn unittest() {
    assert_snapshot!(read_file(Framework::Unittest, "unittest/pass.txt", 0), @r"
    Passed: 5 passed, 0 failed, 2 skipped
    passed: tests.test_calc.TestAdd.test_doc, tests.test_calc.TestAdd.test_error, tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints, tests.test_calc.TestAdd.test_small
    ");
    assert_snapshot!(read_file(Framework::Unittest, "unittest/fail.txt", 1), @r"
    Failed: 2 passed, 3 failed, 2 skipped
    passed: tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints
    tests.test_calc.TestAdd.test_error at /tmp/fx/ut/tests/test_calc.py:24: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_doc at /tmp/fx/ut/tests/test_calc.py:9: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_small at /tmp/fx/ut/tests/test_calc.py:6: Traceback (most recent call last):
    ");
    assert_snapshot!(read_file(Framework::Unittest, "unittest/collection_error.txt", 1), @r"
    DidNotBuild: 2 passed, 4 failed, 2 skipped
    passed: tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints
    tests.test_bad at /tmp/fx/ut/tests/test_bad.py:1: ImportError: Failed to import test module: tests.test_bad
    tests.test_calc.TestAdd.test_error at /tmp/fx/ut/tests/test_calc.py:24: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_doc at /tmp/fx/ut/tests/test_calc.py:9: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_small at /tmp/fx/ut/tests/test_calc.py:6: Traceback (most recent call last):
    ");
    assert_snapshot!(read_file(Framework::Unittest, "unittest/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    let crash = output(sandbox::Outcome::Signalled(6), &fixture("unittest/crash.txt"));
    assert_snapshot!(show(&read(Framework::Unittest, &crash)), @r"
    Crashed: 2 passed, 1 failed, 2 skipped
    passed: tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints
    tests.test_z.T.test_dies at -: the test process ended early
    ");
}

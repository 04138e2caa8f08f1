//! pytest and `unittest`.

use super::*;

fn whole_pytest(name: &str, code: i32) -> String {
    let report = fixture(&format!("pytest/{name}.xml"));
    let text = fixture(&format!("pytest/{name}.txt"));
    show_whole(&read_with_report(Framework::Pytest, &exited(code, &text), &report))
}

#[test]
fn pytest_reports() {
    assert_snapshot!(read_pytest("pass", 0), @r"
    Passed: 11 passed, 0 failed, 1 skipped
    passed: tests/test_shop.py::TestBasket::test_empty, tests/test_shop.py::TestBasket::test_setup, tests/test_shop.py::test_discount[10-0-10], tests/test_shop.py::test_discount[100-10-90], tests/test_shop.py::test_discount[200-50-100], tests/test_shop.py::test_odd[-k], tests/test_shop.py::test_odd[[z]], tests/test_shop.py::test_odd[\xfc], tests/test_shop.py::test_odd[a b], tests/test_shop.py::test_odd[x::y], tests/test_shop.py::test_total
    ");
    assert_snapshot!(read_pytest("fail", 1), @r#"
    Failed: 7 passed, 4 failed, 1 skipped
    passed: tests/test_shop.py::test_discount[10-0-10], tests/test_shop.py::test_odd[-k], tests/test_shop.py::test_odd[[z]], tests/test_shop.py::test_odd[\xfc], tests/test_shop.py::test_odd[a b], tests/test_shop.py::test_odd[x::y], tests/test_shop.py::test_total
    tests/test_shop.py::test_discount[100-10-90] at tests/test_shop.py:11: assert 110.0 == 90
    tests/test_shop.py::test_discount[200-50-100] at tests/test_shop.py:11: assert 300.0 == 100
    tests/test_shop.py::TestBasket::test_empty at tests/test_shop.py:32: assert None == 0
    tests/test_shop.py::TestBasket::test_setup at tests/test_shop.py:36: failed on setup with "RuntimeError: no fixture"
    "#);
    assert_snapshot!(read_pytest("collection_error", 2), @"
    DidNotCollect: 0 passed, 2 failed, 0 skipped
    tests/test_bad.py at /tmp/fx/py/tests/test_bad.py:1: /root/.pyenv/versions/3.11.7/lib/python3.11/site-packages/_pytest/python.py:528: in importtestmodule
    tests/test_bad2.py at tests/test_bad2.py:1: ImportError while importing test module '/tmp/fx/py/tests/test_bad2.py'.
    ");
    assert_snapshot!(read_pytest("nothing_ran", 5), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn a_script_that_runs_pytest_twice() {
    let text = |name: &str| String::from_utf8(fixture(name)).unwrap();
    let (pass, fail) = (text("pytest/pass.txt"), text("pytest/fail.txt"));
    let counts = |text: &str| {
        let run = read(Framework::Pytest, &exited(1, text.as_bytes()));
        (run.passed, run.failed, run.skipped)
    };
    assert_eq!(counts(&format!("{pass}{fail}")), (18, 4, 2));
    assert_eq!(counts(&format!("{fail}{fail}")), (14, 8, 2));
    // A test of a plugin repeats the output of the session that it ran.
    let heading = "=== test session starts ===\n";
    assert_eq!(
        counts(&format!("{heading}{pass}=== 1 failed, 2 passed in 0.10s ===\n")),
        (2, 1, 0)
    );
    // The first was killed.
    assert_eq!(counts(&format!("{heading}{pass}")), (11, 0, 1));
}

#[test]
fn pytest_text() {
    assert_snapshot!(read_file(Framework::Pytest, "pytest/pass.txt", 0), @"Passed: 11 passed, 0 failed, 1 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/fail.txt", 1), @"
    Failed: 7 passed, 4 failed, 1 skipped
    tests/test_shop.py::test_discount[100-10-90] at tests/test_shop.py:11: price = 100, percent = 10, expected = 90
    tests/test_shop.py::test_discount[200-50-100] at tests/test_shop.py:11: price = 200, percent = 50, expected = 100
    tests/test_shop.py::TestBasket::test_empty at tests/test_shop.py:32: self = <test_shop.TestBasket object at 0x7fa630f8f890>
    tests/test_shop.py::TestBasket::test_setup at tests/test_shop.py:36: self = <test_shop.TestBasket object at 0x7fa630f8fe90>
    ");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/collection_error.txt", 2), @"
    DidNotCollect: 0 passed, 2 failed, 0 skipped
    tests/test_bad.py at /tmp/fx/py/tests/test_bad.py:1: /root/.pyenv/versions/3.11.7/lib/python3.11/site-packages/_pytest/python.py:528: in importtestmodule
    tests/test_bad2.py at tests/test_bad2.py:1: ImportError while importing test module '/tmp/fx/py/tests/test_bad2.py'.
    ");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/nothing_ran.txt", 5), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/conftest_error.txt", 4), @"
    MissingModule: 0 passed, 1 failed, 0 skipped
    tests/conftest.py at tests/conftest.py:1: ImportError while loading conftest '/tmp/fx/py/tests/conftest.py'.
    ");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/not_found.txt", 4), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/missing_file.txt", 4), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Pytest, "pytest/usage_error.txt", 4), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    let crash = output(sandbox::Outcome::Signalled(11), &fixture("pytest/crash.txt"));
    assert_snapshot!(show(&read(Framework::Pytest, &crash)), @"
    Crashed: 0 passed, 1 failed, 0 skipped
    tests/test_z.py at /tmp/fx/py/tests/test_z.py:3: Fatal Python error: Segmentation fault
    ");
    // The search finds out which test it was.
    assert_snapshot!(read_file(Framework::Pytest, "pytest/exit.txt", 0), @"Crashed: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn unittest() {
    assert_snapshot!(read_file(Framework::Unittest, "unittest/pass.txt", 0), @"
    Passed: 5 passed, 0 failed, 1 skipped
    passed: tests.test_calc.TestAdd.test_doc, tests.test_calc.TestAdd.test_error, tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints, tests.test_calc.TestAdd.test_small
    ");
    assert_snapshot!(read_file(Framework::Unittest, "unittest/fail.txt", 1), @"
    Failed: 2 passed, 3 failed, 1 skipped
    passed: tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints
    tests.test_calc.TestAdd.test_error at /tmp/fx/ut/tests/test_calc.py:24: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_doc at /tmp/fx/ut/tests/test_calc.py:9: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_small at /tmp/fx/ut/tests/test_calc.py:6: Traceback (most recent call last):
    ");
    assert_snapshot!(read_file(Framework::Unittest, "unittest/collection_error.txt", 1), @"
    MissingModule: 2 passed, 4 failed, 1 skipped
    passed: tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints
    tests.test_bad at /tmp/fx/ut/tests/test_bad.py:1: ImportError: Failed to import test module: tests.test_bad
    tests.test_calc.TestAdd.test_error at /tmp/fx/ut/tests/test_calc.py:24: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_doc at /tmp/fx/ut/tests/test_calc.py:9: Traceback (most recent call last):
    tests.test_calc.TestAdd.test_small at /tmp/fx/ut/tests/test_calc.py:6: Traceback (most recent call last):
    ");
    assert_snapshot!(read_file(Framework::Unittest, "unittest/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    let crash = output(sandbox::Outcome::Signalled(6), &fixture("unittest/crash.txt"));
    assert_snapshot!(show(&read(Framework::Unittest, &crash)), @"
    Crashed: 2 passed, 1 failed, 1 skipped
    passed: tests.test_calc.TestAdd.test_many, tests.test_calc.TestAdd.test_prints
    tests.test_z.T.test_dies at -: the test process ended early
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one recorded output after the other")]
fn pytest_kinds() {
    assert_snapshot!(whole_pytest("kinds", 1), @r#"
    Failed: 7 passed, 10 failed, 2 skipped
    passed: tests/test_kinds.py::test_passes, tests/test_kinds.py::test_words[-k], tests/test_kinds.py::test_words[\xfc], tests/test_kinds.py::test_words[a b], tests/test_kinds.py::test_words[x[y]], tests/test_kinds.py::test_xpasses
    tests/test_kinds.py::test_fails at tests/test_kinds.py:16: assert 4 == 5
    tests/test_kinds.py::test_text_fails at tests/test_kinds.py:20: AssertionError: assert 'red\nblue' == 'red\ngreen'
    tests/test_kinds.py::test_xpasses_strictly at tests/test_kinds.py:33: [XPASS(strict)] known
    tests/test_kinds.py::test_setup at tests/test_kinds.py:49: failed on setup with "RuntimeError: no fixture"
    tests/test_kinds.py::test_teardown at tests/test_kinds.py:55: failed on teardown with "RuntimeError: not cleaned up"
    tests/test_kinds.py::test_both at tests/test_kinds.py:67: assert 1 == 2
    tests/test_kinds.py::test_both at tests/test_kinds.py:55: failed on teardown with "RuntimeError: not cleaned up"
    tests/test_kinds.py::TestOld::test_equal at tests/test_kinds.py:72: AssertionError: 2 != 3
    tests/test_kinds.py::test_words[a/b::c] at tests/test_kinds.py:82: AssertionError: assert 6 < 6
    tests/test_kinds.py::test_raises at tests/test_kinds.py:86: ValueError: two
    failed as expected: 2
    skipped: tests/test_kinds.py::test_skipped, tests/test_kinds.py::test_skips_itself
    tests/test_kinds.py::test_fails: "5", not "4"
    tests/test_kinds.py::test_text_fails: "'red\\ngreen'", not "'red\\nblue'"
    tests/test_kinds.py::test_both: "2", not "1"
    tests/test_kinds.py::TestOld::test_equal: "3", not "2"
    {"deselected": 1, "errors": 3, "failed": 7, "passed": 6, "skipped": 2, "xfailed": 2, "xpassed": 1}
    "#);
    assert_snapshot!(whole_pytest("kinds_short", 1), @r#"
    Failed: 7 passed, 10 failed, 2 skipped
    passed: tests/test_kinds.py::test_passes, tests/test_kinds.py::test_words[-k], tests/test_kinds.py::test_words[\xfc], tests/test_kinds.py::test_words[a b], tests/test_kinds.py::test_words[x[y]], tests/test_kinds.py::test_xpasses
    tests/test_kinds.py::test_text_fails at tests/test_kinds.py:20: AssertionError: assert 'red\nblue' == 'red\ngreen'
    tests/test_kinds.py::test_fails at tests/test_kinds.py:16: assert 4 == 5
    tests/test_kinds.py::test_xpasses_strictly at tests/test_kinds.py:33: [XPASS(strict)] known
    tests/test_kinds.py::test_setup at tests/test_kinds.py:49: failed on setup with "RuntimeError: no fixture"
    tests/test_kinds.py::test_teardown at tests/test_kinds.py:55: failed on teardown with "RuntimeError: not cleaned up"
    tests/test_kinds.py::TestOld::test_equal at tests/test_kinds.py:72: AssertionError: 2 != 3
    tests/test_kinds.py::test_both at tests/test_kinds.py:67: assert 1 == 2
    tests/test_kinds.py::test_both at tests/test_kinds.py:55: failed on teardown with "RuntimeError: not cleaned up"
    tests/test_kinds.py::test_raises at tests/test_kinds.py:86: ValueError: two
    tests/test_kinds.py::test_words[a/b::c] at tests/test_kinds.py:82: AssertionError: assert 6 < 6
    failed as expected: 2
    skipped: tests/test_kinds.py::test_skipped, tests/test_kinds.py::test_skips_itself
    tests/test_kinds.py::test_text_fails: "'red\\ngreen'", not "'red\\nblue'"
    tests/test_kinds.py::test_fails: "5", not "4"
    tests/test_kinds.py::TestOld::test_equal: "3", not "2"
    tests/test_kinds.py::test_both: "2", not "1"
    {"errors": 3, "failed": 7, "passed": 6, "skipped": 2, "xfailed": 2, "xpassed": 1}
    "#);
    assert_snapshot!(whole(Framework::Pytest, "pytest/kinds.txt", 1), @r#"
    Failed: 7 passed, 10 failed, 2 skipped
    tests/test_kinds.py::test_fails at tests/test_kinds.py:16:     def test_fails():
    tests/test_kinds.py::test_text_fails at tests/test_kinds.py:20:     def test_text_fails():
    tests/test_kinds.py::test_xpasses_strictly at -: [XPASS(strict)] known
    tests/test_kinds.py::test_both at tests/test_kinds.py:55:     @pytest.fixture
    tests/test_kinds.py::TestOld::test_equal at tests/test_kinds.py:72: self = <test_kinds.TestOld testMethod=test_equal>
    tests/test_kinds.py::test_words[a/b::c] at -: AssertionError: assert 6 < 6
    tests/test_kinds.py::test_raises at tests/test_kinds.py:86:     def test_raises():
    tests/test_kinds.py::test_setup at tests/test_kinds.py:49:     @pytest.fixture
    tests/test_kinds.py::test_teardown at tests/test_kinds.py:55:     @pytest.fixture
    tests/test_kinds.py::test_both at tests/test_kinds.py:55:     @pytest.fixture
    failed as expected: 2
    tests/test_kinds.py::test_fails: "5", not "4"
    tests/test_kinds.py::test_text_fails: "'red\\ngreen'", not "'red\\nblue'"
    tests/test_kinds.py::test_both: "2", not "1"
    tests/test_kinds.py::TestOld::test_equal: "3", not "2"
    {"deselected": 1, "errors": 3, "failed": 7, "passed": 6, "skipped": 2, "xfailed": 2, "xpassed": 1}
    "#);
    assert_snapshot!(whole_pytest("subtests", 1), @r#"
    Failed: 2 passed, 4 failed, 0 skipped
    passed: tests/test_sub.py::test_sub_passes
    tests/test_sub.py::test_subtests at tests/test_sub.py:7: contains 2 failed subtests
    tests/test_sub.py::TestOld::test_many at tests/test_sub.py:20: AssertionError: 1 == 1
    {"failed": 4, "passed": 2}
    "#);
    assert_snapshot!(whole_pytest("rerun", 1), @r#"
    Failed: 1 passed, 1 failed, 0 skipped
    passed: tests/test_rerun.py::test_flaky
    tests/test_rerun.py::test_red at tests/test_rerun.py:10: assert 1 == 2
    tests/test_rerun.py::test_red: "2", not "1"
    {"failed": 1, "passed": 1, "rerun": 4}
    "#);
    assert_snapshot!(whole_pytest("doctest", 1), @r#"
    Failed: 1 passed, 2 failed, 0 skipped
    passed: pkg/deep/mod.py::pkg.deep.mod.two
    README.rst::README.rst at /tmp/rustpy/rec/doct/README.rst:3: 001 Text
    pkg/deep/mod.py::pkg.deep.mod.one at /tmp/rustpy/rec/doct/pkg/deep/mod.py:4: 002 One.
    README.rst::README.rst: "3", not "2"
    pkg/deep/mod.py::pkg.deep.mod.one: "1", not "2"
    {"failed": 2, "passed": 1}
    "#);
    assert_snapshot!(whole_pytest("stopped", 1), @r#"
    Failed: 0 passed, 1 failed, 0 skipped
    tests/test_x.py::test_a at tests/test_x.py:2: assert 0
    {"failed": 1}
    "#);
}

#[test]
fn pytest_outside_of_tests() {
    assert_snapshot!(whole_pytest("missing_module", 2), @r#"
    MissingModule: 0 passed, 1 failed, 0 skipped
    tests/test_miss.py at tests/test_miss.py:1: ImportError while importing test module '/tmp/rustpy/rec/miss/tests/test_miss.py'.
    {"errors": 1}
    "#);
    assert_snapshot!(whole(Framework::Pytest, "pytest/missing_module.txt", 2), @r#"
    MissingModule: 0 passed, 1 failed, 0 skipped
    tests/test_miss.py at tests/test_miss.py:1: ImportError while importing test module '/tmp/rustpy/rec/miss/tests/test_miss.py'.
    {"errors": 1}
    "#);
    assert_snapshot!(whole(Framework::Pytest, "pytest/conftest_missing_module.txt", 4), @"
    MissingModule: 0 passed, 1 failed, 0 skipped
    tests/conftest.py at tests/conftest.py:1: ImportError while loading conftest '/tmp/rustpy/rec/missconf/tests/conftest.py'.
    ");
    assert_snapshot!(whole(Framework::Pytest, "pytest/internal_error.txt", 3), @"
    DidNotCollect: 0 passed, 1 failed, 0 skipped
    pytest at /tmp/rustpy/rec/hook/conftest.py:2: Traceback (most recent call last):
    ");
}

#[test]
fn pytest_processes_that_end() {
    assert_snapshot!(whole_pytest("worker_crash", 1), @r#"
    Crashed: 2 passed, 1 failed, 0 skipped
    passed: tests/test_die.py::test_a, tests/test_die.py::test_z
    tests/test_die.py::test_dies at -: failed on setup with "worker 'gw1' crashed while running 'tests/test_die.py::test_dies'"
    {"failed": 1, "passed": 2}
    "#);
    assert_snapshot!(whole_pytest("timeout", 1), @r#"
    Failed: 1 passed, 1 failed, 0 skipped
    passed: tests/test_slow.py::test_a
    tests/test_slow.py::test_hangs at tests/test_slow.py:9: Failed: Timeout (>1.0s) from pytest-timeout.
    {"failed": 1, "passed": 1}
    "#);
    assert_snapshot!(whole(Framework::Pytest, "pytest/timeout_thread.txt", 1), @"
    Crashed: 0 passed, 1 failed, 0 skipped
    tests/test_slow.py at /tmp/rustpy/rec/slow/tests/test_slow.py:9: ++ Timeout ++++++++++++++++++++++++++++++++++++
    ");
    assert_snapshot!(show_whole(&read(Framework::Pytest, &output(sandbox::Outcome::Signalled(6), &fixture("pytest/abort.txt")))), @"
    Crashed: 0 passed, 1 failed, 0 skipped
    tests/test_die.py at /tmp/rustpy/rec/die/tests/test_die.py:8: Fatal Python error: Aborted
    ");
}

#[test]
fn unittest_kinds() {
    assert_snapshot!(whole(Framework::Unittest, "unittest/kinds.txt", 1), @r#"
    Failed: 2 passed, 7 failed, 3 skipped
    passed: tests.test_kinds.TestKinds.test_passes, tests.test_kinds.TestKinds.test_prints
    tests.test_kinds.TestKinds.test_raises at /tmp/rustpy/rec/ut/tests/test_kinds.py:19: Traceback (most recent call last):
    tests.test_kinds.TestSetUp at /tmp/rustpy/rec/ut/tests/test_kinds.py:48: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_fails at /tmp/rustpy/rec/ut/tests/test_kinds.py:10: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_many at /tmp/rustpy/rec/ut/tests/test_kinds.py:36: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_text at /tmp/rustpy/rec/ut/tests/test_kinds.py:13: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_unexpected at -: unexpected success
    failed as expected: 1
    skipped: tests.test_kinds.TestKinds.test_skipped, tests.test_kinds.TestSkipped.test_a
    tests.test_kinds.TestKinds.test_fails: "3", not "2"
    tests.test_kinds.TestKinds.test_many: "0", not "1"
    tests.test_kinds.TestKinds.test_text: "'red\\ngreen'", not "'red\\nblue'"
    {"errors": 2, "expected failures": 1, "failures": 4, "run": 11, "skipped": 3, "unexpected successes": 1}
    "#);
    assert_snapshot!(whole(Framework::Unittest, "unittest/kinds_313.txt", 1), @r#"
    Failed: 2 passed, 7 failed, 3 skipped
    passed: tests.test_kinds.TestKinds.test_passes, tests.test_kinds.TestKinds.test_prints
    tests.test_kinds.TestKinds.test_raises at /tmp/rustpy/rec/ut/tests/test_kinds.py:19: Traceback (most recent call last):
    tests.test_kinds.TestSetUp at /tmp/rustpy/rec/ut/tests/test_kinds.py:48: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_fails at /tmp/rustpy/rec/ut/tests/test_kinds.py:10: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_many at /tmp/rustpy/rec/ut/tests/test_kinds.py:36: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_text at /tmp/rustpy/rec/ut/tests/test_kinds.py:13: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_unexpected at -: unexpected success
    failed as expected: 1
    skipped: tests.test_kinds.TestKinds.test_skipped, tests.test_kinds.TestSkipped.test_a
    tests.test_kinds.TestKinds.test_fails: "3", not "2"
    tests.test_kinds.TestKinds.test_many: "0", not "1"
    tests.test_kinds.TestKinds.test_text: "'red\\ngreen'", not "'red\\nblue'"
    {"errors": 2, "expected failures": 1, "failures": 4, "run": 11, "skipped": 3, "unexpected successes": 1}
    "#);
    assert_snapshot!(whole(Framework::Unittest, "unittest/kinds_39.txt", 1), @r#"
    Failed: 2 passed, 7 failed, 3 skipped
    passed: tests.test_kinds.TestKinds.test_passes, tests.test_kinds.TestKinds.test_prints
    tests.test_kinds.TestKinds.test_raises at /tmp/rustpy/rec/ut/tests/test_kinds.py:19: Traceback (most recent call last):
    tests.test_kinds.TestSetUp at /tmp/rustpy/rec/ut/tests/test_kinds.py:48: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_fails at /tmp/rustpy/rec/ut/tests/test_kinds.py:10: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_many at /tmp/rustpy/rec/ut/tests/test_kinds.py:36: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_text at /tmp/rustpy/rec/ut/tests/test_kinds.py:13: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_unexpected at -: unexpected success
    failed as expected: 1
    skipped: tests.test_kinds.TestKinds.test_skipped, tests.test_kinds.TestKinds.test_some_skipped, tests.test_kinds.TestSkipped.test_a
    tests.test_kinds.TestKinds.test_fails: "3", not "2"
    tests.test_kinds.TestKinds.test_many: "0", not "1"
    tests.test_kinds.TestKinds.test_text: "'red\\ngreen'", not "'red\\nblue'"
    {"errors": 2, "expected failures": 1, "failures": 4, "run": 11, "skipped": 3, "unexpected successes": 1}
    "#);
    assert_snapshot!(whole(Framework::Unittest, "unittest/kinds_quiet.txt", 1), @r#"
    Failed: 0 passed, 7 failed, 3 skipped
    tests.test_kinds.TestKinds.test_raises at /tmp/rustpy/rec/ut/tests/test_kinds.py:19: Traceback (most recent call last):
    tests.test_kinds.TestSetUp at /tmp/rustpy/rec/ut/tests/test_kinds.py:48: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_fails at /tmp/rustpy/rec/ut/tests/test_kinds.py:10: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_many at /tmp/rustpy/rec/ut/tests/test_kinds.py:36: Traceback (most recent call last):
    tests.test_kinds.TestKinds.test_text at /tmp/rustpy/rec/ut/tests/test_kinds.py:13: Traceback (most recent call last):
    failed as expected: 1
    tests.test_kinds.TestKinds.test_fails: "3", not "2"
    tests.test_kinds.TestKinds.test_many: "0", not "1"
    tests.test_kinds.TestKinds.test_text: "'red\\ngreen'", not "'red\\nblue'"
    {"errors": 2, "expected failures": 1, "failures": 4, "run": 11, "skipped": 3, "unexpected successes": 1}
    "#);
    assert_snapshot!(whole(Framework::Unittest, "unittest/missing_module.txt", 1), @r#"
    MissingModule: 1 passed, 1 failed, 0 skipped
    passed: tests.test_ok.T.test_a
    tests.test_miss at /tmp/rustpy/rec/utbad/tests/test_miss.py:1: ImportError: Failed to import test module: tests.test_miss
    {"errors": 1, "run": 2}
    "#);
    assert_snapshot!(whole(Framework::Unittest, "unittest/missing_by_name.txt", 1), @r#"
    MissingModule: 1 passed, 1 failed, 0 skipped
    passed: tests.test_ok.T.test_a
    test_nothing at -: ImportError: Failed to import test module: test_nothing
    {"errors": 1, "run": 2}
    "#);
    assert_snapshot!(whole(Framework::Unittest, "unittest/nothing_ran_313.txt", 5), @r#"
    NothingRan: 0 passed, 0 failed, 0 skipped
    {"run": 0}
    "#);
}

#[test]
fn what_a_unittest_prints_is_no_result() {
    assert_snapshot!(whole(Framework::Unittest, "unittest/prints.txt", 1), @r#"
    Failed: 1 passed, 1 failed, 0 skipped
    passed: tests.test_prints.TestPrints.test_passes
    tests.test_prints.TestPrints.test_imitates at /tmp/w/up/tests/test_prints.py:10: Traceback (most recent call last):
    tests.test_prints.TestPrints.test_imitates: "2", not "1"
    {"failures": 1, "run": 2}
    "#);
}

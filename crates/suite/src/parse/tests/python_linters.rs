//! Ruff and mypy.

use super::*;

#[test]
fn ruff() {
    assert_snapshot!(whole(Framework::Ruff, "ruff/full.txt", 1), @r#"
    Flagged: 0 passed, 6 failed, 0 skipped
    bad.py: F401 `os` imported but unused at bad.py:1: F401 `os` imported but unused
    bad.py: F401 `sys` imported but unused at bad.py:2: F401 `sys` imported but unused
    bad.py: F821 Undefined name `undefined` at bad.py:11: F821 Undefined name `undefined`
    other.py: F401 `yaml_is_missing` imported but unused at other.py:1: F401 `yaml_is_missing` imported but unused
    syntax.py: invalid-syntax Expected a parameter or the end of the parameter list at syntax.py:1: invalid-syntax Expected a parameter or the end of the parameter list
    syntax.py: invalid-syntax unexpected EOF while parsing at syntax.py:1: invalid-syntax unexpected EOF while parsing
    {"errors": 6}
    "#);
    assert_snapshot!(whole(Framework::Ruff, "ruff/concise.txt", 1), @r#"
    Flagged: 0 passed, 6 failed, 0 skipped
    bad.py: F401 `os` imported but unused at bad.py:1: F401 `os` imported but unused
    bad.py: F401 `sys` imported but unused at bad.py:2: F401 `sys` imported but unused
    bad.py: F821 Undefined name `undefined` at bad.py:11: F821 Undefined name `undefined`
    other.py: F401 `yaml_is_missing` imported but unused at other.py:1: F401 `yaml_is_missing` imported but unused
    syntax.py: invalid-syntax Expected a parameter or the end of the parameter list at syntax.py:1: invalid-syntax Expected a parameter or the end of the parameter list
    syntax.py: invalid-syntax unexpected EOF while parsing at syntax.py:2: invalid-syntax unexpected EOF while parsing
    {"errors": 6}
    "#);
    assert_snapshot!(whole(Framework::Ruff, "ruff/github.txt", 1), @r#"
    Flagged: 0 passed, 6 failed, 0 skipped
    /tmp/rustpy/rec/lint/bad.py: F401 `os` imported but unused at /tmp/rustpy/rec/lint/bad.py:1: F401 `os` imported but unused
    /tmp/rustpy/rec/lint/bad.py: F401 `sys` imported but unused at /tmp/rustpy/rec/lint/bad.py:2: F401 `sys` imported but unused
    /tmp/rustpy/rec/lint/bad.py: F821 Undefined name `undefined` at /tmp/rustpy/rec/lint/bad.py:11: F821 Undefined name `undefined`
    /tmp/rustpy/rec/lint/other.py: F401 `yaml_is_missing` imported but unused at /tmp/rustpy/rec/lint/other.py:1: F401 `yaml_is_missing` imported but unused
    /tmp/rustpy/rec/lint/syntax.py: invalid-syntax Expected a parameter or the end of the parameter list at /tmp/rustpy/rec/lint/syntax.py:1: invalid-syntax Expected a parameter or the end of the parameter list
    /tmp/rustpy/rec/lint/syntax.py: invalid-syntax unexpected EOF while parsing at /tmp/rustpy/rec/lint/syntax.py:2: invalid-syntax unexpected EOF while parsing
    {"errors": 6}
    "#);
    assert_snapshot!(whole(Framework::Ruff, "ruff/fail.json", 1), @r#"
    Flagged: 0 passed, 6 failed, 0 skipped
    /tmp/rustpy/rec/lint/bad.py: F401 `os` imported but unused at /tmp/rustpy/rec/lint/bad.py:1: F401 `os` imported but unused
    /tmp/rustpy/rec/lint/bad.py: F401 `sys` imported but unused at /tmp/rustpy/rec/lint/bad.py:2: F401 `sys` imported but unused
    /tmp/rustpy/rec/lint/bad.py: F821 Undefined name `undefined` at /tmp/rustpy/rec/lint/bad.py:11: F821 Undefined name `undefined`
    /tmp/rustpy/rec/lint/other.py: F401 `yaml_is_missing` imported but unused at /tmp/rustpy/rec/lint/other.py:1: F401 `yaml_is_missing` imported but unused
    /tmp/rustpy/rec/lint/syntax.py: invalid-syntax Expected a parameter or the end of the parameter list at /tmp/rustpy/rec/lint/syntax.py:1: invalid-syntax Expected a parameter or the end of the parameter list
    /tmp/rustpy/rec/lint/syntax.py: invalid-syntax unexpected EOF while parsing at /tmp/rustpy/rec/lint/syntax.py:2: invalid-syntax unexpected EOF while parsing
    {"errors": 6}
    "#);
    assert_snapshot!(whole(Framework::Ruff, "ruff/format.txt", 2), @r#"
    Flagged: 0 passed, 1 failed, 0 skipped
    syntax.py: invalid-syntax Expected a parameter or the end of the parameter list at syntax.py:1: invalid-syntax Expected a parameter or the end of the parameter list
    {"errors": 1}
    "#);
    assert_snapshot!(whole(Framework::Ruff, "ruff/pass.txt", 0), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    ");
    // It checked nothing, which says nothing about the code.
    let run = read(Framework::Ruff, &exited(2, &fixture("ruff/usage.txt")));
    assert_snapshot!(show_whole(&run), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    assert!(
        run.tail
            .starts_with("error: invalid value 'nope.toml' for '--config <CONFIG_OPTION>'")
    );
    let bug = b"error: Ruff crashed. If you could open an issue\nthread 'main' panicked at src/x.rs:1:2\n";
    assert_snapshot!(show_whole(&read(Framework::Ruff, &exited(2, bug))), @"
    Crashed: 0 passed, 1 failed, 0 skipped
    the test command at -: error: Ruff crashed. If you could open an issue
    ");
}

#[test]
fn mypy() {
    assert_snapshot!(whole(Framework::Mypy, "mypy/fail.txt", 1), @r#"
    Flagged: 0 passed, 5 failed, 0 skipped
    other.py: Cannot find implementation or library stub for module named "yaml_is_missing"  [import-not-found] at other.py:1: Cannot find implementation or library stub for module named "yaml_is_missing"  [import-not-found]
    other.py: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment] at other.py:3: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]
    bad.py: Incompatible types in assignment (expression has type "int", variable has type "str")  [assignment] at bad.py:9: Incompatible types in assignment (expression has type "int", variable has type "str")  [assignment]
    bad.py: Argument 2 to "add" has incompatible type "str"; expected "int"  [arg-type] at bad.py:9: Argument 2 to "add" has incompatible type "str"; expected "int"  [arg-type]
    bad.py: Name "undefined" is not defined  [name-defined] at bad.py:11: Name "undefined" is not defined  [name-defined]
    {"errors": 5}
    "#);
    assert_snapshot!(whole(Framework::Mypy, "mypy/pretty.txt", 1), @r#"
    Flagged: 0 passed, 3 failed, 0 skipped
    bad.py: Incompatible types in assignment (expression has type "int", variable has type "str")  [assignment] at bad.py:9: Incompatible types in assignment (expression has type "int", variable has type "str")  [assignment]
    bad.py: Argument 2 to "add" has incompatible type "str"; expected "int"  [arg-type] at bad.py:9: Argument 2 to "add" has incompatible type "str"; expected "int"  [arg-type]
    bad.py: Name "undefined" is not defined  [name-defined] at bad.py:11: Name "undefined" is not defined  [name-defined]
    {"errors": 3}
    "#);
    assert_snapshot!(whole(Framework::Mypy, "mypy/fail.json", 1), @r#"
    Flagged: 0 passed, 5 failed, 0 skipped
    other.py: Cannot find implementation or library stub for module named "yaml_is_missing"  [import-not-found] at other.py:1: Cannot find implementation or library stub for module named "yaml_is_missing"  [import-not-found]
    other.py: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment] at other.py:3: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]
    bad.py: Incompatible types in assignment (expression has type "int", variable has type "str")  [assignment] at bad.py:9: Incompatible types in assignment (expression has type "int", variable has type "str")  [assignment]
    bad.py: Argument 2 to "add" has incompatible type "str"; expected "int"  [arg-type] at bad.py:9: Argument 2 to "add" has incompatible type "str"; expected "int"  [arg-type]
    bad.py: Name "undefined" is not defined  [name-defined] at bad.py:11: Name "undefined" is not defined  [name-defined]
    {"errors": 5}
    "#);
    assert_snapshot!(whole(Framework::Mypy, "mypy/syntax.txt", 2), @r#"
    Flagged: 0 passed, 2 failed, 0 skipped
    syntax.py: Expected a parameter or the end of the parameter list  [syntax] at syntax.py:1: Expected a parameter or the end of the parameter list  [syntax]
    syntax.py: Unexpected EOF while parsing  [syntax] at syntax.py:2: Unexpected EOF while parsing  [syntax]
    {"errors": 2}
    "#);
    assert_snapshot!(whole(Framework::Mypy, "mypy/pass.txt", 0), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    ");
    assert_snapshot!(whole(Framework::Mypy, "mypy/pass.json", 0), @"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    ");
    assert_snapshot!(whole(Framework::Mypy, "mypy/no_file.txt", 2), @r#"
    Flagged: 0 passed, 1 failed, 0 skipped
    nothing.py: Cannot read file: No such file or directory at -: Cannot read file: No such file or directory
    {"errors": 1}
    "#);
}

//! C, C++, .NET and TAP.

use super::*;

#[test]
fn ctest() {
    assert_snapshot!(read_case(Framework::Ctest, "ctest/pass", 0, None), @r##"
    Passed: 4 passed, 0 failed, 2 skipped
    passed: adds, basket/odd name (a|b) 100%, must_fail, regex
    skipped: off, skipped
    summary_counts: {"failed": 0, "total": 5}
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/pass", 0, Some("xml")), @r##"
    Passed: 4 passed, 0 failed, 2 skipped
    passed: adds, basket/odd name (a|b) 100%, must_fail, regex
    skipped: off, skipped
    summary_counts: {"failed": 0, "total": 5}
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/fail", 8, None), @r##"
    Failed: 2 passed, 6 failed, 2 skipped
    passed: basket/odd name (a|b) 100%, must_fail
    adds at /tmp/others/rec/ctest/fail/t.c:12: Subprocess aborted
    segv at -: SEGFAULT
    aborts at -: Subprocess aborted
    hangs at -: Timeout
    missing at -: Not Run
    regex at /tmp/others/rec/ctest/fail/t.c:12: Subprocess aborted
    skipped: off, skipped
    summary_counts: {"failed": 6, "total": 9}
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/fail", 8, Some("xml")), @r##"
    Failed: 2 passed, 6 failed, 2 skipped
    passed: basket/odd name (a|b) 100%, must_fail
    adds at /tmp/others/rec/ctest/fail/t.c:12: Subprocess aborted
    segv at -: SEGFAULT
    aborts at -: Subprocess aborted
    hangs at -: Timeout
    missing at -: Not Run
    regex at /tmp/others/rec/ctest/fail/t.c:12: Subprocess aborted
    skipped: off, skipped
    summary_counts: {"failed": 6, "total": 9}
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/fail_quiet", 8, None), @r##"
    Failed: 2 passed, 6 failed, 2 skipped
    passed: basket/odd name (a|b) 100%, must_fail
    adds at -: Subprocess aborted
    segv at -: SEGFAULT
    aborts at -: Subprocess aborted
    hangs at -: Timeout
    missing at -: Not Run
    regex at -: Subprocess aborted
    skipped: off, skipped
    summary_counts: {"failed": 6, "total": 9}
    "##);
}

#[test]
fn ctest_without_results() {
    assert_snapshot!(read_case(Framework::Ctest, "ctest/none", 0, None), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Ctest, "ctest/none", 0, Some("xml")), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_case(Framework::Ctest, "ctest/not_built", 8, None), @r##"
    Failed: 0 passed, 5 failed, 1 skipped
    adds at -: Not Run
    basket/odd name (a|b) 100% at -: Not Run
    must_fail at -: Not Run
    skipped at -: Not Run
    regex at -: Not Run
    skipped: off
    summary_counts: {"failed": 5, "total": 5}
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/not_built", 8, Some("xml")), @r##"
    DidNotBuild: 0 passed, 5 failed, 1 skipped
    adds at -: Not Run
    basket/odd name (a|b) 100% at -: Not Run
    must_fail at -: Not Run
    skipped at -: Not Run
    regex at -: Not Run
    skipped: off
    summary_counts: {"failed": 5, "total": 5}
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/build", 2, None), @r##"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    expected ‘;’, ‘,’ or ‘)’ before ‘int’ at /tmp/others/rec/ctest/build/shop.c:3: /tmp/others/rec/ctest/build/shop.c: At top level:
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/link", 2, None), @r##"
    DidNotBuild: 0 passed, 2 failed, 0 skipped
    undefined reference to `add' at -: /usr/bin/ld: CMakeFiles/t.dir/t.c.o: in function `main':
    undefined reference to `add' at -: /usr/bin/ld: t.c:(.text+0x74): undefined reference to `add'
    "##);
    assert_snapshot!(read_case(Framework::Ctest, "ctest/conf", 1, None), @r##"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    By not providing "FindNoSuchThing.cmake" in CMAKE_MODULE_PATH this project at CMakeLists.txt:22: CMake Error at CMakeLists.txt:22 (find_package):
    "##);
}

#[test]
fn compiler() {
    assert_snapshot!(read_case(Framework::Compiler, "compiler/gcc", 2, None), @r##"
    Flagged: 0 passed, 5 failed, 0 skipped
    expected ‘;’, ‘,’ or ‘)’ before ‘int’ at shop.c:3: shop.c: At top level:
    cannot declare variable ‘a’ to be of abstract type ‘A’ at main2.cpp:4: main2.cpp: In function ‘int main()’:
    conversion from ‘double’ to non-scalar type ‘std::string’ {aka ‘std::__cxx11::basic_string<char>’} requested at main2.cpp:4: main2.cpp:4:47: error: conversion from ‘double’ to non-scalar type ‘std::string’ {aka ‘std::__cxx11::basic_string<char>’} requested
    request for member ‘size’ in ‘t’, which is of non-class type ‘int’ at tmpl.hpp:1: In file included from main2.cpp:2:
    ‘undeclared’ was not declared in this scope at main2.cpp:4: main2.cpp:4:68: error: ‘undeclared’ was not declared in this scope
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/clang", 2, None), @r##"
    Flagged: 0 passed, 6 failed, 0 skipped
    expected ')' at shop.c:3: shop.c:3:1: error: expected ')'
    expected function body after function declarator at shop.c:3: shop.c:3:40: error: expected function body after function declarator
    variable type 'A' is an abstract class at main2.cpp:4: main2.cpp:4:28: error: variable type 'A' is an abstract class
    no viable conversion from 'double' to 'std::string' (aka 'basic_string<char>') at main2.cpp:4: main2.cpp:4:43: error: no viable conversion from 'double' to 'std::string' (aka 'basic_string<char>')
    member reference base type 'int' is not a structure or union at ./tmpl.hpp:1: In file included from main2.cpp:2:
    use of undeclared identifier 'undeclared' at main2.cpp:4: main2.cpp:4:68: error: use of undeclared identifier 'undeclared'
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/gcc_missing", 1, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    gone.hpp: No such file or directory at main.cpp:2: main.cpp:2:10: fatal error: gone.hpp: No such file or directory
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/clang_missing", 1, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    'gone.hpp' file not found at main.cpp:2: main.cpp:2:10: fatal error: 'gone.hpp' file not found
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/link", 1, None), @r##"
    Flagged: 0 passed, 1 failed, 0 skipped
    undefined reference to `helper' at /tmp/others/rec/gcc/l2.c:1: /usr/bin/ld: /tmp/ccx6XehV.o: in function `sub':
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/link_plain", 1, None), @r##"
    Flagged: 0 passed, 1 failed, 0 skipped
    undefined reference to `helper' at -: /usr/bin/ld: /tmp/cchlmdGw.o: in function `sub':
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/link_library", 1, None), @r##"
    MissingModule: 0 passed, 1 failed, 0 skipped
    cannot find -lnope: No such file or directory at -: /usr/bin/ld: cannot find -lnope: No such file or directory
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/warning", 0, None), @r##"
    Passed: 1 passed, 0 failed, 0 skipped
    passed: the test command
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/werror", 1, None), @r##"
    Flagged: 0 passed, 1 failed, 0 skipped
    unused variable ‘x’ [-Werror=unused-variable] at w.c:1: w.c: In function ‘main’:
    "##);
    assert_snapshot!(read_case(Framework::Compiler, "compiler/javac", 1, None), @r##"
    Flagged: 0 passed, 3 failed, 0 skipped
    cannot find symbol at j/a/A.java:3: j/a/A.java:3: error: cannot find symbol
    incompatible types: int cannot be converted to String at j/a/A.java:4: j/a/A.java:4: error: incompatible types: int cannot be converted to String
    cannot find symbol at j/a/A.java:5: j/a/A.java:5: error: cannot find symbol
    "##);
}

#[test]
fn dotnet() {
    assert_snapshot!(read_case(Framework::Dotnet, "dotnet/fail", 1, None), @r##"
    Failed: 1 passed, 2 failed, 1 skipped
    Shop.Tests.ShopTests.Adds(a: 1, b: 2, sum: 3) at /workspace/Shop.Tests/ShopTests.cs:14:   Error Message:
    Raises at /workspace/Shop/Calc.cs:5:   Error Message:
    Shop.Tests.ShopTests.Adds(a: 1, b: 2, sum: 3): wanted "3", got "-1"
    summary_counts: {"Failed": 2, "Passed": 1, "Skipped": 1}
    "##);
    assert_snapshot!(read_case(Framework::Dotnet, "dotnet/fail", 1, Some("xml")), @r##"
    Failed: 1 passed, 2 failed, 1 skipped
    passed: Shop.Tests.ShopTests.Zero
    Shop.Tests.ShopTests.Adds(a: 1, b: 2, sum: 3) at /workspace/Shop.Tests/ShopTests.cs:14: Assert.Equal() Failure: Values differ
    Shop.Tests.ShopTests.Raises at /workspace/Shop/Calc.cs:5: Test method Shop.Tests.ShopTests.Raises threw exception:
    Shop.Tests.ShopTests.Adds(a: 1, b: 2, sum: 3): wanted "3", got "-1"
    skipped: Shop.Tests.ShopTests.LeftOut
    summary_counts: {"Failed": 2, "Passed": 1, "Skipped": 1}
    "##);
    assert_snapshot!(read_case(Framework::Dotnet, "dotnet/compile_error", 1, None), @r##"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    CS0103: The name 'c' does not exist in the current context at /workspace/Shop/Calc.cs:5: /workspace/Shop/Calc.cs(5,39): error CS0103: The name 'c' does not exist in the current context [/workspace/Shop/Shop.csproj]
    "##);
}

#[test]
fn tap() {
    assert_snapshot!(read_case(Framework::Tap, "tap/bats_fail", 1, None), @r##"
    Failed: 1 passed, 1 failed, 1 skipped
    passed: adds
    fails (a|b) # 100% at bats/a.bats:4: (in test file bats/a.bats, line 4)
    skipped: skips
    summary_counts: {"fail": 1, "pass": 1, "skip": 1}
    "##);
    assert_snapshot!(read_case(Framework::Tap, "tap/perl_fail", 2, None), @r##"
    Failed: 1 passed, 2 failed, 1 skipped
    passed: adds
    sums at a.t:1: Failed test 'sums'
    inner at a.t:1: Failed test 'inner'
    sums: wanted "'3'", got "'-1'"
    skipped: 3
    expected failures: 1
    summary_counts: {"fail": 2, "pass": 1, "skip": 1, "todo": 1}
    "##);
    assert_snapshot!(read_case(Framework::Tap, "tap/prove_fail", 1, None), @r##"
    Failed: 3 passed, 2 failed, 0 skipped
    a.t at -: a.t (Wstat: 512 (exited 2) Tests: 5 Failed: 2)
    "##);
}

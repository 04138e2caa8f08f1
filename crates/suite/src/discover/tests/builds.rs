//! Build systems that CI tests with: CMake, Meson, configure, Maven.

use super::lines_of_job;

/// The lines of the commands for a project whose only job has these lines.
fn lines(script: &[&str], files: &[(&str, &str)]) -> Vec<String> {
    let steps: Vec<String> = script.iter().map(|line| format!("{{run: '{line}'}}")).collect();
    lines_of_job(&format!("steps: [{}]", steps.join(", ")), files)
}

#[test]
fn of_two_build_systems_the_one_of_ci_counts() {
    let files = [
        ("CMakeLists.txt", "project(a)\nenable_testing()"),
        ("meson.build", "project('a')\ntest('a', exe)"),
    ];
    let meson = lines(&["meson setup build", "meson test -C build"], &files);
    assert!(meson[0].starts_with("meson setup .greenlight-build "), "{meson:?}");
    for ci in [
        &["cmake -S . -B build", "ctest --test-dir build"][..],
        &["make lint"],
        &["meson setup build", "meson test -C build", "ctest --test-dir other"],
    ] {
        let cmake = lines(ci, &files);
        assert!(cmake[0].starts_with("cmake -S . "), "{ci:?}: {cmake:?}");
    }
}

#[test]
fn builds_that_cannot_succeed_are_left_out() {
    let files = [
        ("configure.ac", ""),
        ("Makefile.am", ""),
        ("autogen.sh", ""),
        ("a.conf", ""),
    ];
    let ci = [
        "env CFLAGS=-g ./autogen.sh -s",
        "env CPPFLAGS=-DONE ./configure --one",
        "make out.so > /dev/null && cp out.so b.so && make clean",
        "cp a.conf b.conf",
        "env CPPFLAGS=-DTWO ./configure --two",
        "make check",
    ];
    assert_eq!(
        lines(&ci, &files)[0],
        "CFLAGS=-g ./autogen.sh -s && cp a.conf b.conf && CPPFLAGS=-DTWO ./configure --two && make check"
    );
    // What a job has downloaded is not here.
    let ci = ["cd libdown-1.0\n./configure", "./configure", "make check"].map(|line| line.replace('\n', " && "));
    let ci: Vec<&str> = ci.iter().map(String::as_str).collect();
    assert_eq!(lines(&ci, &files)[0], "./configure && make check");
    // Something may have built it.
    let ci = ["./configure", "make build", "cp out.so b.so", "make check"];
    assert_eq!(
        lines(&ci, &files)[0],
        "./configure && make build && cp out.so b.so && make check"
    );
}

#[test]
fn what_only_builds_the_tests_is_no_test() {
    let files = [("configure.ac", ""), ("Makefile.in", ""), ("configure", "")];
    let ci = ["autoconf", "./configure", "make -j3", "make tests", "make check"];
    assert_eq!(
        lines(&ci, &files)[0],
        "autoconf && ./configure && make -j3 && make check"
    );
    // Alone, it may be what runs them.
    assert_eq!(
        lines(&ci[..4], &files)[0],
        "autoconf && ./configure && make -j3 && make tests"
    );
    // A Makefile that is there says what it runs.
    let files = [
        ("Makefile", "tests:\n\tpytest\ncheck:\n\truff check\n"),
        ("test_a.py", "def test_a(): 0\n"),
    ];
    assert_eq!(lines(&["make tests", "make check"], &files)[0], "python3 -m pytest");
}

#[test]
fn a_program_that_cmake_builds_is_built_for_a_script_with_tests() {
    let files = [
        ("scripts/run-tests.py", "import sys\n"),
        ("CMakeLists.txt", "project(a)"),
    ];
    let ci = [
        "CFLAGS=-O1 cmake -DA=1 .",
        "make VERBOSE=1",
        "python3 scripts/run-tests.py",
    ];
    assert_eq!(
        lines(&ci, &files),
        ["CFLAGS=-O1 cmake -DA=1 . && make 'VERBOSE=1' && python3 scripts/run-tests.py"]
    );
    let ci = [
        "cmake --install build",
        "cmake -E echo a",
        "python3 scripts/run-tests.py",
    ];
    assert_eq!(lines(&ci, &files), ["python3 scripts/run-tests.py"]);
}

#[test]
fn maven_without_goals_runs_those_of_the_pom() {
    let pom = |goals: &str| format!("<project><build><defaultGoal>{goals}</defaultGoal></build></project>");
    let found = |goals: &str| {
        let lines = lines(&["mvn --show-version -B"], &[("pom.xml", &pom(goals))]);
        lines[0].clone()
    };
    assert_eq!(found("clean verify a:check"), "mvn --show-version -B clean verify");
    // None of them test, or they are no goals.
    for goals in ["site", "verify -Dexec=$(id)", "verify;id", ""] {
        assert_eq!(found(goals), "mvn -B test", "{goals}");
    }
    assert_eq!(lines(&["mvn -v"], &[("pom.xml", "<project/>")])[0], "mvn -B test");
    // What comes after the tests writes or publishes something.
    for (line, expected) in [
        ("mvn -B install site", "mvn -B install"),
        ("mvn clean verify deploy", "mvn clean verify"),
    ] {
        assert_eq!(lines(&[line], &[("pom.xml", "<project/>")]), [expected]);
    }
}

#[test]
fn folders_with_a_dot_are_no_modules() {
    let files = [("pom.xml", "<project/>"), (".teamcity/pom.xml", "<project/>")];
    assert_eq!(lines(&["mvn -B test"], &files), ["mvn -B test"]);
}

#[test]
fn programs_with_tests_run_as_in_ci_where_it_never_runs_ctest() {
    let files = [("test/CMakeLists.txt", "project(a)"), ("src/a.h", "")];
    let built = |options: &str, run: &str| {
        format!(
            "cd test && cmake -S . -B .greenlight-build{options} && cmake --build .greenlight-build --parallel 2 && {run}"
        )
    };
    let expected = built(" -DA=1", "cd .greenlight-build && ./tests -v");
    for ci in [
        &["cmake -S test -B test/build -DA=1", "cd test/build && ./tests -v"][..],
        &["cd test && cmake -B build -DA=1", "cd test/build && ./tests -v"],
        &[
            "cd test && mkdir build && cd build && cmake -DA=1 .. && make",
            "cd test/build && ./tests -v",
        ],
    ] {
        assert_eq!(lines(ci, &files), [expected.as_str()], "{ci:?}");
    }
    let bin = ["cmake -S test -B build", "cd test && ../build/bin/unit_tests"];
    assert_eq!(
        lines(&bin, &files),
        [built("", "cd . && .greenlight-build/bin/unit_tests")]
    );
    let below = ["cmake -S test -B build", "cd build/bin && ../tests"];
    assert_eq!(
        lines(&below, &files),
        [built("", "cd .greenlight-build/bin && ./../tests")]
    );
    // Elsewhere, or no test.
    for run in [
        "./tests",
        "other/tests",
        "build/demo",
        "/opt/tests",
        "build/../tests",
        "$BUILD/tests",
    ] {
        assert_eq!(lines(&["cmake -S test -B build", run], &files), [""; 0], "{run}");
    }
    // CTest knows all of them.
    let with_ctest = [("CMakeLists.txt", "project(a)\nenable_testing()")];
    assert_eq!(lines(&["cmake -B build", "build/tests"], &with_ctest).len(), 1);
}

#[test]
fn a_target_that_calls_make_again_runs_what_that_runs() {
    let makefile = "test:\n\tgo clean && $(MAKE) test-one && $(MAKE) -C sub test\ntest-one:\n\tgo test -race .\n\
                    again:\n\t$(MAKE) again\ntest-parts: test-one\n\tgo test -race ./b\n\tgo test ./c\n";
    let files = [
        ("go.mod", "module m\n"),
        ("a_test.go", "package m\n"),
        ("Makefile", makefile),
        ("sub/Makefile", "test:\n\t${MAKE} unit\nunit:\n\tgo test -short ./...\n"),
        ("sub/go.mod", "module s\n"),
        ("sub/b_test.go", "package s\n"),
    ];
    assert_eq!(
        lines(&["make test"], &files)[..2],
        ["go test -race .", "cd sub && go test -short ./..."]
    );
    assert_eq!(lines(&["make test-parts"], &files)[0], "go test -race . ./b");
    // One that calls itself ends.
    assert_eq!(lines(&["make again"], &files)[0], "go test ./...");
}

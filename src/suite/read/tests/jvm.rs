//! Java: Maven and Gradle.

use super::*;

#[test]
fn maven() {
    assert_snapshot!(read_file(Framework::Maven, "maven/pass.txt", 0), @"Passed: 4 passed, 0 failed, 1 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/fail.txt", 1), @r"
    Failed: 1 passed, 3 failed, 1 skipped
    com.example.ShopTest#breaks at com/example/ShopTest.java:10: java.lang.IllegalStateException: no sum
    com.example.ShopTest#adds at com/example/ShopTest.java:7: org.opentest4j.AssertionFailedError: expected: <3> but was: <-1>
    com.example.ShopTest$Inner#nested at com/example/ShopTest.java:13: org.opentest4j.AssertionFailedError: two and two ==> expected: <true> but was: <false>
    ");
    assert_snapshot!(read_file(Framework::Maven, "maven/compile_error.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    cannot find symbol at /tmp/fx/java/src/main/java/com/example/Shop.java:5: /tmp/fx/java/src/main/java/com/example/Shop.java:[5,20] cannot find symbol
    ");
    assert_snapshot!(read_file(Framework::Maven, "maven/crash.txt", 1), @"Crashed: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/missing_dependency.txt", 1), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

/// With every report of the folder of the same name.
fn read_maven(name: &str, code: i32) -> TestRun {
    let folder = format!("{}/tests/fixtures/outputs/maven/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut reports: Vec<Report> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            Report {
                path: path.display().to_string(),
                bytes: std::fs::read(path).unwrap(),
            }
        })
        .collect();
    reports.sort_by(|a, b| a.path.cmp(&b.path));
    let text = fixture(&format!("maven/{name}.txt"));
    super::super::read(Framework::Maven, &exited(code, &text), &reports)
}

#[test]
fn maven_reports() {
    assert_snapshot!(show(&read_maven("modules_pass", 0)), @"");
    let failed = read_maven("modules_fail", 1);
    assert_snapshot!(show(&failed), @"");
    let compared = failed
        .failures
        .iter()
        .filter_map(|failure| Some((failure.expected.as_deref()?, failure.actual.as_deref()?)));
    assert_snapshot!(format!("{:?}", compared.collect::<Vec<_>>()), @"");
    assert_snapshot!(format!("{:?}", failed.tally), @"");
    assert_snapshot!(show(&read_maven("flaky", 0)), @"");
}

#[test]
fn maven_that_ends_early() {
    assert_snapshot!(read_file(Framework::Maven, "maven/exit.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/memory.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/timeout.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/not_found.txt", 0), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/bad_pom.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/missing_package.txt", 1), @"");
}

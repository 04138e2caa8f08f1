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
    assert_snapshot!(show(&read_maven("modules_pass", 0)), @r"
    Passed: 14 passed, 0 failed, 5 skipped
    passed: com.example.NgTest#row[1](1), com.example.NgTest#row[2](2), com.example.OldTest#small[0], com.example.OldTest#small[1], com.example.ShopTest#adds, com.example.ShopTest#breaks, com.example.ShopTest#fluent, com.example.ShopTest#matches, com.example.ShopTest#stands, com.example.ShopTest#table(int, int)[1], com.example.ShopTest#table(int, int)[2], com.example.ShopTest#words(String)[1], com.example.ShopTest#words(String)[2], com.example.ShopTest$Inner#nested
    ");
    let failed = read_maven("modules_fail", 1);
    assert_snapshot!(show(&failed), @r"
    Failed: 5 passed, 9 failed, 5 skipped
    passed: com.example.NgTest#row[1](1), com.example.OldTest#small[0], com.example.ShopTest#stands, com.example.ShopTest#words(String)[1], com.example.ShopTest#words(String)[2]
    com.example.NgTest#row[2](2) at com/example/NgTest.java:10: java.lang.AssertionError: expected [1] but found [2]
    com.example.OldTest#small[1] at com/example/OldTest.java:15: java.lang.AssertionError: expected:<1> but was:<2>
    com.example.ShopTest#breaks at com/example/ShopTest.java:18: java.lang.IllegalStateException: no sum
    com.example.ShopTest#fluent at com/example/ShopTest.java:14: org.opentest4j.AssertionFailedError: 
    com.example.ShopTest#adds at com/example/ShopTest.java:13: org.opentest4j.AssertionFailedError: expected: <3> but was: <-1>
    com.example.ShopTest#table(int, int)[1] at com/example/ShopTest.java:19: org.opentest4j.AssertionFailedError: expected: <true> but was: <false>
    com.example.ShopTest#table(int, int)[2] at com/example/ShopTest.java:19: org.opentest4j.AssertionFailedError: expected: <true> but was: <false>
    com.example.ShopTest#matches at com/example/ShopTest.java:15: java.lang.AssertionError: 
    com.example.ShopTest$Inner#nested at com/example/ShopTest.java:21: org.opentest4j.AssertionFailedError: two and two ==> expected: <true> but was: <false>
    ");
    let compared = failed
        .failures
        .iter()
        .filter_map(|failure| Some((failure.expected.as_deref()?, failure.actual.as_deref()?)));
    assert_snapshot!(format!("{:?}", compared.collect::<Vec<_>>()), @r#"
    [("1", "2"), ("1", "2"), ("3", "-1"), ("3", "-1"), ("true", "false"), ("true", "false"), ("is <3>", "<-1>"), ("true", "false")]
    "#);
    assert_snapshot!(format!("{:?}", failed.tally), @r#"
    {"errors": 1, "failures": 8, "skipped": 5, "tests run": 19}
    "#);
    assert_snapshot!(show(&read_maven("flaky", 0)), @r"
    Passed: 10 passed, 0 failed, 1 skipped
    passed: com.example.ShopTest#adds, com.example.ShopTest#breaks, com.example.ShopTest#fluent, com.example.ShopTest#matches, com.example.ShopTest#stands, com.example.ShopTest#table(int, int)[1], com.example.ShopTest#table(int, int)[2], com.example.ShopTest#words(String)[1], com.example.ShopTest#words(String)[2], com.example.ShopTest$Inner#nested
    ");
}

#[test]
fn maven_that_ends_early() {
    assert_snapshot!(read_file(Framework::Maven, "maven/exit.txt", 1), @"Crashed: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/memory.txt", 1), @"OutOfMemory: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/timeout.txt", 1), @"TimedOut: 10 passed, 0 failed, 1 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/not_found.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Maven, "maven/bad_pom.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    Non-parseable POM /tmp/fx/java/core/pom.xml: Unrecognised tag: 'dependencie' (position: START_TAG seen ...</artifactId>\n  <dependencie>... @5:16) at /tmp/fx/java/core/pom.xml:5: [FATAL] Non-parseable POM /tmp/fx/java/core/pom.xml: Unrecognised tag: 'dependencie' (position: START_TAG seen ...</artifactId>\n  <dependencie>... @5:16)  @ line 5, column 16
    ");
    assert_snapshot!(read_file(Framework::Maven, "maven/missing_package.txt", 1), @r"
    MissingModule: 0 passed, 2 failed, 0 skipped
    package org.gone does not exist at /tmp/fx/java/core/src/test/java/com/example/ShopTest.java:7: /tmp/fx/java/core/src/test/java/com/example/ShopTest.java:[7,16] package org.gone does not exist
    cannot find symbol at /tmp/fx/java/core/src/test/java/com/example/ShopTest.java:15: /tmp/fx/java/core/src/test/java/com/example/ShopTest.java:[15,69] cannot find symbol
    ");
}

//! Java: Maven and Gradle.

use std::collections::BTreeMap;

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

fn read_maven(name: &str, code: i32) -> TestRun {
    read_folder(Framework::Maven, &format!("maven/{name}"), code)
}

/// Parses a recorded run with every report in the folder of the same name.
fn read_folder(framework: Framework, name: &str, code: i32) -> TestRun {
    let folder = format!("{}/tests/fixtures/outputs/{name}", env!("CARGO_MANIFEST_DIR"));
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
    let text = fixture(&format!("{name}.txt"));
    super::super::read(framework, &exited(code, &text), &reports)
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
    assert_snapshot!(format!("{:?}", failed.summary_counts), @r#"
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

#[test]
fn gradle() {
    assert_snapshot!(show(&read_folder(Framework::Gradle, "gradle/pass", 0)), @r"
    Passed: 6 passed, 0 failed, 1 skipped
    passed: shop.CalcTest$Nested.addsInside, shop.CalcTest.adds, shop.CalcTest.addsAgain, shop.CalcTest.isAlive, shop.ValuesTest.addsOne[1 plus one], shop.ValuesTest.addsOne[5 plus one]
    ");
    assert_snapshot!(show(&read_folder(Framework::Gradle, "gradle/fail", 1)), @r"
    Failed: 1 passed, 5 failed, 1 skipped
    passed: shop.CalcTest.isAlive
    shop.CalcTest$Nested.addsInside at shop/CalcTest.java:29: java.lang.AssertionError: expected:<9> but was:<-1>
    shop.CalcTest.adds at shop/CalcTest.java:11: java.lang.AssertionError: expected:<3> but was:<-1>
    shop.CalcTest.addsAgain at shop/CalcTest.java:16: java.lang.AssertionError: the sum expected:<5> but was:<-1>
    shop.ValuesTest.addsOne[1 plus one] at shop/ValuesTest.java:26: java.lang.AssertionError: expected:<2> but was:<0>
    shop.ValuesTest.addsOne[5 plus one] at shop/ValuesTest.java:26: java.lang.AssertionError: expected:<6> but was:<4>
    ");
    // Parsed from the text alone, without reports.
    assert_snapshot!(read_file(Framework::Gradle, "gradle/fail.txt", 1), @r"
    Failed: 1 passed, 5 failed, 1 skipped
    shop.CalcTest.adds at shop/CalcTest.java:11: java.lang.AssertionError at CalcTest.java:11
    shop.CalcTest.addsAgain at shop/CalcTest.java:16: java.lang.AssertionError at CalcTest.java:16
    shop.CalcTest$Nested.addsInside at shop/CalcTest.java:29: java.lang.AssertionError at CalcTest.java:29
    shop.ValuesTest.addsOne[1 plus one] at shop/ValuesTest.java:26: java.lang.AssertionError at ValuesTest.java:26
    shop.ValuesTest.addsOne[5 plus one] at shop/ValuesTest.java:26: java.lang.AssertionError at ValuesTest.java:26
    ");
    assert_snapshot!(read_file(Framework::Gradle, "gradle/not_found.txt", 1), @"NothingRan: 0 passed, 0 failed, 0 skipped");
    assert_snapshot!(read_file(Framework::Gradle, "gradle/nothing_ran.txt", 0), @"NothingRan: 0 passed, 0 failed, 0 skipped");
}

#[test]
fn gradle_that_ends_early() {
    assert_snapshot!(read_file(Framework::Gradle, "gradle/compile_error.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    cannot find symbol at /tmp/fx/shop/src/main/java/shop/Calc.java:5: :compileJava/tmp/fx/shop/src/main/java/shop/Calc.java:5: error: cannot find symbol
    ");
    assert_snapshot!(read_file(Framework::Gradle, "gradle/bad_script.txt", 1), @r"
    DidNotBuild: 0 passed, 1 failed, 0 skipped
    A problem occurred evaluating root project 'shop'. at /tmp/fx/shop/build.gradle:5: A problem occurred evaluating root project 'shop'.
    ");
    assert_snapshot!(read_file(Framework::Gradle, "gradle/missing_dependency.txt", 1), @"DidNotStart: 0 passed, 0 failed, 0 skipped");
}

/// Names of methods with spaces, in three versions of Surefire.
#[test]
fn kotlin() {
    for version in ["2.22", "3.0", "3.5"] {
        let passed = read_maven(&format!("kotlin_v{version}_pass"), 0);
        let names = [
            "shop.CalcTest#adds",
            "shop.CalcTest#isAlive",
            "shop.CalcTest#raises",
            "shop.CalcTest#sums two and two",
        ];
        assert_eq!(
            (passed.outcome, passed.passed_names.as_slice()),
            (Outcome::Passed, &names.map(String::from)[..])
        );
        let failed = read_maven(&format!("kotlin_v{version}_fail"), 1);
        assert_eq!((failed.passed, failed.failed, failed.skipped), (1, 3, 1));
        let places: BTreeMap<&str, u32> = failed
            .failures
            .iter()
            .map(|failure| {
                (
                    failure.name.as_str(),
                    failure.location.as_ref().map_or(0, |place| place.line),
                )
            })
            .collect();
        let expected = [
            ("shop.CalcTest#adds", 10),
            ("shop.CalcTest#raises", 26),
            ("shop.CalcTest#sums two and two", 14),
        ];
        assert_eq!(places, BTreeMap::from(expected), "{version}");
    }
}

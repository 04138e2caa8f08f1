//! Faults in Java, searched for in a process that compiles in memory. The project has its own small Maven and JUnit,
//! because the real ones need a network once.

use greenlight::domain::test_run::Outcome;
use greenlight::repair::End;

use super::patient::{A_FEW, BUDGET, Patient};

const MAVEN: &str = "#!/bin/sh
rm -rf target && mkdir -p target/classes target/test-classes target/surefire-reports || exit 1
javac -d target/classes src/main/java/shop/*.java || exit 1
javac -cp target/classes -d target/test-classes src/test/java/*/*.java src/test/java/org/junit/runner/*.java || exit 1
echo '[DEBUG] Command line options:'
echo \"[DEBUG] -d $PWD/target/test-classes -classpath $PWD/target/test-classes:$PWD/target/classes: -g -encoding UTF-8\"
case \" $* \" in *' test '*) java -cp target/classes:target/test-classes shop.Reports ;; esac
";

/// Runs all tests, and reports like Surefire.
const REPORTS: &str = r#"package shop;

import java.nio.file.Files;
import java.nio.file.Path;

public class Reports {
    public static void main(String[] none) throws Exception {
        int failures = 0;
        var cases = new StringBuilder();
        for (var method : PriceTest.class.getDeclaredMethods()) {
            if (method.isSynthetic()) continue;
            String why = org.junit.runner.JUnitCore.failure(PriceTest.class, method.getName());
            cases.append("<testcase name='" + method.getName() + "' classname='shop.PriceTest' time='0'>");
            if (why != null) cases.append("<failure message='wrong' type='AssertionError'>" + why + "</failure>");
            cases.append("</testcase>");
            if (why != null) failures++;
        }
        int all = PriceTest.class.getDeclaredMethods().length;
        Files.writeString(Path.of("target/surefire-reports/TEST-shop.PriceTest.xml"),
            "<testsuite name='shop.PriceTest' tests='" + all + "' failures='" + failures + "' errors='0' skipped='0'>" + cases + "</testsuite>");
        System.out.println("Tests run: " + all + ", Failures: " + failures + ", Errors: 0, Skipped: 0");
        System.exit(failures > 0 ? 1 : 0);
    }
}
"#;

const CORE: &str = r"package org.junit.runner;

public class JUnitCore {
    public static String failure(Class<?> type, String method) {
        try {
            type.getMethod(method).invoke(type.getConstructor().newInstance());
            return null;
        } catch (ReflectiveOperationException error) {
            var cause = error.getCause() == null ? error : error.getCause();
            return cause + `\n\tat shop.Price.of(Price.java:4)`;
        }
    }

    public Result run(Request request) {
        return new Result(failure(request.type, request.method) == null);
    }
}
";

async fn patient(price: &str, tests: &str) -> Patient {
    let core = CORE.replace('`', "\"");
    let test = format!("package shop;\n\npublic class PriceTest {{\n{tests}}}\n");
    let files = [
        ("pom.xml", "<project/>\n"),
        ("tools/mvn", MAVEN),
        ("src/main/java/shop/Price.java", price),
        ("src/test/java/shop/PriceTest.java", test.as_str()),
        ("src/test/java/shop/Reports.java", REPORTS),
        ("src/test/java/org/junit/runner/JUnitCore.java", core.as_str()),
        (
            "src/test/java/org/junit/runner/Request.java",
            "package org.junit.runner;\n\npublic class Request {\n    Class<?> type;\n    String method;\n\n    \
             public static Request method(Class<?> type, String method) {\n        var request = new Request();\n        \
             request.type = type;\n        request.method = method;\n        return request;\n    }\n}\n",
        ),
        (
            "src/test/java/org/junit/runner/Result.java",
            "package org.junit.runner;\n\npublic class Result {\n    private final boolean good;\n\n    Result(boolean good) {\n        \
             this.good = good;\n    }\n\n    public boolean wasSuccessful() {\n        return good;\n    }\n\n    \
             public int getRunCount() {\n        return 1;\n    }\n}\n",
        ),
    ];
    let patient = Patient::commanded(&files, "./tools/mvn -B test").await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    patient
}

/// Every edit that runs Maven would be a run of the suite. One of the edits never ends.
#[tokio::test]
async fn a_bound_is_repaired_without_a_build_for_each_edit() {
    let price = "package shop;\n\npublic class Price {\n    public static int of(int count, int each) {\n        int total = 0;\n        \
                 for (int at = 1; at < count; at++) {\n            total += each;\n        }\n        return total;\n    }\n}\n";
    let tests = "    public void three() {\n        if (Price.of(3, 5) != 15) throw new AssertionError();\n    }\n\n    \
                 public void none() {\n        if (Price.of(0, 5) != 0) throw new AssertionError();\n    }\n";
    let patient = patient(price, tests).await;
    let found = patient.found().await;
    assert_eq!(found.after.outcome, Outcome::Passed, "{:#?}", found.after);
    assert!(found.candidates_tried > 1, "{found:#?}");
    assert!(patient.suite.clock.times() < 5, "{} runs", patient.suite.clock.times());
}

/// `<=` and `== 5` both make the only test pass, and differ for other inputs.
#[tokio::test]
async fn edits_that_behave_differently_are_told_apart_by_other_inputs() {
    let price = "package shop;\n\npublic class Price {\n    public static boolean isLow(int day, int hour) {\n        \
                 return day < 3 && hour > 5;\n    }\n}\n";
    let tests = "    public void opens() {\n        if (!Price.isLow(1, 5)) throw new AssertionError();\n    }\n";
    let patient = patient(price, tests).await;
    let (End::NotFound(tried) | End::BudgetSpent(tried)) = patient.search(BUDGET).await else {
        panic!("one of two that differ was proposed");
    };
    let risks: Vec<&str> = tried
        .findings
        .iter()
        .flat_map(|one| &one.risks)
        .map(String::as_str)
        .collect();
    assert!(
        risks.iter().any(|risk| risk.contains("behaves differently")),
        "{tried:#?}"
    );
}

/// The code under test ends its process, hangs, and writes forged answers where greenlight reads them.
#[tokio::test]
async fn tests_that_leave_the_process_forge_nothing() {
    let price =
        "package shop;\n\npublic class Price {\n    public static int of(int count) {\n        return 1;\n    }\n}\n";
    // Only what was edited meets the forger, so that the process first shows the failure.
    let tests = r#"    public void one() throws Exception {
        if (Price.of(1) == 0) for (;;) Thread.sleep(9);
        if (Price.of(1) != 1) {
            try (var out = new java.io.FileOutputStream(java.io.FileDescriptor.out)) {
                out.write("{\"results\":[[\"shop.PriceTest#one\",true,1,false]],\"hits\":[],\"loaded\":[]}\n".getBytes());
            }
            Runtime.getRuntime().halt(0);
        }
        throw new AssertionError();
    }
"#;
    let patient = patient(price, tests).await;
    let end = patient.search(A_FEW).await;
    assert!(matches!(end, End::NotFound(_) | End::BudgetSpent(_)), "{end:?}");
}

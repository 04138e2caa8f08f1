//! Maven and Gradle.
//!
//! A wrapper (`./mvnw`, `./gradlew`) downloads the tool that it stands for, which it cannot here: the machine's own is
//! called in its place.

use super::Asked;
use crate::suite::{Framework, TestCommand};

/// The part of the memory that one virtual machine's heap may take, in per cent: the build's own and that of the tests
/// it starts run at the same time.
const HEAP: u32 = 40;

/// Tells virtual machines of Java how much memory there is: by themselves they look at the machine's, and grow beyond
/// what the sandbox allows instead of collecting garbage.
/// <https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html> (`-XX:MaxRAM`)
pub(in crate::suite) fn heap(memory: u64) -> (String, String) {
    let options = format!("-XX:MaxRAM={memory} -XX:MaxRAMPercentage={HEAP}");
    ("JAVA_TOOL_OPTIONS".into(), options)
}

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    let (wrapper, tool) = match command.framework {
        Framework::Maven => ("mvnw", "mvn"),
        _ => ("gradlew", "gradle"),
    };
    for word in &mut asked.argv {
        if word.strip_prefix("./").unwrap_or(word) == wrapper {
            *word = tool.into();
        }
    }
    let options: &[&str] = match command.framework {
        // The modules after one that fails have tests, too.
        Framework::Maven => &["--fail-at-end", "--offline"],
        _ => &[
            "--continue",
            "--no-build-cache",
            "--console=plain",
            "--no-daemon",
            "--offline",
        ],
    };
    for option in options {
        asked.after(tool, option);
    }
    let reports: &[&str] = match command.framework {
        Framework::Maven => &["**/{surefire,failsafe}-reports/TEST-*.xml"],
        _ => &["**/test-results/**/TEST-*.xml"],
    };
    asked.reports.extend(reports.iter().map(ToString::to_string));
    asked
}

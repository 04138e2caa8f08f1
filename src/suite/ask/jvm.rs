//! Maven and Gradle.
//!
//! A wrapper (`./mvnw`, `./gradlew`) downloads the tool that it stands for, which it cannot here: the machine's own is
//! called in its place.

use super::Asked;
use crate::suite::{Framework, TestCommand};

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

//! Cargo and its test runners.

use super::Asked;
use crate::suite::{Framework, TestCommand};

/// Where nextest writes a report if the project's profile asks for one.
const NEXTEST_REPORT: &str = "target/nextest/*/*.xml";

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    match command.framework {
        Framework::Cargo => asked.after("test", "--no-fail-fast"),
        Framework::Nextest => {
            asked.after("run", "--no-fail-fast");
            let settings = [
                ("NEXTEST_STATUS_LEVEL", "all"),
                ("NEXTEST_FAILURE_OUTPUT", "immediate"),
                ("NEXTEST_SUCCESS_OUTPUT", "never"),
                ("NEXTEST_SHOW_PROGRESS", "none"),
                ("NEXTEST_HIDE_PROGRESS_BAR", "1"),
            ];
            let settings = settings.map(|(name, value)| (name.to_string(), value.to_string()));
            asked.env.extend(settings);
            asked.reports.push(NEXTEST_REPORT.into());
        }
        _ => {}
    }
    asked
}

//! pytest, unittest, and the linters of Python.

use super::Asked;
use crate::suite::{Framework, TestCommand};

/// Where pytest is asked to write its report.
const REPORT: &str = ".greenlight-report.xml";

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    match command.framework {
        Framework::Unittest => {
            asked.after("discover", "-v");
            asked.after("unittest", "-v");
            if asked.argv.iter().any(|word| word.ends_with("manage.py")) {
                asked.after("test", "--verbosity=2");
            }
        }
        Framework::Pytest => {
            let program = asked
                .argv
                .iter()
                .position(|word| matches!(word.rsplit('/').next(), Some("pytest" | "py.test")));
            if let Some(at) = program {
                let options = [
                    "--color=no".to_string(),
                    // Some projects use the cache, so there is one, but no run finds that of another.
                    "-ocache_dir=/tmp/pytest_cache".into(),
                    format!("--junitxml={REPORT}"),
                    // The other family has neither files nor lines.
                    "-ojunit_family=xunit1".into(),
                ];
                asked.argv.splice(at + 1..at + 1, options);
                asked.reports.push(REPORT.into());
            }
        }
        _ => {}
    }
    asked
}

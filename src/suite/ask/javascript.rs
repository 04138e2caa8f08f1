//! The runners and linters of JavaScript and TypeScript.
//!
//! Lines are not counted, whatever the settings say: that some are not reached is no failing test.

use super::Asked;
use crate::suite::Framework;
use crate::suite::find::javascript::{MORE, Runner, base, runner};

/// Where the results are written, in the directory of each package whose tests run.
const JSON: &str = ".greenlight-report.json";
const XML: &str = ".greenlight-report.xml";

pub(super) fn ask(mut asked: Asked) -> Asked {
    let Some((runner, program)) = found(&asked.argv) else {
        return asked;
    };
    let (options, report): (Vec<String>, Option<&str>) = match runner.framework {
        Framework::Node => (vec!["--test-reporter=tap".into()], None),
        Framework::Jest => {
            let options = ["--json", "--testLocationInResults", "--coverage=false"].map(String::from);
            (
                options.into_iter().chain([format!("--outputFile={JSON}")]).collect(),
                Some(JSON),
            )
        }
        Framework::Vitest => {
            let file = format!("--outputFile.json={JSON}");
            let options = [
                "--run",
                "--reporter=default",
                "--reporter=json",
                &file,
                "--coverage.enabled=false",
            ];
            (options.map(String::from).into(), Some(JSON))
        }
        Framework::Mocha => {
            let options = ["--reporter=json", "--reporter-option"].map(String::from);
            (
                options.into_iter().chain([format!("output={JSON}")]).collect(),
                Some(JSON),
            )
        }
        Framework::Bun => {
            let options = ["--reporter=junit".into(), format!("--reporter-outfile={XML}")];
            (options.into(), Some(XML))
        }
        Framework::Tap => match program.as_str() {
            "ava" => (vec!["--tap".into()], None),
            "tap" | "borp" => (vec!["--reporter=tap".into()], None),
            "bnt" => (vec!["--test-reporter=tap".into()], None),
            // It prints nothing else.
            _ => (Vec::new(), None),
        },
        Framework::Eslint => (
            vec!["--format=json".into(), format!("--output-file={JSON}")],
            Some(JSON),
        ),
        Framework::Tsc => (vec!["--pretty".into(), "false".into()], None),
        _ => (Vec::new(), None),
    };
    if asked.add(&runner, options) {
        // Wherever in the tree a script goes before it starts the runner.
        asked.reports.extend(report.map(|report| format!("**/{report}")));
    }
    asked
}

/// The runner among the arguments, and the name of its program.
pub(in crate::suite) fn found(argv: &[String]) -> Option<(Runner, String)> {
    let words: Vec<String> = match argv {
        [shell, flag, script, ..] if shell == "sh" && flag == "-c" => {
            let last = script.contains(MORE).then(|| script.rsplit(" && ").next())??;
            last.replace(MORE, "")
                .split_whitespace()
                .map(ToString::to_string)
                .collect()
        }
        _ => argv.to_vec(),
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runner = runner(&words)?;
    Some((runner, base(words.get(runner.word)?).to_string()))
}

impl Asked {
    /// Gives the runner more arguments; false if there is no place for them.
    fn add(&mut self, runner: &Runner, options: Vec<String>) -> bool {
        let missing: Vec<String> = options
            .into_iter()
            .filter(|option| !self.argv.contains(option))
            .collect();
        let at = match self.argv.as_slice() {
            // Its script takes them, in their place, from the end of the arguments.
            [shell, flag, ..] if shell == "sh" && flag == "-c" => self.argv.len(),
            _ => runner.options,
        };
        if at > self.argv.len() {
            return false;
        }
        self.argv.splice(at..at, missing);
        true
    }
}

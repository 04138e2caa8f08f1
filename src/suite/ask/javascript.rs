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
    if runner.framework == Framework::Vitest {
        asked.env.insert("GREENLIGHT_CHECKS_TYPES".into(), "1".into());
    }
    if let Some(script) = script(&asked.argv).filter(|script| runs_several(script)) {
        // Each has its own report, and what is added to the arguments is for all of them.
        let parts: Vec<&str> = script.split(MORE).collect();
        let mut line = String::new();
        for (at, part) in parts.iter().enumerate() {
            line.push_str(part);
            if at + 1 < parts.len() {
                let (mut options, report) = options(runner.framework, &program, at);
                asked.reports.extend(report.map(|report| format!("**/{report}")));
                options.push(MORE.into());
                line.push_str(&options.join(" "));
            }
        }
        asked.argv[2] = line;
        return asked;
    }
    let (options, report) = options(runner.framework, &program, 0);
    if asked.add(&runner, options) {
        // Wherever in the tree a script goes before it starts the runner.
        asked.reports.extend(report.map(|report| format!("**/{report}")));
    }
    asked
}

/// What makes the results of a runner readable, and the name of its report; `at` counts the runners of a script.
fn options(framework: Framework, program: &str, at: usize) -> (Vec<String>, Option<String>) {
    let named = |name: &str| match (at, name.rsplit_once('.')) {
        (1.., Some((start, end))) => format!("{start}-{}.{end}", at + 1),
        _ => name.to_string(),
    };
    let (json, xml) = (named(JSON), named(XML));
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
    let (mut options, last, report) = match framework {
        Framework::Node => (words(&["--test-reporter=tap"]), None, None),
        Framework::Jest => {
            let options = words(&["--json", "--testLocationInResults", "--coverage=false"]);
            (options, Some(format!("--outputFile={json}")), Some(json))
        }
        Framework::Vitest => {
            let options = words(&[
                "--run",
                "--reporter=default",
                "--reporter=json",
                "--coverage.enabled=false",
            ]);
            (options, Some(format!("--outputFile.json={json}")), Some(json))
        }
        Framework::Mocha => {
            let options = words(&["--reporter=json", "--reporter-options"]);
            (options, Some(format!("output={json}")), Some(json))
        }
        Framework::Bun => {
            let options = words(&["--reporter=junit"]);
            (options, Some(format!("--reporter-outfile={xml}")), Some(xml))
        }
        Framework::Tap => match program {
            "ava" => (words(&["--tap"]), None, None),
            "tap" | "borp" => (words(&["--reporter=tap"]), None, None),
            "bnt" => (words(&["--test-reporter=tap"]), None, None),
            // It prints nothing else.
            _ => (Vec::new(), None, None),
        },
        Framework::Eslint => {
            let options = words(&["--format=json"]);
            (options, Some(format!("--output-file={json}")), Some(json))
        }
        Framework::Tsc => (words(&["--pretty", "false"]), None, None),
        _ => (Vec::new(), None, None),
    };
    options.extend(last);
    (options, report)
}

/// The script of a command that was put together from one of the project's.
fn script(argv: &[String]) -> Option<&str> {
    match argv {
        [shell, flag, script, ..] if shell == "sh" && flag == "-c" => Some(script),
        _ => None,
    }
}

/// Whether more than one runner in it takes arguments.
pub(in crate::suite) fn runs_several(script: &str) -> bool {
    script.matches(MORE).count() > 1
}

/// The runner among the arguments, and the name of its program.
pub(in crate::suite) fn found(argv: &[String]) -> Option<(Runner, String)> {
    let words: Vec<String> = match script(argv) {
        Some(script) => {
            let last = script.contains(MORE).then(|| script.rsplit(" && ").next())??;
            last.replace(MORE, "")
                .split_whitespace()
                .map(ToString::to_string)
                .collect()
        }
        None => argv.to_vec(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_runners_writes_its_own_report() {
        let script = r#"A=b mocha a "$@" && tsup && mocha -c x "$@""#;
        let argv = ["sh", "-c", script, "sh", "--grep=^x$"].map(String::from).to_vec();
        let asked = ask(Asked {
            argv,
            ..Asked::default()
        });
        let option = "--reporter=json --reporter-options output=.greenlight-report";
        assert_eq!(
            asked.argv[2],
            format!(r#"A=b mocha a {option}.json "$@" && tsup && mocha -c x {option}-2.json "$@""#)
        );
        assert_eq!(asked.argv[3..], ["sh", "--grep=^x$"]);
        assert_eq!(
            asked.reports,
            ["**/.greenlight-report.json", "**/.greenlight-report-2.json"]
        );
    }
}

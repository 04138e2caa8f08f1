//! Requests machine-readable reports from the runners and linters of JavaScript and TypeScript.
//!
//! Coverage is switched off, no matter what the settings say: low coverage is not a failing test.

use super::Invocation;
use crate::discover::javascript::{MORE, Runner, Script, base, runner};
use crate::test_command::TestCommand;

/// Names of the report files, in the directory of each package whose tests run.
pub(crate) const JSON: &str = ".greenlight-report.json";
pub(crate) const XML: &str = ".greenlight-report.xml";

pub(crate) fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    let Some((runner, program)) = found(&invocation.argv) else {
        return invocation;
    };
    let Some(script) = runner.framework.spec().script else {
        return invocation;
    };
    let env = script.env.iter();
    invocation
        .env
        .extend(env.map(|(name, value)| ((*name).into(), (*value).into())));
    if let Some(line) = line(&invocation.argv).filter(|line| runs_several(line)) {
        // Each runner writes a separate report; the options at the end of the arguments apply to all of them.
        let parts: Vec<&str> = line.split(MORE).collect();
        let mut line = String::new();
        for (at, part) in parts.iter().enumerate() {
            line.push_str(part);
            if at + 1 < parts.len() {
                let (mut options, report) = options(script, &program, at);
                invocation.reports.extend(report.map(|report| format!("**/{report}")));
                options.push(MORE.into());
                line.push_str(&options.join(" "));
            }
        }
        invocation.argv[2] = line;
        return invocation;
    }
    let (options, report) = options(script, &program, 0);
    if invocation.add(&runner, options) {
        // Scripts may change to any directory of the tree before they start the runner.
        invocation.reports.extend(report.map(|report| format!("**/{report}")));
    }
    invocation
}

/// The options that make a runner's results readable, and the name of its report; `at` is the index of the runner in
/// a script.
fn options(script: &Script, program: &str, at: usize) -> (Vec<String>, Option<String>) {
    let report = script.report.map(|name| match (at, name.rsplit_once('.')) {
        (1.., Some((start, end))) => format!("{start}-{}.{end}", at + 1),
        _ => name.to_string(),
    });
    let options = (script.options)(program).iter();
    let options = options.map(|option| option.replace("{report}", report.as_deref().unwrap_or_default()));
    (options.collect(), report)
}

/// The script of a command that was built from one of the project's scripts.
fn line(argv: &[String]) -> Option<&str> {
    match argv {
        [shell, flag, script, ..] if shell == "sh" && flag == "-c" => Some(script),
        _ => None,
    }
}

/// Whether more than one of its runners takes arguments.
pub(crate) fn runs_several(script: &str) -> bool {
    script.matches(MORE).count() > 1
}

/// The runner in the arguments, and the name of its program.
pub(crate) fn found(argv: &[String]) -> Option<(Runner, String)> {
    let words: Vec<String> = match line(argv) {
        Some(line) => {
            let last = line.contains(MORE).then(|| line.rsplit(" && ").next())??;
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

impl Invocation {
    /// Passes more arguments to the runner. Returns false if there is no place for them.
    fn add(&mut self, runner: &Runner, options: Vec<String>) -> bool {
        let missing: Vec<String> = options
            .into_iter()
            .filter(|option| !self.argv.contains(option))
            .collect();
        let at = match self.argv.as_slice() {
            // The script passes the end of the arguments on to its runners.
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
    use crate::framework::Framework;
    use crate::test_command::Source;

    #[test]
    fn each_of_several_runners_writes_its_own_report() {
        let script = r#"A=b mocha a "$@" && tsup && mocha -c x "$@""#;
        let argv = ["sh", "-c", script, "sh", "--grep=^x$"].map(String::from).to_vec();
        let command = TestCommand::new(argv.clone(), Framework::Mocha, Source::Settings);
        let invocation = Invocation {
            argv,
            ..Invocation::default()
        };
        let invocation = reporter(&command, invocation);
        let option = "--reporter=json --reporter-options output=.greenlight-report";
        assert_eq!(
            invocation.argv[2],
            format!(r#"A=b mocha a {option}.json "$@" && tsup && mocha -c x {option}-2.json "$@""#)
        );
        assert_eq!(invocation.argv[3..], ["sh", "--grep=^x$"]);
        assert_eq!(
            invocation.reports,
            ["**/.greenlight-report.json", "**/.greenlight-report-2.json"]
        );
    }
}

//! CTest, RSpec, Minitest, PHPUnit, `dotnet test`, and what Meson writes without being asked.

use super::Asked;
use crate::suite::{Framework, TestCommand};

/// Where reports are asked for in XML, and in JSON.
const REPORT: &str = ".greenlight-report.xml";
const JSON_REPORT: &str = ".greenlight-report.json";
const RESULTS: &str = ".greenlight-results";

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    match command.framework {
        Framework::Ctest => {
            // Older versions pass over the option; a relative path is one below the directory of the build.
            if behind(&mut asked.argv, "ctest", &[&format!("--output-junit {REPORT}")]) {
                asked.reports.push(format!("**/{REPORT}"));
            }
            asked.env.insert("CTEST_OUTPUT_ON_FAILURE".into(), "1".into());
        }
        Framework::Rspec => {
            // Reaches RSpec through Rake too. Formatters that are named here take the place of all others.
            let options = format!("--no-color --format progress --format json --out {JSON_REPORT}");
            asked.env.insert("SPEC_OPTS".into(), options);
            asked.reports.push(JSON_REPORT.into());
        }
        Framework::Minitest => minitest(&mut asked),
        Framework::Phpunit => {
            let options = [format!("--log-junit {REPORT}")];
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            if behind(&mut asked.argv, "phpunit", &options) || behind(&mut asked.argv, "pest", &options) {
                asked.reports.push(REPORT.into());
            }
        }
        Framework::Dotnet => {
            let has_test = asked.argv.iter().any(|word| word == "test");
            if has_test {
                let options = ["--results-directory", RESULTS, "--logger", "trx"].map(String::from);
                let at = asked
                    .argv
                    .iter()
                    .position(|word| word == "--")
                    .unwrap_or(asked.argv.len());
                asked.argv.splice(at..at, options);
                asked.reports.push(format!("{RESULTS}/**/*.trx"));
            }
            asked.env.insert("DOTNET_CLI_TELEMETRY_OPTOUT".into(), "1".into());
            asked.env.insert("DOTNET_NOLOGO".into(), "1".into());
            // Text is read in English.
            asked.env.insert("DOTNET_CLI_UI_LANGUAGE".into(), "en".into());
        }
        Framework::Other if asked.argv.iter().any(|word| word.contains("meson test")) => {
            asked.reports.push("**/meson-logs/testlog.junit.xml".into());
        }
        _ => {}
    }
    asked
}

/// Names of tests are only printed where many words are asked for.
fn minitest(asked: &mut Asked) {
    let has = |argv: &[String], name: &str| argv.iter().any(|word| word.rsplit('/').next() == Some(name));
    if let Some(options) = asked.argv.iter_mut().find(|word| word.starts_with("TESTOPTS=")) {
        options.push_str(" --verbose");
    } else if has(&asked.argv, "ruby") || has(&asked.argv, "rails") {
        asked.argv.push("--verbose".into());
    } else {
        asked.env.insert("TESTOPTS".into(), "--verbose".into());
    }
}

/// Puts options behind a program, be it a word of its own or one in a script; says whether it is there.
fn behind(argv: &mut Vec<String>, program: &str, options: &[&str]) -> bool {
    let is_program = |word: &str| word.rsplit('/').next() == Some(program);
    if let [shell, flag, script] = argv.as_mut_slice()
        && shell == "sh"
        && flag == "-c"
    {
        let Some(word) = script
            .split_whitespace()
            .find(|word| is_program(word))
            .map(ToString::to_string)
        else {
            return false;
        };
        *script = script.replacen(&word, &format!("{word} {}", options.join(" ")), 1);
        return true;
    }
    let Some(at) = argv.iter().position(|word| is_program(word)) else {
        return false;
    };
    let words = options.iter().flat_map(|option| option.split(' ')).map(String::from);
    argv.splice(at + 1..at + 1, words.collect::<Vec<_>>());
    true
}

#[cfg(test)]
mod tests {
    use super::super::ask;
    use super::*;
    use crate::suite::Source;

    /// The arguments, the variables and the reports.
    #[track_caller]
    fn check(framework: Framework, argv: &[&str], expected: &str) {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let command = TestCommand::new(argv.clone(), framework, Source::Settings);
        let asked = ask(&command, argv);
        let env: Vec<String> = asked
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            format!(
                "{} [{}] {}",
                asked.argv.join(" "),
                env.join(" "),
                asked.reports.join(" ")
            ),
            expected
        );
    }

    #[test]
    fn every_framework_is_asked_in_its_own_way() {
        check(
            Framework::Ctest,
            &["sh", "-c", "cd build && ctest -j2"],
            "sh -c cd build && ctest --output-junit .greenlight-report.xml -j2 [CTEST_OUTPUT_ON_FAILURE=1] \
             **/.greenlight-report.xml",
        );
        check(
            Framework::Rspec,
            &["bundle", "exec", "rspec"],
            "bundle exec rspec [SPEC_OPTS=--no-color --format progress --format json --out .greenlight-report.json] \
             .greenlight-report.json",
        );
        check(
            Framework::Minitest,
            &["rake", "test"],
            "rake test [TESTOPTS=--verbose] ",
        );
        check(
            Framework::Minitest,
            &["rake", "test", "TESTOPTS='--name=A#b'"],
            "rake test TESTOPTS='--name=A#b' --verbose [] ",
        );
        check(Framework::Minitest, &["ruby", "a.rb"], "ruby a.rb --verbose [] ");
        check(
            Framework::Phpunit,
            &["vendor/bin/phpunit", "tests"],
            "vendor/bin/phpunit --log-junit .greenlight-report.xml tests [] .greenlight-report.xml",
        );
        check(
            Framework::Dotnet,
            &["dotnet", "test", "--", "a"],
            "dotnet test --results-directory .greenlight-results --logger trx -- a [DOTNET_CLI_TELEMETRY_OPTOUT=1 \
             DOTNET_CLI_UI_LANGUAGE=en DOTNET_NOLOGO=1] .greenlight-results/**/*.trx",
        );
    }
}

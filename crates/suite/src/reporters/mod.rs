//! Makes a framework report readable results: a machine-readable format if it has one, a report file, no caches.
//!
//! These additions never change what is tested. They are arguments and variables, never files of the tree.

pub(super) mod javascript;
pub(super) mod jvm;

use std::collections::BTreeMap;

use crate::test_command::TestCommand;

/// The command that is run instead of the bare one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// Patterns of the report files, relative to the directory of the command, in [`globset`]'s syntax.
    pub(super) reports: Vec<String>,
}

/// Adds what makes the results readable to the arguments, which may be narrowed already.
pub(super) fn invocation(command: &TestCommand, argv: Vec<String>) -> Invocation {
    let invocation = Invocation {
        argv,
        ..Invocation::default()
    };
    (command.framework.spec().reporter)(command, invocation)
}

impl Invocation {
    /// Inserts an option after a word, if it is missing.
    pub(super) fn after(&mut self, word: &str, option: &str) {
        if let Some(at) = self.argv.iter().position(|other| other == word)
            && !self.argv.iter().any(|other| other == option)
        {
            self.argv.insert(at + 1, option.to_string());
        }
    }

    /// Inserts options after a program, which may be a word or part of a script. Returns whether the program was
    /// found.
    pub(super) fn behind(&mut self, program: &str, options: &[&str]) -> bool {
        let argv = &mut self.argv;
        let is_program = |word: &str| word.rsplit('/').next() == Some(program);
        if let [shell, flag, script] = argv.as_mut_slice()
            && shell == "sh"
            && flag == "-c"
        {
            let at = |word: &str| word.as_ptr().addr() - script.as_ptr().addr() + word.len();
            let Some(end) = script.split_whitespace().find(|word| is_program(word)).map(at) else {
                return false;
            };
            script.insert_str(end, &format!(" {}", options.join(" ")));
            return true;
        }
        let Some(at) = argv.iter().position(|word| is_program(word)) else {
            return false;
        };
        let words = options.iter().flat_map(|option| option.split(' ')).map(String::from);
        argv.splice(at + 1..at + 1, words.collect::<Vec<_>>());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Framework;
    use crate::test_command::Source;

    #[test]
    fn readable_results_are_asked_for_once() {
        #[track_caller]
        fn check(framework: Framework, command: &str, expected: &str) {
            let argv = shlex::split(command).unwrap();
            let command = TestCommand::new(argv.clone(), framework, Source::Settings);
            assert_eq!(invocation(&command, argv).argv.join(" "), expected);
        }
        check(Framework::Cargo, "cargo test -p a", "cargo test --no-fail-fast -p a");
        check(
            Framework::Cargo,
            "cargo test --no-fail-fast",
            "cargo test --no-fail-fast",
        );
        check(Framework::Go, "go test ./...", "go test -count=1 -json ./...");
        check(
            Framework::Node,
            "node --test a.js",
            "node --test --test-reporter=tap a.js",
        );
        check(
            Framework::Deno,
            "deno test -A",
            "deno test --junit-path=.greenlight-report.xml -A",
        );
        check(
            Framework::Unittest,
            "python3 -m unittest discover -s tests",
            "python3 -m unittest discover -v -s tests",
        );
        check(Framework::Unittest, "python3 -m unittest", "python3 -m unittest -v");
        check(
            Framework::Pytest,
            "uv run pytest -q",
            "uv run pytest --color=no -ocache_dir=/tmp/pytest_cache --junitxml=.greenlight-report.xml -ojunit_family=xunit1 -q",
        );
        check(Framework::Other, "make check", "make check");
    }

    /// Compares the arguments, the variables and the reports.
    #[track_caller]
    fn check_all(framework: Framework, argv: &[&str], expected: &str) {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let command = TestCommand::new(argv.clone(), framework, Source::Settings);
        let invocation = invocation(&command, argv);
        let env: Vec<String> = invocation
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            format!(
                "{} [{}] {}",
                invocation.argv.join(" "),
                env.join(" "),
                invocation.reports.join(" ")
            ),
            expected
        );
    }

    #[test]
    fn every_framework_is_asked_in_its_own_way() {
        check_all(
            Framework::Ctest,
            &["sh", "-c", "cd build && ctest -j2"],
            "sh -c cd build && ctest --output-junit .greenlight-report.xml -j2 [CTEST_OUTPUT_ON_FAILURE=1] \
             **/.greenlight-report.xml",
        );
        check_all(
            Framework::Ctest,
            &["sh", "-c", "cmake -DTESTS=doctest && ctest"],
            "sh -c cmake -DTESTS=doctest && ctest --output-junit .greenlight-report.xml [CTEST_OUTPUT_ON_FAILURE=1] \
             **/.greenlight-report.xml",
        );
        check_all(
            Framework::Rspec,
            &["bundle", "exec", "rspec"],
            "bundle exec rspec [SPEC_OPTS=--no-color --format progress --format json --out .greenlight-report.json] \
             .greenlight-report.json",
        );
        check_all(
            Framework::Tap,
            &["npx", "bnt"],
            "npx bnt --test-reporter=tap --test-reporter-destination=stderr --test-reporter-destination=stdout [] ",
        );
        check_all(
            Framework::Minitest,
            &["rake", "test"],
            "rake test [TESTOPTS=--verbose] ",
        );
        check_all(
            Framework::Minitest,
            &["rake", "test", "TESTOPTS='--name=A#b'"],
            "rake test TESTOPTS='--name=A#b' --verbose [] ",
        );
        check_all(Framework::Minitest, &["ruby", "a.rb"], "ruby a.rb --verbose [] ");
        check_all(
            Framework::Phpunit,
            &["vendor/bin/phpunit", "tests"],
            "vendor/bin/phpunit --log-junit .greenlight-report.xml tests [] .greenlight-report.xml",
        );
        check_all(
            Framework::Pest,
            &["vendor/bin/pest"],
            "vendor/bin/pest --colors=never --log-junit .greenlight-report.xml [] .greenlight-report.xml",
        );
        check_all(
            Framework::Meson,
            &["meson", "test"],
            "meson test [] **/meson-logs/testlog*.json",
        );
        check_all(
            Framework::Googletest,
            &["./shop", "--gtest_brief=0"],
            "./shop --gtest_brief=0 [GTEST_COLOR=no GTEST_OUTPUT=xml:.greenlight-report.xml] .greenlight-report.xml",
        );
        check_all(
            Framework::Exunit,
            &["mix", "test"],
            "mix test --trace [ELIXIR_ERL_OPTIONS=+fnu] ",
        );
        check_all(
            Framework::Dotnet,
            &["dotnet", "test", "--", "a"],
            "dotnet test --results-directory .greenlight-results --logger trx -- a [DOTNET_CLI_TELEMETRY_OPTOUT=1 \
             DOTNET_CLI_UI_LANGUAGE=en DOTNET_NOLOGO=1] .greenlight-results/**/*.trx",
        );
    }
}

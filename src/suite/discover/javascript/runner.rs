//! Which runner of tests a command starts, and which commands only look at the code.

use super::name::Name;
use crate::suite::Framework;
use crate::suite::shell::Word;

/// What prints the results of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::suite) struct Runner {
    pub(in crate::suite) framework: Framework,
    /// The word that starts it.
    pub(in crate::suite) word: usize,
    /// Its options go here: behind the other arguments where it takes them anywhere.
    pub(in crate::suite) options: usize,
}

/// The words of one command of a script, and the one that may start a runner.
#[derive(Debug, Clone, Copy)]
pub(in crate::suite) struct ScriptLine<'a> {
    pub(in crate::suite) words: &'a [&'a str],
    pub(in crate::suite) at: usize,
    /// Where options may go at the latest: the end, or `--`.
    pub(in crate::suite) end: usize,
}

impl ScriptLine<'_> {
    /// The word as the name of a program.
    pub(in crate::suite) fn program(&self) -> &str {
        self.words.get(self.at).map_or("", |word| base(word))
    }

    pub(in crate::suite) fn next(&self) -> Option<&str> {
        self.words.get(self.at + 1).copied()
    }
}

/// Names as options of a runner.
type Filter = fn(&[Name<'_>]) -> Vec<String>;

/// How a framework is found in the scripts of `package.json`, asked for results and told names.
pub(in crate::suite) struct Script {
    /// Programs of it that are no packages.
    pub(in crate::suite) programs: &'static [&'static str],
    /// Where its options go, if this word starts it.
    pub(in crate::suite) starts: fn(ScriptLine<'_>) -> Option<usize>,
    /// Words that name it in a script that cannot be taken apart, all of them.
    pub(in crate::suite) words: &'static [&'static str],
    /// Options that get in the way of a report.
    pub(in crate::suite) unwanted: &'static [&'static str],
    /// Such options that have a value.
    pub(in crate::suite) unwanted_with_value: &'static [&'static str],
    /// Options that make the results of this program readable; `{report}` stands for the name of the report.
    pub(in crate::suite) options: fn(&str) -> &'static [&'static str],
    /// The name of the report.
    pub(in crate::suite) report: Option<&'static str>,
    pub(in crate::suite) env: &'static [(&'static str, &'static str)],
    /// Options for the named tests alone.
    pub(in crate::suite) filter: Option<Filter>,
    /// Succeeds where none of the tests is among them.
    pub(in crate::suite) without_tests: Option<&'static str>,
    /// How it takes files, if it does.
    pub(in crate::suite) files: Option<TestFiles>,
}

/// How a runner takes the files of tests.
#[derive(Debug, Clone, Copy)]
pub(in crate::suite) struct TestFiles {
    /// Stands before them.
    pub(in crate::suite) option: Option<&'static str>,
    /// What each of them begins with.
    pub(in crate::suite) prefix: &'static str,
    /// Options for the tests that need any of these files, be they tests or not.
    pub(in crate::suite) related: Option<&'static [&'static str]>,
}

impl Script {
    /// A framework of which nothing is known.
    pub(in crate::suite) const NEW: Self = Self {
        programs: &[],
        starts: |_| None,
        words: &[],
        unwanted: &[],
        unwanted_with_value: &[],
        options: |_| &[],
        report: None,
        env: &[],
        filter: None,
        without_tests: None,
        files: None,
    };
}

/// Finds the runner among the words of one command.
pub(in crate::suite) fn runner(words: &[&str]) -> Option<Runner> {
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    (0..end).find_map(|at| {
        // A path is a program only where it begins the command, or lies among the packages.
        let is_file = words[at].contains('/') && !words[at].contains("node_modules/");
        if is_file && at > 0 {
            return None;
        }
        let line = ScriptLine { words, at, end };
        super::scripts().find_map(|(framework, script)| {
            Some(Runner {
                framework,
                word: at,
                options: (script.starts)(line)?,
            })
        })
    })
}

/// The name of a program: `node_modules/jest/bin/jest.js` is `jest`.
pub(in crate::suite) fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    [".js", ".mjs", ".cjs"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Whether a compiler is told to write nothing.
fn is_check(words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case("--noEmit"))
}

/// Whether a command looks at the code, its types, its size or its dependencies: no test needs it.
pub(super) fn only_looks(words: &[Word]) -> bool {
    const LOOKS: [&str; 41] = [
        "eslint",
        "xo",
        "standard",
        "semistandard",
        "ts-standard",
        "prettier",
        "prettierx",
        "biome",
        "oxlint",
        "oxfmt",
        "dprint",
        "stylelint",
        "markdownlint",
        "markdownlint-cli2",
        "remark",
        "cspell",
        "tslint",
        "jshint",
        "jscs",
        "tsd",
        "dtslint",
        "attw",
        "tstyche",
        "publint",
        "knip",
        "depcheck",
        "size-limit",
        "bundlesize",
        "flow",
        "vue-tsc",
        "ls-engines",
        "aud",
        "eclint",
        "commitlint",
        "madge",
        "ls-lint",
        "installed-check",
        "echo",
        "evalmd",
        "doctoc",
        "automd",
    ];
    let plain: Vec<&str> = words.iter().map(|word| word.plain.as_str()).collect();
    match plain.as_slice() {
        ["tsc" | "vue-tsc", ..] => is_check(&plain),
        ["npm" | "pnpm" | "yarn", "audit", ..] => true,
        [first, ..] => LOOKS.contains(&base(first)),
        [] => true,
    }
}

/// Whether a command tests in a browser, which is not there: what it says is of another kind than what runners say.
pub(super) fn needs_a_browser(words: &[Word]) -> bool {
    const BROWSERS: [&str; 9] = [
        "karma",
        "cypress",
        "playwright",
        "wdio",
        "testcafe",
        "nightwatch",
        "wtr",
        "web-test-runner",
        "airtap",
    ];
    words.iter().any(|word| BROWSERS.contains(&word.plain.as_str()))
}

/// Whether a command installs hooks, downloads browsers or otherwise prepares a machine, not the code.
pub(super) fn only_prepares_the_machine(words: &[Word]) -> bool {
    let first = words.first().map_or("", |word| base(&word.plain));
    let is_install = words.iter().take(2).any(|word| word.plain == "install");
    is_install
        || matches!(
            first,
            "husky"
                | "is-ci"
                | "lefthook"
                | "simple-git-hooks"
                | "patch-package"
                | "not-in-publish"
                | "in-publish"
                | "playwright"
                | "git"
                | "npmignore"
                | "safe-publish-latest"
        )
}

//! Tells which test runner a command starts, and which commands only check the code.

use super::name::Name;
use crate::framework::Framework;
use crate::shell::Word;

/// The test runner of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runner {
    pub(crate) framework: Framework,
    /// Index of the word that starts it.
    pub(crate) word: usize,
    /// Where to insert its options: after the other arguments if the runner takes options anywhere.
    pub(crate) options: usize,
}

/// The words of one command of a script, and the index of the word that may start a runner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptLine<'a> {
    pub(crate) words: &'a [&'a str],
    pub(crate) at: usize,
    /// The last position for options: the end, or `--`.
    pub(crate) end: usize,
}

impl ScriptLine<'_> {
    /// The word as the name of a program.
    pub(crate) fn program(&self) -> &str {
        self.words.get(self.at).map_or("", |word| base(word))
    }

    pub(crate) fn next(&self) -> Option<&str> {
        self.words.get(self.at + 1).copied()
    }
}

/// Turns test names into options of a runner.
type Filter = fn(&[Name<'_>]) -> Vec<String>;

/// How to find a framework in the scripts of `package.json`, ask it for a report and select tests by name.
pub(crate) struct Script {
    /// Whether it finds tests in all directories below, unless it is told where to look.
    pub(crate) searches_below: bool,
    /// Programs that start it but are not packages.
    pub(crate) programs: &'static [&'static str],
    /// Where its options go if this word starts it.
    pub(crate) starts: fn(ScriptLine<'_>) -> Option<usize>,
    /// Words that identify it in a script that cannot be taken apart; all of them must occur.
    pub(crate) words: &'static [&'static str],
    /// Options that interfere with a report.
    pub(crate) unwanted: &'static [&'static str],
    /// The same for options that take a value.
    pub(crate) unwanted_with_value: &'static [&'static str],
    /// Options that make the output machine-readable; `{report}` stands for the name of the report file.
    pub(crate) options: fn(&str) -> &'static [&'static str],
    /// The name of the report file.
    pub(crate) report: Option<&'static str>,
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Options that select the named tests alone.
    pub(crate) filter: Option<Filter>,
    /// Option that lets a run without any matching test succeed.
    pub(crate) without_tests: Option<&'static str>,
    /// How it takes test files, if it does.
    pub(crate) files: Option<TestFiles>,
}

/// How a runner takes test files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestFiles {
    /// Option before the files.
    pub(crate) option: Option<&'static str>,
    /// Prefix of each file.
    pub(crate) prefix: &'static str,
    /// Options that run the tests related to these files, which may be tests or sources.
    pub(crate) related: Option<&'static [&'static str]>,
}

impl Script {
    /// A framework with nothing set.
    pub(crate) const NEW: Self = Self {
        programs: &[],
        searches_below: false,
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
pub(crate) fn runner(words: &[&str]) -> Option<Runner> {
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    (0..end).find_map(|at| {
        // A path is a program only if it starts the command or lies in `node_modules`.
        let is_file = words[at].contains('/') && !words[at].contains("node_modules/");
        // `rimraf mocha.js` removes a file.
        let is_argument = base(words[at]) != words[at] && !words[..at].contains(&"node");
        if at > 0 && (is_file || (is_argument && !words[at].contains('/'))) {
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
pub(crate) fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    [".js", ".mjs", ".cjs"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Whether a compiler is told to write no output.
fn is_check(words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case("--noEmit"))
}

/// Whether a command checks the code, its types, its size or its dependencies: no test needs it.
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

/// Whether a script's name says that it only checks the code.
pub(super) fn looks_by_name(name: &str) -> bool {
    name.split([':', '-', '_'])
        .any(|part| matches!(part, "lint" | "format" | "types" | "audit" | "docs" | "readme"))
}

/// Whether a command tests in a browser. The sandbox has none, and browser failures differ from those of a test
/// runner.
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

/// Whether a command installs hooks, downloads browsers or otherwise prepares the machine rather than the code.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_like_a_runner_is_an_argument() {
        assert_eq!(runner(&["rimraf", "mocha.js", "mocha.js.map"]), None);
        for line in [&["mocha"][..], &["npx", "mocha"], &["node", "mocha.js"]] {
            assert!(runner(line).is_some(), "{line:?}");
        }
    }
}

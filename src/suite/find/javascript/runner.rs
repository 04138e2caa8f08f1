//! Which runner of tests a command starts, and which commands only look at the code.

use super::line::Word;
use crate::suite::Framework;

/// What prints the results of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::suite) struct Runner {
    pub(in crate::suite) framework: Framework,
    /// The word that starts it.
    pub(in crate::suite) word: usize,
    /// Its options go here: behind the other arguments where it takes them anywhere.
    pub(in crate::suite) options: usize,
}

/// Finds the runner among the words of one command.
pub(in crate::suite) fn runner(words: &[&str]) -> Option<Runner> {
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    for (word, text) in words.iter().enumerate().take(end) {
        let is_file = text.contains('/') && !text.contains("node_modules/");
        if is_file && word > 0 {
            continue;
        }
        let next = words.get(word + 1).copied();
        let found = |framework, options| {
            Some(Runner {
                framework,
                word,
                options,
            })
        };
        match base(text) {
            // Its options stand before the files, or they are arguments of those.
            "node" | "tsx" | "ts-node" => {
                let options = words.iter().skip(word + 1).take_while(|word| !is_script(word)).count();
                let test = words
                    .iter()
                    .skip(word + 1)
                    .take(options)
                    .position(|word| *word == "--test");
                if let Some(test) = test {
                    return found(Framework::Node, word + 1 + test + 1);
                }
            }
            "bun" if next == Some("test") => return found(Framework::Bun, word + 2),
            "jest" => return found(Framework::Jest, end),
            "react-scripts" | "craco" | "react-app-rewired" if next == Some("test") => {
                return found(Framework::Jest, end);
            }
            "vitest" => return found(Framework::Vitest, end),
            "mocha" | "_mocha" | "ts-mocha" => return found(Framework::Mocha, end),
            "ava" | "tap" | "tape" | "borp" | "bnt" | "uvu" | "jasmine" => return found(Framework::Tap, end),
            "tsc" if word == 0 && is_check(words) => return found(Framework::Tsc, end),
            "eslint" if word == 0 => return found(Framework::Eslint, end),
            _ => {}
        }
    }
    None
}

/// The name of a program: `node_modules/jest/bin/jest.js` is `jest`.
pub(in crate::suite) fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    [".js", ".mjs", ".cjs"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Whether a word of Node's command line is the file that it runs; values of options may be taken for one.
fn is_script(word: &str) -> bool {
    !word.starts_with('-')
        && [".js", ".mjs", ".cjs", ".ts", ".mts"]
            .iter()
            .any(|end| word.ends_with(end))
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

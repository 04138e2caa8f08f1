//! Aliases of Cargo: <https://doc.rust-lang.org/cargo/reference/config.html#alias>

use greenlight_tree::checkout::Checkout;
use toml::{Table, Value};

use super::tool;
use crate::shell::SimpleCommand;

/// The files that define them.
const FILES: [&str; 2] = [".cargo/config.toml", ".cargo/config"];
/// Maximum size of such a file, and number of aliases that lead to others.
const MAX_FILE: usize = 256 << 10;
const MAX_DEPTH: usize = 5;
/// Cargo's own commands and their short names, which it runs no matter what aliases there are.
const OWN: [&str; 40] = [
    "add",
    "b",
    "bench",
    "build",
    "c",
    "check",
    "clean",
    "config",
    "d",
    "doc",
    "fetch",
    "fix",
    "generate-lockfile",
    "help",
    "info",
    "init",
    "install",
    "locate-project",
    "login",
    "logout",
    "metadata",
    "new",
    "owner",
    "package",
    "pkgid",
    "publish",
    "r",
    "remove",
    "rm",
    "run",
    "rustc",
    "rustdoc",
    "search",
    "t",
    "test",
    "tree",
    "uninstall",
    "update",
    "vendor",
    "version",
];

/// A line with what its alias stands for, if that runs tests or checks.
pub(super) fn without_alias(checkout: &Checkout, line: SimpleCommand) -> SimpleCommand {
    let mut words = line.words.clone();
    for _ in 0..MAX_DEPTH {
        let Some(replaced) = replaced(checkout, &words) else {
            break;
        };
        words = replaced;
    }
    match tool::of(&words) {
        Some(_) => SimpleCommand { words, ..line },
        None => line,
    }
}

fn replaced(checkout: &Checkout, words: &[String]) -> Option<Vec<String>> {
    let (_, rest) = words.split_first().filter(|(first, _)| *first == "cargo")?;
    let at = 1 + rest.iter().take_while(|word| word.starts_with('+')).count();
    let name = words
        .get(at)
        .filter(|name| !name.starts_with('-') && !OWN.contains(&name.as_str()))?;
    let texts = FILES.iter().filter_map(|file| checkout.read_text(file));
    let text = texts.into_iter().find(|text| text.len() <= MAX_FILE)?;
    let file: Table = toml::from_str(&text).ok()?;
    let alias: Vec<String> = match file.get("alias")?.get(name)? {
        Value::String(line) => line.split_whitespace().map(String::from).collect(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => return None,
    };
    if alias.iter().any(|word| word.contains(char::is_control)) {
        return None;
    }
    let all = [&words[..at], &alias, &words[at + 1..]].concat();
    alias.first().is_some_and(|first| first != name).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::tree;

    #[test]
    fn an_alias_for_tests_is_what_it_stands_for() {
        let (_tree, checkout) = tree(&[(
            ".cargo/config.toml",
            "[alias]\nxtask = 'run -p xtask --'\nit = ['test', '--test', 'it']\ntest-all = 'it --all-features'\n\
             again-test = 'again-test'\ntest = 't -- none'\nt = 'test none'\nbad-test = \"test \\u0001A\\u0001\"\n",
        )]);
        for (line, expected) in [
            ("cargo it -q", "cargo test --test it -q"),
            (
                "cargo +nightly test-all",
                "cargo +nightly test --test it --all-features",
            ),
            ("cargo xtask test", "cargo xtask test"),
            ("cargo again-test", "cargo again-test"),
            ("cargo bad-test", "cargo bad-test"),
            // Cargo has these itself.
            ("cargo test -q", "cargo test -q"),
            ("cargo t", "cargo t"),
            ("cargo other-test", "cargo other-test"),
            ("pytest it", "pytest it"),
        ] {
            let line = SimpleCommand {
                words: line.split(' ').map(String::from).collect(),
                ..SimpleCommand::default()
            };
            assert_eq!(without_alias(&checkout, line).words.join(" "), expected);
        }
    }
}

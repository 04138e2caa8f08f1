//! A command line without its shell: whether it needs one, and which framework its words run.

use super::directory::Directory;
use super::javascript;
use super::python::tasks::starts_unittest;
use super::step::tool::is_for_packages;
use crate::framework::Framework;
use crate::frameworks::spec::CommandLine;

/// Whether a line has shell syntax.
pub(crate) fn needs_shell(line: &str) -> bool {
    let assigns = line.split_whitespace().next().is_some_and(|word| word.contains('='));
    let builtin = matches!(
        line.split_whitespace().next(),
        Some(
            "!" | "cd"
                | "source"
                | "."
                | "export"
                | "set"
                | "unset"
                | "if"
                | "for"
                | "while"
                | "until"
                | "case"
                | "exec"
                | "eval"
                | "command"
                | "time"
                | "trap"
                | "ulimit"
                | "umask"
        )
    );
    assigns || builtin || has_meaning(line)
}

/// Whether a character of the line is special to a shell, considering quotes.
fn has_meaning(line: &str) -> bool {
    let mut characters = line.chars();
    let mut quote = None;
    while let Some(character) = characters.next() {
        let means = match (quote, character) {
            (None, '\'') | (None | Some('"'), '"') => {
                quote = quote.is_none().then_some(character);
                false
            }
            (Some('\''), _) => {
                quote = quote.filter(|_| character != '\'');
                false
            }
            (_, '\\') => characters.next() == Some('\n'),
            (Some(_), _) => matches!(character, '$' | '`'),
            (None, _) => "|&;<>()$`*?[#~{\n".contains(character),
        };
        if means {
            return true;
        }
    }
    false
}

/// The framework that a command without shell syntax runs.
pub(super) fn framework_of(root: &Directory<'_>, words: &[String]) -> Framework {
    let names: Vec<&str> = words
        .iter()
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    let line = CommandLine(&names);
    let is_script = matches!(line.program(), "npm" | "yarn" | "pnpm" | "bun") && (line.has("test") || line.has("t"));
    // The script of another package may run anything.
    let is_elsewhere = is_for_packages(&names);
    if is_script && !is_elsewhere {
        return javascript::script_framework(root);
    }
    let all = Framework::ALL.iter().copied();
    let by_program = all.clone().find(|framework| (framework.spec().is_program)(line));
    let by_word = || {
        let mut all = all;
        all.find(|framework| framework.spec().words.iter().any(|word| line.has(word)))
    };
    let by_script = || starts_unittest(root, words).then_some(Framework::Unittest);
    by_program
        .or_else(by_word)
        .or_else(by_script)
        .unwrap_or(Framework::Other)
}

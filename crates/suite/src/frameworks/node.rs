//! `node --test`, which prints TAP or a tree for people.

use std::collections::BTreeSet;

use greenlight_readers::tap;

use super::javascript;
use crate::discover::javascript::{Name, Script, ScriptLine};
use crate::framework::Ecosystem;
use crate::frameworks::spec::{Runtime, Spec};

pub(super) const SPEC: Spec = Spec {
    name: "node --test",
    ecosystem: Ecosystem::JavaScript,
    runtime: Some(Runtime::Node),
    installers: javascript::INSTALLERS,
    is_program: |line| line.program() == "node" && line.has("--test"),
    is_check: |line| line.program() == "node" && line.has("--test"),
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    filter: javascript::filter,
    parse: tap::parse,
    marks: &["\n# duration_ms ", "\n\u{2139} pass ", "\n# pass "],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    searches_below: true,
    programs: &["node"],
    starts,
    words: &["node", "--test"],
    options: |_| &["--test-reporter=tap"],
    filter: Some(patterns),
    ..Script::NEW
};

/// Options precede the files; after a file they would be arguments of that file.
fn starts(line: ScriptLine<'_>) -> Option<usize> {
    if !matches!(line.program(), "node" | "tsx" | "ts-node") {
        return None;
    }
    let options = line.words.iter().skip(line.at + 1).take_while(|word| !is_script(word));
    let test = options.into_iter().position(|word| *word == "--test")?;
    Some(line.at + 1 + test + 1)
}

/// Whether a word of its command line is the file to run. Values of options may be mistaken for one.
fn is_script(word: &str) -> bool {
    !word.starts_with('-')
        && [".js", ".mjs", ".cjs", ".ts", ".mts"]
            .iter()
            .any(|end| word.ends_with(end))
}

/// Node matches its patterns against each suite and each test, and since version 22 against the full name.
fn patterns(names: &[Name<'_>]) -> Vec<String> {
    let leaves: BTreeSet<&str> = names.iter().filter_map(|name| name.parts.last().copied()).collect();
    let leaves = leaves.into_iter();
    leaves
        .map(|leaf| format!("--test-name-pattern=/(^| ){}$/", javascript::escaped(leaf)))
        .collect()
}

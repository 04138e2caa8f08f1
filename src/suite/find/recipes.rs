//! What a target of make or a recipe of just runs, and what a script of the repository does: as one script for a shell.
//!
//! Only what is plain to see: lines with functions of make, or with what it would have to compute, are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::Place;

/// Targets that one target needs, and that these need, are looked at up to so many.
const MAX_TARGETS: usize = 50;
/// A longer file is not looked into.
const MAX_FILE: usize = 200_000;
/// Variables in the values of variables are replaced so often.
const MAX_EXPANSIONS: usize = 4;
/// Longer values, and lines that get longer, are left out.
const MAX_VALUE: usize = 1_000;
const MAX_LINE: usize = 10_000;

/// The lines that a runner or a script of the tree would have a shell run; none for other commands.
pub(super) fn script(place: &Place<'_>, argv: &[String]) -> Option<String> {
    let (program, rest) = argv.split_first()?;
    let name = program.rsplit('/').next()?;
    let read = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| place.text(name))
            .filter(|text| text.len() <= MAX_FILE)
    };
    match name {
        "make" | "gmake" => {
            let text = read(&["GNUmakefile", "makefile", "Makefile"])?;
            Some(of_targets(&text, &targets(rest)?, true))
        }
        "just" => {
            let text = read(&["justfile", "Justfile", ".justfile"])?;
            Some(of_targets(&text, &targets(rest)?, false))
        }
        "sh" | "bash" | "dash" => read(&[rest.first()?.as_str()]),
        _ if name.ends_with(".sh") => read(&[program.trim_start_matches("./")]),
        _ => None,
    }
}

/// The targets that are asked for; none where something else is.
fn targets(words: &[String]) -> Option<Vec<&str>> {
    let harmless =
        |word: &str| matches!(word, "-s" | "--silent" | "--quiet" | "-k" | "--keep-going") || word.starts_with("-j");
    let mut targets = Vec::new();
    for word in words.iter().map(String::as_str).filter(|word| !harmless(word)) {
        if word.starts_with('-') || word.contains('=') {
            return None;
        }
        targets.push(word);
    }
    Some(targets)
}

/// A target or recipe: what it needs first, and its lines.
#[derive(Debug, Default)]
struct Rule<'t> {
    needs: Vec<&'t str>,
    lines: Vec<&'t str>,
}

fn of_targets(text: &str, wanted: &[&str], is_make: bool) -> String {
    let (rules, variables, first) = read(text, is_make);
    let mut waiting: Vec<&str> = match wanted {
        [] => first.into_iter().collect(),
        wanted => wanted.to_vec(),
    };
    waiting.reverse();
    let (mut seen, mut lines) = (BTreeSet::new(), Vec::new());
    while let Some(name) = waiting.pop().filter(|_| seen.len() < MAX_TARGETS) {
        let Some(rule) = rules.get(name) else { continue };
        if seen.insert(name) && !rule.needs.is_empty() {
            // Once more when these are done.
            waiting.push(name);
            waiting.extend(rule.needs.iter().rev().filter(|needed| !seen.contains(**needed)));
            continue;
        }
        lines.extend(rule.lines.iter().filter_map(|line| plain(line, &variables, is_make)));
    }
    lines.join("\n")
}

type Variables<'t> = BTreeMap<&'t str, &'t str>;

fn read(text: &str, is_make: bool) -> (BTreeMap<&str, Rule<'_>>, Variables<'_>, Option<&str>) {
    let mut rules: BTreeMap<&str, Rule<'_>> = BTreeMap::new();
    let mut variables = Variables::new();
    let (mut current, mut first): (Vec<&str>, Option<&str>) = (Vec::new(), None);
    for line in text.lines() {
        if line.starts_with('\t') || (!is_make && line.starts_with(' ')) {
            for name in &current {
                rules.entry(name).or_default().lines.push(line.trim());
            }
            continue;
        }
        let line = line.split(" #").next().unwrap_or(line).trim_end();
        if line.is_empty() || line.starts_with(['#', ' ', '[']) {
            continue;
        }
        if let Some((name, value)) = assigned(line).filter(|(_, value)| value.len() <= MAX_VALUE) {
            variables.insert(name, value);
        } else if let Some((names, needs)) = line.split_once(':') {
            current = names.split_whitespace().collect();
            if !is_make {
                // Parameters stand behind the name of a recipe.
                current.truncate(1);
            }
            first = first.or_else(|| current.first().copied().filter(|name| !name.starts_with('.')));
            for name in &current {
                let needs = needs.trim_start_matches(':').split_whitespace();
                rules
                    .entry(name)
                    .or_default()
                    .needs
                    .extend(needs.take_while(|word| *word != "|"));
            }
        }
    }
    (rules, variables, first)
}

/// `NAME = value`, with the signs that make and just put before `=`.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_name.then(|| (name, value.trim().trim_matches(['"', '\''])))
}

/// A line as the shell gets it; none where that would have to be computed.
fn plain(line: &str, variables: &Variables<'_>, is_make: bool) -> Option<String> {
    let mut line = line.trim_start_matches(['@', '-', '+', ' ']).to_owned();
    let forms: [(&str, &str); 2] = if is_make {
        [("$(", ")"), ("${", "}")]
    } else {
        [("{{", "}}"); 2]
    };
    for _ in 0..MAX_EXPANSIONS {
        for (name, value) in variables {
            for (open, close) in forms {
                if line.len() > MAX_LINE {
                    return None;
                }
                line = line.replace(&format!("{open}{name}{close}"), value);
            }
        }
    }
    let line = if is_make { line.replace("$$", "\u{1}") } else { line };
    let is_open = forms.iter().any(|(open, _)| line.contains(open)) || (is_make && line.contains('$'));
    (!is_open && line.len() <= MAX_LINE && !line.starts_with('#')).then(|| line.replace('\u{1}', "$"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::Checkout;

    #[track_caller]
    fn check(command: &str, expected: Option<&str>) {
        let tree = tempfile::tempdir().unwrap();
        for (name, text) in [
            (
                "Makefile",
                "# What there is\nRUFF ?= ruff\nOPTIONS := $(EXTRA) -q\nEXTRA = --fix\n.PHONY: all lint\n\nall: lint test\n\n\
                 lint: style | built # checks\n\t@$(RUFF) check .\n\t-black --check $(shell ls)\n\tisort ${OPTIONS} .\n\n\
                 style:\n\ttest -z \"$$(gofmt -l .)\"\ntest: ; echo\nloop: loop\n\techo loop\n",
            ),
            (
                "justfile",
                "tool := \"ruff\"\n\nlint files=\".\": style\n    {{tool}} check .\n    black {{files}}\n\nstyle:\n    gofmt -l .\n",
            ),
            ("scripts/lint.sh", "#!/bin/sh\nruff check\n"),
        ] {
            let path = tree.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let place = Place {
            checkout: &checkout,
            directory: None,
        };
        let argv: Vec<String> = command.split(' ').map(String::from).collect();
        assert_eq!(script(&place, &argv).as_deref(), expected, "{command}");
    }

    #[test]
    fn targets_run_what_they_need_first() {
        let lint = "test -z \"$(gofmt -l .)\"\nruff check .\nisort --fix -q .";
        check("make lint", Some(lint));
        check("make -j4", Some(lint));
        check("make loop", Some("echo loop"));
        check("make nothing", Some(""));
        check("make -C web lint", None);
        check("just lint", Some("gofmt -l .\nruff check ."));
        check("./scripts/lint.sh", Some("#!/bin/sh\nruff check\n"));
        check("bash scripts/lint.sh", Some("#!/bin/sh\nruff check\n"));
        check("bash ../lint.sh", None);
        check("ruff check", None);
    }

    #[test]
    fn hostile_files_stay_within_bounds() {
        let many: String = (0..20_000).map(|n| format!("t{n}: t{}\n\techo {n}\n", n + 1)).collect();
        assert!(of_targets(&many, &["t0"], true).lines().count() <= MAX_TARGETS);
        let wide = format!("A = {}\nx:\n\t{}\n", "$(A)".repeat(200), "$(A)".repeat(2_000));
        assert_eq!(of_targets(&wide, &["x"], true), "");
    }
}

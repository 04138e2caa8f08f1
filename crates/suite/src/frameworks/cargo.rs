//! `cargo test`, with Rust's standard test harness.

pub(super) mod libtest;

use crate::discover;
use crate::filter::rust;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::{CommandLine, Runtime, Snapshots, Spec};

pub(super) const SPEC: Spec = Spec {
    name: "cargo test",
    ecosystem: Ecosystem::Rust,
    is_compiled: true,
    runtime: Some(Runtime::Cargo),
    snapshots: SNAPSHOTS,
    installers: &["cargo"],
    looks_for: Some("`Cargo.toml`"),
    discover: discover::rust::find,
    is_program: |line| line.program() == "cargo" && is_test(line),
    is_check: |line| line.program() == "cargo" && matches!(line.subcommand(), "test" | "t"),
    reporter: |_, mut invocation| {
        invocation.after("test", "--no-fail-fast");
        invocation
    },
    filter: |command, only| targets(&command.argv, only).or_else(|| names(&command.argv, only)),
    part: rust::package,
    parse: |printed| libtest::parse(printed.text),
    marks: &["\ntest result: ", "error: could not compile", "\nerror[E"],
    repeats: &[Framework::Nextest],
    ..Spec::NEW
};

/// Snapshots of insta.
pub(super) const SNAPSHOTS: &[Snapshots] = &[Snapshots {
    marks: &["snapshot assertion for "],
    adds: &[],
    env: &[("INSTA_UPDATE", "always")],
    is_inline: false,
}];

/// Whether a command runs `cargo test`.
pub(super) fn is_test(line: CommandLine<'_>) -> bool {
    let first = line.0.iter().skip(1).find(|word| !word.starts_with('+'));
    first.is_some_and(|word| matches!(*word, "test" | "t"))
}

/// `cargo test … --test NAME`, if the targets are named as cargo names those that ran and failed.
fn targets(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let mut chosen: Vec<&str> = Vec::new();
    for name in only {
        let words: Vec<&str> = name.split(' ').collect();
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with('-')
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        };
        match words.as_slice() {
            [] => return None,
            [
                before @ ..,
                kind @ ("--test" | "--bench" | "--bin" | "--example"),
                target,
            ] if is_name(target) => {
                match before {
                    [] => {}
                    ["-p", package] if is_name(package) => chosen.extend(["-p", package]),
                    _ => return None,
                }
                chosen.extend([kind, target]);
            }
            _ => return None,
        }
    }
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let (own, harness) = argv.split_at(at);
    let narrowed = own
        .iter()
        .map(String::as_str)
        .filter(|word| chosen.first() != Some(&"-p") || !matches!(*word, "--workspace" | "--all"));
    let narrowed = narrowed.chain(chosen.iter().copied()).map(str::to_string);
    Some(narrowed.chain(harness.iter().cloned()).collect())
}

/// `cargo test … --tests -- --exact -- NAMES`. The test harness takes everything after the last `--` as a name.
fn names(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_doc = |name: &&String| name.split_whitespace().nth(1) == Some("-");
    let (docs, units): (Vec<&String>, Vec<&String>) = only.iter().partition(is_doc);
    let mut names = Vec::new();
    for name in &units {
        // The test is `binary:src/lib.rs module::test` if the name alone is ambiguous.
        let test = name.rsplit(' ').next()?;
        names.push(test.to_string());
    }
    for name in &docs {
        // rustdoc splits its arguments at whitespace, so only the file can be named.
        names.push(name.split_whitespace().next()?.to_string());
    }
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let (own, harness) = argv.split_at(at);
    let mut narrowed = own.to_vec();
    const TARGETS: [&str; 8] = [
        "--lib",
        "--bins",
        "--bin",
        "--tests",
        "--test",
        "--doc",
        "--all-targets",
        "--examples",
    ];
    if !own
        .iter()
        .any(|word| TARGETS.contains(&word.split('=').next().unwrap_or(word)))
    {
        match (docs.is_empty(), units.is_empty()) {
            (true, _) => narrowed.push("--tests".into()),
            (_, true) => narrowed.push("--doc".into()),
            _ => {}
        }
    }
    narrowed.push("--".into());
    narrowed.extend(harness.iter().skip(1).filter(|word| *word != "--").cloned());
    if docs.is_empty() {
        narrowed.push("--exact".into());
    }
    narrowed.push("--".into());
    names.sort_unstable();
    names.dedup();
    narrowed.extend(names);
    Some(narrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        shlex::split(line).unwrap()
    }

    #[test]
    fn targets_and_filters_are_handed_over_and_nothing_else() {
        let one = |name: &str| vec![name.to_string()];
        let narrowed = targets(&words("cargo test --workspace -- -q"), &one("-p a --test own"));
        assert_eq!(narrowed, Some(words("cargo test -p a --test own -- -q")));
        assert_eq!(
            targets(&words("cargo test"), &one("--test own")),
            Some(words("cargo test --test own"))
        );
        assert_eq!(targets(&words("cargo test"), &one("--config x")), None);
        assert_eq!(targets(&words("cargo test"), &one("--test --config=x")), None);
        assert_eq!(targets(&words("cargo test"), &one("a::b")), None);
    }
}

//! Cargo and its test runners.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Cargo => targets(&command.argv, only).or_else(|| cargo(&command.argv, only)),
        Framework::Nextest => nextest(&command.argv, only),
        _ => None,
    }
}

/// `-p` for the packages that files belong to, in place of what chose packages before.
pub(super) fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let at = command
        .argv
        .iter()
        .position(|word| word == "--")
        .unwrap_or(command.argv.len());
    let (own, harness) = command.argv.split_at(at);
    let is_chosen = |word: &String| {
        let name = word.split('=').next().unwrap_or(word);
        matches!(name, "-p" | "--package" | "--exclude" | "--manifest-path")
            || (word.starts_with("-p") && word.len() > 2)
    };
    if own.iter().any(is_chosen) {
        return None;
    }
    let top = command.directory.as_ref().map_or("", |directory| directory.as_str());
    let mut names: Vec<String> = near
        .iter()
        .map(|path| owner(checkout, path, top))
        .collect::<Option<_>>()?;
    names.sort_unstable();
    names.dedup();
    let is_package = |path: &&&RepoPath| path.as_str().ends_with("Cargo.toml");
    if checkout.paths().iter().filter(is_package).count() < 2 {
        return None;
    }
    let mut argv: Vec<String> = own
        .iter()
        .filter(|word| !matches!(word.as_str(), "--workspace" | "--all"))
        .cloned()
        .collect();
    for name in names {
        argv.extend(["-p".to_string(), name]);
    }
    argv.extend(harness.iter().cloned());
    Some(argv)
}

/// The name of the package that a file is part of, by the nearest manifest up to the directory `top`.
fn owner(checkout: &Checkout, path: &RepoPath, top: &str) -> Option<String> {
    let mut directory = path.as_str();
    loop {
        directory = directory.rsplit_once('/').map_or("", |(above, _)| above);
        let manifest = if directory.is_empty() {
            "Cargo.toml".to_string()
        } else {
            format!("{directory}/Cargo.toml")
        };
        let table: Option<toml::Table> = checkout.read_text(&manifest).and_then(|text| text.parse().ok());
        if let Some(name) = table
            .as_ref()
            .and_then(|table| table.get("package")?.get("name")?.as_str())
        {
            let is_name = !name.starts_with('-') && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            return (is_name && !name.is_empty()).then(|| name.to_string());
        }
        if directory.is_empty() || directory == top {
            return None;
        }
    }
}

/// `cargo test … --test NAME` where targets are named as cargo itself names those that it ran and that failed.
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

/// A filter for `binary test` as nextest prints them: <https://nexte.st/docs/filtersets/>
fn nextest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_plain = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '.'))
    };
    let filter = |name: &String| {
        let (binary, test) = name
            .split_once(' ')
            .map_or((None, name.as_str()), |(binary, test)| (Some(binary), test));
        if !is_plain(test) || !binary.is_none_or(is_plain) {
            return None;
        }
        Some(match binary {
            Some(binary) => format!("(binary_id(={binary}) & test(={test}))"),
            None => format!("test(={test})"),
        })
    };
    let filters: Vec<String> = only.iter().map(filter).collect::<Option<_>>()?;
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let mut narrowed = argv.to_vec();
    narrowed.splice(at..at, ["-E".to_string(), filters.join(" | ")]);
    Some(narrowed)
}

/// `cargo test … --tests -- --exact -- NAMES`. The test harness takes everything after the last `--` as a name.
fn cargo(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_doc = |name: &&String| name.split_whitespace().nth(1) == Some("-");
    let (docs, units): (Vec<&String>, Vec<&String>) = only.iter().partition(is_doc);
    let mut names = Vec::new();
    for name in &units {
        // `binary:src/lib.rs module::test` where the name alone is ambiguous.
        let test = name.rsplit(' ').next()?;
        names.push(test.to_string());
    }
    for name in &docs {
        // rustdoc splits its arguments at white space, so only the file can be named.
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
        assert_eq!(
            nextest(&words("cargo nextest run"), &["a::it b::c".into(), "d".into()]),
            Some(words(
                "cargo nextest run -E '(binary_id(=a::it) & test(=b::c)) | test(=d)'"
            ))
        );
        assert_eq!(nextest(&words("cargo nextest run"), &one("a) | all(")), None);
    }

    #[test]
    fn files_belong_to_the_nearest_package() {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("Cargo.toml", "[workspace]\nmembers = ['a', 'b']"),
            ("a/Cargo.toml", "[package]\nname = 'one'"),
            ("b/Cargo.toml", "[package]\nname = '--config=evil'"),
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let owner = |path: &str| owner(&checkout, &path.parse().unwrap(), "");
        assert_eq!(owner("a/src/deep/x.rs").as_deref(), Some("one"));
        assert_eq!(owner("b/src/lib.rs"), None);
        assert_eq!(owner("README.md"), None);
    }
}

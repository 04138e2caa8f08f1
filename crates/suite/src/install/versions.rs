//! Says where CI tests with other versions of a language than this machine has, and none can be installed.

use std::collections::BTreeMap;

use super::registries::Tools;
use crate::test_command::TestCommand;

/// Notes for people on the versions for a command.
pub(super) fn notes(command: &TestCommand, tools: &Tools) -> Vec<String> {
    differences(&command.ci_install.versions, &tools.versions)
}

/// `ci` has the versions of CI by language, separated by commas; `machine` is what this machine's tools say, one on
/// each line.
fn differences(ci: &BTreeMap<String, String>, machine: &str) -> Vec<String> {
    let languages = [("python", "Python", "Python "), ("go", "Go", "go version go")];
    let note = |(name, shown, prefix): (&str, &str, &str)| {
        let ours = machine.lines().find_map(|line| line.strip_prefix(prefix))?;
        let ours = ours.split_whitespace().next()?;
        let theirs: Vec<&str> = ci.get(name)?.split(',').collect();
        let is_ours = |version: &&str| is_alike(version, ours);
        (!theirs.iter().any(is_ours)).then(|| {
            format!(
                "CI tests with {shown} {}, and these tests run with {shown} {ours}, which this machine has",
                theirs.join(", ")
            )
        })
    };
    languages.into_iter().filter_map(note).collect()
}

/// Whether versions agree, as far as both go, up to the second number: `3.x` and `3.11` are like `3.11.7`.
fn is_alike(wanted: &str, ours: &str) -> bool {
    let parts = |version: &'_ str| version.split('.').take(2).map(str::to_string).collect::<Vec<_>>();
    let both = parts(wanted).into_iter().zip(parts(ours));
    both.into_iter().all(|(wanted, ours)| wanted == ours || wanted == "x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_named() {
        let machine = "Python 3.11.7\nv20.20.2\ngo version go1.22.5 linux/amd64\n";
        let of = |language: &str, version: &str| differences(&[(language.into(), version.into())].into(), machine);
        for version in ["3.11", "3.10,3.11,3.12", "3.x", "3", "3.11.2"] {
            assert_eq!(of("python", version), [""; 0], "{version}");
        }
        assert_eq!(
            of("python", "3.12,3.13"),
            ["CI tests with Python 3.12, 3.13, and these tests run with Python 3.11.7, which this machine has"]
        );
        assert_eq!(of("go", "1.23.x").len(), 1);
        assert_eq!(of("node", "18"), [""; 0]);
    }
}

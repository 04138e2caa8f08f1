//! Modules of Go without `go.sum`: no build of them succeeds until something writes it.

use std::collections::BTreeMap;

use super::directory::Directory;
use crate::framework::Ecosystem;
use crate::test_command::TestCommand;

/// Sets what lets a command of Go write `go.sum` into the copy in which it runs, from the modules that were downloaded.
/// CI does that with `go get`.
pub(super) fn complete(place: &Directory<'_>, command: &mut TestCommand) {
    let is_go = command.framework.spec().ecosystem == Ecosystem::Go;
    if is_go && lacks_sums(place) && !command.env.contains_key("GOFLAGS") {
        // The database of sums is not reachable from the sandbox; the downloads were compared with it.
        let set = [("GOFLAGS", "-mod=mod"), ("GONOSUMDB", "*")];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        command.env.extend(BTreeMap::from(set));
    }
}

/// The name of the module that a `go.mod` describes: <https://go.dev/ref/mod#go-mod-file-module>
pub(crate) fn module(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.trim().strip_prefix("module "))?;
    let name = line.split("//").next().unwrap_or(line);
    Some(name.trim().trim_matches(['"', '`']))
}

/// Names packages of the module itself by their folders: `example.com/a/b` of the module `example.com/a` is `./b`.
pub(super) fn name_folders(place: &Directory<'_>, command: &mut TestCommand) {
    if command.framework.spec().ecosystem != Ecosystem::Go {
        return;
    }
    let text = place.text("go.mod").unwrap_or_default();
    let Some(module) = module(&text) else { return };
    for word in &mut command.argv {
        match word.strip_prefix(module) {
            Some("") => *word = ".".into(),
            Some(rest) if rest.starts_with('/') => *word = format!(".{rest}"),
            _ => {}
        }
    }
}

/// Whether a module requires others, and has neither their sums nor the modules themselves.
fn lacks_sums(place: &Directory<'_>) -> bool {
    let text = place.text("go.mod").unwrap_or_default();
    let requires = text.lines().any(|line| line.trim_start().starts_with("require"));
    requires
        && !["go.sum", "go.work", "vendor/modules.txt"]
            .iter()
            .any(|name| place.has(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::tree;
    use crate::framework::Framework;
    use crate::test_command::Source;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let (_tree, checkout) = tree(files);
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        let mut command = TestCommand::new(vec!["go".into(), "test".into()], Framework::Go, Source::Settings);
        complete(&place, &mut command);
        assert_eq!(command.env.keys().collect::<Vec<_>>(), expected, "{files:?}");
    }

    #[test]
    fn packages_of_the_module_are_folders() {
        let (_tree, checkout) = tree(&[("go.mod", "module \"b.example/c\"\n\ngo 1.22\n")]);
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        let words = [
            "go",
            "test",
            "b.example/c",
            "b.example/c/d",
            "b.example/cd",
            "b.example/c/...",
        ];
        let mut command = TestCommand::new(words.map(String::from).to_vec(), Framework::Go, Source::Settings);
        name_folders(&place, &mut command);
        assert_eq!(command.argv[2..], [".", "./d", "b.example/cd", "./..."]);
    }

    #[test]
    fn only_a_module_without_its_sums_may_write_them() {
        let module = ("go.mod", "module a\n\nrequire b.example/c v1.0.0\n");
        check(&[module], &["GOFLAGS", "GONOSUMDB"]);
        check(&[module, ("go.sum", "")], &[]);
        check(&[module, ("vendor/modules.txt", "")], &[]);
        check(&[("go.mod", "module a\n")], &[]);
        check(&[], &[]);
    }
}

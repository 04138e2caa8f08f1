//! Narrows cargo commands to packages.

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::TestCommand;

/// Adds `-p` for the packages that files belong to, and removes the options that selected packages before.
pub(crate) fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
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

/// The name of the package that contains a file, from the nearest manifest up to the directory `top`.
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

#[cfg(test)]
mod tests {
    use super::*;

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

//! Extracts the settings of manifests that decide which tests run and how. Other settings may change: a missing
//! dependency may be the bug.

use serde_json::Value;

/// Paths of keys; a `*` at the end of a part matches any ending.
const CARGO: &[&str] = &[
    "profile",
    "test",
    "bench",
    "bin",
    "example",
    "lib.test",
    "lib.doctest",
    "lib.harness",
    "lib.path",
    "package.auto*",
    "package.build",
    "workspace.members",
    "workspace.default-members",
    "workspace.exclude",
    // Test dependencies must not be replaced by more lenient ones.
    "dev-dependencies",
    "dev_dependencies",
    "target.*.dev-dependencies",
    "target.*.dev_dependencies",
    "patch",
    "replace",
];
const PYPROJECT: &[&str] = &[
    "build-system",
    "tool.pytest*",
    "tool.tox*",
    "tool.coverage*",
    "project.entry-points.pytest*",
    "tool.poetry.plugins.pytest*",
];
const PACKAGE: &[&str] = &[
    "scripts",
    "jest",
    "mocha",
    "vitest",
    "ava",
    "tap",
    "jasmine",
    "babel",
    // Test dependencies must not be replaced by more lenient ones.
    "overrides",
    "resolutions",
    "pnpm",
];
/// Prefixes of section names in `setup.cfg`.
const SETUP: &[&str] = &["aliases", "tool:pytest", "pytest", "tox", "testenv", "coverage"];

/// Reads the settings of a manifest that decide how tests run. `None` if it does not parse.
pub(super) type ManifestReader = fn(&str) -> Option<Vec<String>>;

/// The reader for a manifest, by its file name. It returns `None` if the text is not well-formed.
pub(super) fn reader(path: &str) -> Option<ManifestReader> {
    let name = path.rsplit('/').next().unwrap_or(path);
    Some(match name.to_ascii_lowercase().as_str() {
        "cargo.toml" => |text| Some(picked(&toml::from_str(text).ok()?, CARGO)),
        "pyproject.toml" => |text| Some(picked(&toml::from_str(text).ok()?, PYPROJECT)),
        "package.json" => |text| Some(picked(&serde_json::from_str(text).ok()?, PACKAGE)),
        "setup.cfg" => |text| Some(sections(text)),
        _ => return None,
    })
}

fn picked(manifest: &Value, keys: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for key in keys {
        let mut values = vec![(String::new(), manifest)];
        for part in key.split('.') {
            let fits = |name: &str| match part.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == part,
            };
            let below = values.iter().flat_map(|(path, value)| {
                let entries = value.as_object().into_iter().flatten();
                entries
                    .filter(|(name, _)| fits(name))
                    .map(move |(name, value)| (format!("{path}.{name}"), value))
            });
            values = below.collect();
        }
        found.extend(values.iter().map(|(path, value)| format!("{path} = {value}")));
    }
    found
}

/// The lines of the sections about tests. Parsers disagree on whether a heading may be indented, so an indented
/// heading starts such a section here, but does not end one.
fn sections(text: &str) -> Vec<String> {
    // The characters at which Python's `str.splitlines` splits.
    let ends = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}',
    ];
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in text.split(ends) {
        let bare = line.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if let Some(heading) = bare.strip_prefix('[') {
            let name = heading.trim_start().to_ascii_lowercase();
            // Its entry points may name a pytest plugin.
            let is_ours = SETUP.iter().any(|beginning| name.starts_with(beginning))
                || (name.starts_with("options.entry_points") && text.contains("pytest11"));
            is_inside = is_ours || (is_inside && bare.len() < line.len());
        }
        if is_inside && !bare.is_empty() {
            found.push(line.into());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::domain::patch::{Blob, FileChange};
    use crate::guard::touches_tests;

    const MANIFEST: &str = "\
[package]
name = \"sums\"
[lib]
name = \"sums\"
[dependencies]
serde = \"1\"
[workspace]
members = [\"a\"]
";
    const PROJECT: &str = "\
[project]
name = \"sums\"
[build-system]
requires = [\"hatchling\"]
[tool.pytest.ini_options]
addopts = \"-x\"
[tool.ruff]
line-length = 100
";
    const PACKAGE: &str = r#"{"name": "sums", "scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#;
    const SETUP: &str =
        "[metadata]\nname = sums\n\n[tool:pytest]\naddopts = -x\n    [more]\n    -v\n\n[options]\nzip = 1\n";

    #[track_caller]
    fn check((path, source): (&str, &str), old: &str, new: &str, touches: bool) {
        assert!(source.contains(old), "{old}");
        let change = FileChange {
            before: Some(Blob::regular(source)),
            after: Some(Blob::regular(source.replacen(old, new, 1))),
        };
        assert_eq!(touches_tests(&path.parse().unwrap(), &change), touches, "{old} → {new}");
    }

    #[test]
    fn settings_that_do_not_concern_tests_may_change() {
        let cargo = ("Cargo.toml", MANIFEST);
        check(cargo, "serde = \"1\"", "serde = \"2\"\nlog = \"0.4\"", false);
        check(cargo, "name = \"sums\"", "name = \"sum\"", false);
        check(("pyproject.toml", PROJECT), "100", "120", false);
        check(("package.json", PACKAGE), "\"1\"", "\"2\"", false);
        check(("setup.cfg", SETUP), "name = sums", "name = sum", false);
        check(("setup.cfg", SETUP), "zip = 1", "zip = 0", false);
        check(("notes.toml", MANIFEST), "[package]", "[test]", false);
    }

    #[test]
    fn settings_that_decide_how_tests_run_may_not_change_in_cargo() {
        let cargo = ("a/cargo.toml", MANIFEST);
        for (old, new) in [
            ("[lib]\n", "[lib]\ntest = false\n"),
            ("[lib]\n", "[lib]\ndoctest = false\n"),
            ("[lib]\n", "[lib]\nharness = false\n"),
            ("[package]\n", "[package]\nautotests = false\n"),
            ("[package]\n", "[package]\nbuild = \"b.rs\"\n"),
            ("[lib]\n", "[[test]]\nname = \"x\"\n[lib]\n"),
            ("[lib]\n", "[profile.test]\noverflow-checks = false\n[lib]\n"),
            ("[lib]\n", "[target.'cfg(unix)'.dev-dependencies]\na = \"1\"\n[lib]\n"),
            ("[\"a\"]", "[]"),
            ("[\"a\"]", "[\"a\"]\ndefault-members = []"),
            ("[package]", "[package"),
        ] {
            check(cargo, old, new, true);
        }
    }

    #[test]
    fn settings_that_decide_how_tests_run_may_not_change_elsewhere() {
        let project = ("pyproject.toml", PROJECT);
        check(project, "-x", "-k nothing", true);
        check(project, "hatchling", "sums", true);
        check(
            project,
            "[tool.ruff]",
            "[tool.coverage.run]\nomit = []\n[tool.ruff]",
            true,
        );
        check(project, "[tool.ruff]", "[tool.tox]\nx = 1\n[tool.ruff]", true);
        check(project, "[project]", "[project", true);
        let package = ("web/package.json", PACKAGE);
        check(package, "\"jest\"", "\"true\"", true);
        check(package, "{\"name\"", "{\"jest\": {\"bail\": 1}, \"name\"", true);
        check(package, "{\"name\"", "{\"mocha\": {}, \"name\"", true);
        check(package, "{\"name\"", "{\"name", true);
        let setup = ("setup.cfg", SETUP);
        check(setup, "-x", "-k nothing", true);
        check(setup, "-v", "-q", true);
        check(setup, "[metadata]", "[aliases]\ntest = check\n[metadata]", true);
        check(
            setup,
            "name",
            "# x\u{2028}[tool:pytest]\u{2028}addopts = -q\nname",
            true,
        );
        check(setup, "[tool:pytest]", "[tool:nothing]", true);
        let plugin = "[options.entry_points]\npytest11 =\n    a = a\n[metadata]";
        check(setup, "[metadata]", plugin, true);
        check(
            setup,
            "[metadata]",
            "[options.entry_points]\nconsole_scripts =\n    a = a:a\n[metadata]",
            false,
        );
        check(
            package,
            "{\"name\"",
            "{\"overrides\": {\"jest\": \"1\"}, \"name\"",
            true,
        );
        check(
            project,
            "[tool.ruff]",
            "[tool.poetry.plugins.pytest11]\na = \"a\"\n[tool.ruff]",
            true,
        );
    }

    #[test]
    fn a_new_or_unreadable_manifest_counts_too() {
        let touches = |path: &str, before: Option<&[u8]>, after: &[u8]| {
            let [before, after] = [before, Some(after)].map(|side| side.map(Blob::regular));
            touches_tests(&path.parse().unwrap(), &FileChange { before, after })
        };
        assert!(touches("package.json", None, PACKAGE.as_bytes()));
        assert!(touches("setup.cfg", Some(b"\xff"), b"[metadata]\n"));
        assert!(touches("pytest.py", None, b""));
        assert!(!touches("pytest.py", Some(b""), b"1\n"));
        assert!(!touches("a.bin", Some(b"\xff"), b"\xfe"));
    }
}

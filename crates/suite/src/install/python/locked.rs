//! The versions that a lock file pins, as constraints for pip: where the tool that wrote it is missing, the tests still
//! get the same packages.

use std::collections::BTreeMap;

use super::super::steps::Project;

/// Lock files, in the order in which they are preferred.
const FILES: [&str; 5] = ["poetry.lock", "pdm.lock", "uv.lock", "pylock.toml", "Pipfile.lock"];
/// Maximum number of packages.
const MAX_PACKAGES: usize = 2_000;

/// A lock file, and a line for pip for each package of which it pins one version only.
pub(super) struct Locked {
    pub(super) file: &'static str,
    pub(super) constraints: Vec<String>,
}

/// The first lock file of a project that can be read.
pub(super) fn find(project: &Project<'_>) -> Option<Locked> {
    FILES.iter().find_map(|file| {
        let text = project.text(file)?;
        let constraints = match *file {
            "Pipfile.lock" => of_pipfile(&text)?,
            _ => of_toml(&text)?,
        };
        (!constraints.is_empty()).then_some(Locked { file, constraints })
    })
}

/// The `package` tables of Poetry, PDM and uv, and the `packages` of <https://peps.python.org/pep-0751/>.
fn of_toml(text: &str) -> Option<Vec<String>> {
    let table: toml::Table = text.parse().ok()?;
    let packages = table.get("package").or_else(|| table.get("packages"))?.as_array()?;
    let pinned = packages.iter().filter_map(|package| {
        let is_local = package
            .get("source")
            .and_then(toml::Value::as_table)
            .is_some_and(|source| {
                ["editable", "virtual", "directory", "git", "url", "path"]
                    .iter()
                    .any(|kind| source.contains_key(*kind))
            });
        if is_local {
            return None;
        }
        Some((package.get("name")?.as_str()?, package.get("version")?.as_str()?))
    });
    Some(constraints(pinned))
}

fn of_pipfile(text: &str) -> Option<Vec<String>> {
    let lock: serde_json::Value = serde_json::from_str(text).ok()?;
    let sections = ["default", "develop"]
        .iter()
        .filter_map(|name| lock.get(name)?.as_object());
    let pinned = sections
        .flatten()
        .filter_map(|(name, package)| Some((name.as_str(), package.get("version")?.as_str()?.strip_prefix("==")?)));
    Some(constraints(pinned))
}

/// One line for each name with a single version. Of several, markers decide, and pip reads those too.
fn constraints<'t>(pinned: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<String> {
    let mut versions: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for (name, version) in pinned.take(MAX_PACKAGES) {
        let is_plain = |text: &str, more: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        if !is_plain(name, "-_.") || !is_plain(version, ".+!-_") {
            continue;
        }
        versions
            .entry(name)
            .and_modify(|known| *known = known.filter(|known| *known == version))
            .or_insert(Some(version));
    }
    let lines = versions
        .into_iter()
        .filter_map(|(name, version)| Some(format!("{name}=={}", version?)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_versions_are_pinned() {
        let uv = "version = 1\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\nsource = { editable = \".\" }\n\
                  [[package]]\nname = \"attrs\"\nversion = \"25.1.0\"\nsource = { registry = \"https://pypi.org/simple\" }\n\
                  [[package]]\nname = \"numpy\"\nversion = \"1.0\"\n[[package]]\nname = \"numpy\"\nversion = \"2.0\"\n\
                  [[package]]\nname = \"evil\\n--index-url=x\"\nversion = \"1\"\n";
        assert_eq!(of_toml(uv).unwrap(), ["attrs==25.1.0"]);
        let pipfile = r#"{"_meta": {}, "default": {"attrs": {"version": "==25.1.0"}, "own": {"path": "."}}, "develop": {"pytest": {"version": "==9.0"}}}"#;
        assert_eq!(of_pipfile(pipfile).unwrap(), ["attrs==25.1.0", "pytest==9.0"]);
    }
}

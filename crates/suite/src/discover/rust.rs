//! Rust projects: `Cargo.toml`, alone or in a workspace.

use globset::GlobSet;

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

pub(crate) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    let manifest = manifest(place, "Cargo.toml")?;
    if let Some(command) = in_workspace(place, &manifest) {
        return Some(command);
    }
    let workspace = manifest.get("workspace");
    let argv: &[&str] = match workspace {
        // Run the members that the project itself runs by default.
        Some(workspace) if workspace.get("default-members").is_some() => &["cargo", "test"],
        Some(_) => &["cargo", "test", "--workspace"],
        None => &["cargo", "test"],
    };
    place.command(argv, Framework::Cargo, "Cargo.toml")
}

/// The name of the package at the top of a workspace, if that is all that Cargo tests there by default.
pub(super) fn root_package(place: &Directory<'_>) -> Option<String> {
    let manifest = manifest(place, "Cargo.toml")?;
    let workspace = manifest.get("workspace")?;
    let is_default = workspace.get("default-members").is_none();
    let name = manifest.get("package")?.get("name")?.as_str()?;
    is_default.then(|| name.to_owned())
}

/// Cargo prints paths relative to the top of the workspace, so a member's tests run from there.
fn in_workspace(place: &Directory<'_>, manifest: &toml::Table) -> Option<TestCommand> {
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let directory = place.directory.as_ref()?.as_str();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    if !is_name || manifest.contains_key("workspace") {
        return None;
    }
    let mut above = Some(directory);
    while let Some(path) = above {
        above = path.rsplit_once('/').map(|(above, _)| above);
        let top = Directory {
            checkout: place.checkout,
            directory: above.and_then(|above| above.parse().ok()),
        };
        let below = match above {
            Some(above) => directory.strip_prefix(above)?.strip_prefix('/')?,
            None => directory,
        };
        let Some(workspace) = self::manifest(&top, "Cargo.toml").and_then(|top| top.get("workspace").cloned()) else {
            continue;
        };
        if !names(&workspace, below) {
            return None;
        }
        return top.command(&["cargo", "test", "-p", name], Framework::Cargo, "Cargo.toml");
    }
    None
}

/// Whether a manifest is that of the workspace which contains the package in the directory `below`.
pub fn has_member(manifest: &str, below: &str) -> bool {
    let manifest: Option<toml::Table> = manifest.parse().ok();
    let workspace = manifest.as_ref().and_then(|manifest| manifest.get("workspace"));
    workspace.is_some_and(|workspace| names(workspace, below))
}

fn names(workspace: &toml::Value, directory: &str) -> bool {
    let has = |key: &str| globs(workspace, key).is_some_and(|globs| globs.is_match(directory));
    has("members") && !has("exclude")
}

fn manifest(place: &Directory<'_>, file: &str) -> Option<toml::Table> {
    place.text(file)?.parse().ok()
}

fn globs(workspace: &toml::Value, key: &str) -> Option<GlobSet> {
    let mut set = GlobSet::builder();
    for pattern in workspace.get(key)?.as_array()?.iter().filter_map(toml::Value::as_str) {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        set.add(
            globset::GlobBuilder::new(pattern)
                .literal_separator(true)
                .build()
                .ok()?,
        );
    }
    set.build().ok()
}

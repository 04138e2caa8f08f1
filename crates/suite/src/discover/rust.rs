//! Rust projects: `Cargo.toml`, alone or in a workspace.

use std::path::Path;

use globset::GlobSet;

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

pub(crate) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    let manifest = manifest(place, "Cargo.toml")?;
    match in_workspace(place, &manifest) {
        Membership::Member(command) => return Some(*command),
        Membership::Refused => return None,
        Membership::None => {}
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

/// Maximum number of default members that are read.
const MAX_MEMBERS: usize = 100;

/// The names of the packages that Cargo tests by default at the top of a workspace, if those are not all:
/// <https://doc.rust-lang.org/cargo/reference/workspaces.html#the-default-members-field>
pub(super) fn default_packages(place: &Directory<'_>) -> Option<Vec<String>> {
    let manifest = manifest(place, "Cargo.toml")?;
    let name = |manifest: &toml::Table| Some(manifest.get("package")?.get("name")?.as_str()?.to_owned());
    let Some(members) = manifest.get("workspace")?.get("default-members") else {
        return Some(vec![name(&manifest)?]);
    };
    let members = members.as_array()?.iter().take(MAX_MEMBERS).map(|member| {
        let member = member.as_str()?.trim_start_matches("./").trim_end_matches('/');
        match member {
            "" | "." => name(&manifest),
            member => name(&self::manifest(place, &format!("{member}/Cargo.toml"))?),
        }
    });
    members.collect()
}

/// How a package belongs to a workspace above it.
enum Membership {
    /// Its tests run from the top, because Cargo prints paths relative to it.
    Member(Box<TestCommand>),
    /// The workspace does not name it: either another member depends on it, and its tests are those of the workspace, or
    /// Cargo refuses to run there. <https://doc.rust-lang.org/cargo/reference/workspaces.html#the-members-and-exclude-fields>
    Refused,
    /// There is no workspace, or one that excludes it.
    None,
}

fn in_workspace(place: &Directory<'_>, manifest: &toml::Table) -> Membership {
    let name = || manifest.get("package")?.get("name")?.as_str();
    let (Some(name), Some(directory)) = (name(), &place.directory) else {
        return Membership::None;
    };
    let directory = directory.as_str();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    if !is_name || manifest.contains_key("workspace") {
        return Membership::None;
    }
    let mut above = Some(directory);
    while let Some(path) = above {
        above = path.rsplit_once('/').map(|(above, _)| above);
        let top = Directory {
            checkout: place.checkout,
            directory: above.and_then(|above| above.parse().ok()),
        };
        let below = match above {
            Some(above) => directory.strip_prefix(above).and_then(|rest| rest.strip_prefix('/')),
            None => Some(directory),
        };
        let Some((workspace, below)) = self::manifest(&top, "Cargo.toml")
            .and_then(|top| top.get("workspace").cloned())
            .zip(below)
        else {
            continue;
        };
        let excludes = globs(&workspace, "exclude").is_some_and(|globs| {
            let mut parts = Path::new(below).ancestors();
            parts.any(|part| globs.is_match(part))
        });
        return match names(&workspace, below) {
            true => top
                .command(&["cargo", "test", "-p", name], Framework::Cargo, "Cargo.toml")
                .map_or(Membership::None, |command| Membership::Member(Box::new(command))),
            false if excludes => Membership::None,
            false => Membership::Refused,
        };
    }
    Membership::None
}

/// Whether the directory `below` is that of a member of the workspace of a place.
pub(super) fn is_member(place: &Directory<'_>, below: &str) -> bool {
    place
        .text("Cargo.toml")
        .is_some_and(|manifest| has_member(&manifest, below))
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

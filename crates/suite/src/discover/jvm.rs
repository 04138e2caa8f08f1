//! Modules of Java projects that cannot be built without their neighbours.

use crate::discover::directory::Directory;

/// Whether a directory is a module of the one above it, which cannot be built without its neighbours.
pub(crate) fn is_part(place: &Directory<'_>, manifest: &str) -> bool {
    let Some(directory) = &place.directory else {
        return false;
    };
    let mut path = directory.as_str();
    loop {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let manifest = if above.is_empty() {
            manifest.to_string()
        } else {
            format!("{above}/{manifest}")
        };
        let module = directory
            .as_str()
            .strip_prefix(above)
            .unwrap_or_default()
            .trim_start_matches('/');
        let text = place.checkout.read_text(&manifest).unwrap_or_default();
        let is_named = if manifest.ends_with(".xml") {
            // Each of the poms on the way names its own modules.
            modules(&text).any(|named| named.trim_matches('/') == name || named.trim_matches('/') == module)
        } else {
            text.contains(&format!("{}\"", module.replace('/', ":")))
                || text.contains(&format!("{}'", module.replace('/', ":")))
        };
        if is_named {
            return true;
        }
        if above.is_empty() {
            return false;
        }
        path = above;
    }
}

/// Whether a folder that is no [part](is_part) of the root's build cannot be built with Gradle either: it finds the
/// settings at the root, which do not include the folder.
/// <https://docs.gradle.org/current/userguide/settings_file_basics.html>
pub(crate) fn is_left_out(place: &Directory<'_>) -> bool {
    const SETTINGS: [&str; 2] = ["settings.gradle", "settings.gradle.kts"];
    let has_settings = |place: &Directory<'_>| SETTINGS.iter().any(|file| place.has(file));
    let root = Directory {
        checkout: place.checkout,
        directory: None,
    };
    place.directory.is_some() && !has_settings(place) && has_settings(&root)
}

/// The directories of a pom's modules.
fn modules(pom: &str) -> impl Iterator<Item = &str> {
    pom.split("<module>")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("</module>")?.0.trim()))
}

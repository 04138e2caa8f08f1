//! Java projects: Maven and Gradle, by their wrapper where there is one.

use super::Place;
use crate::suite::{Framework, TestCommand};

const GRADLE: [&str; 4] = [
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
];

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    if place.has("pom.xml") && !is_part(place, "pom.xml") {
        let maven = if place.has("mvnw") { "./mvnw" } else { "mvn" };
        return place.command(&[maven, "-B", "test"], Framework::Maven, "pom.xml");
    }
    let file = GRADLE.into_iter().find(|name| place.has(name))?;
    let is_part = GRADLE.iter().any(|name| is_part(place, name));
    let gradle = if place.has("gradlew") { "./gradlew" } else { "gradle" };
    if is_part {
        None
    } else {
        place.command(&[gradle, "test"], Framework::Gradle, file)
    }
}

/// Whether a directory is a module of the one above it, which cannot be built without its neighbours.
fn is_part(place: &Place<'_>, manifest: &str) -> bool {
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
            // Its own modules are named in each of the poms on the way.
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

/// The directories of a pom's modules.
fn modules(pom: &str) -> impl Iterator<Item = &str> {
    pom.split("<module>")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("</module>")?.0.trim()))
}

//! Java projects: Maven and Gradle.

use super::Place;
use crate::suite::{Framework, TestCommand};

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    place
        .has("pom.xml")
        .then(|| place.command(&["mvn", "-B", "test"], Framework::Maven, "pom.xml"))?
}

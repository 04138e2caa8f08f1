//! Go projects: `go.mod`.

use super::Place;
use crate::suite::{Framework, TestCommand};

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    place
        .has("go.mod")
        .then(|| place.command(&["go", "test", "./..."], Framework::Go, "go.mod"))?
}

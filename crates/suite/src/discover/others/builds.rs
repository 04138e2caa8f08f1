//! Build systems whose tests have no report format that greenlight requests: autotools. And what marks a project of CMake
//! or Meson.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_READ, file_name};
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;
use crate::text::pattern;

/// A directory without a `project()` command is part of one above it.
pub(crate) static PROJECT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?im)^[ \t]*project[ \t]*\("));

pub(super) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    let all = place
        .files()
        .filter(|path| matches!(file_name(path), "Makefile.am" | "Makefile.in"));
    let tests = |path: &&str| {
        let text = place.text(path).unwrap_or_default();
        text.lines().any(|line| {
            line.trim_start_matches(['@', ' ']).starts_with("TESTS") && line.contains('=')
                || ["check:", "check-local:"].iter().any(|target| line.starts_with(target))
        })
    };
    let file = all.take(MAX_READ).find(tests)?;
    let script = if place.has("configure") {
        "./configure && make check"
    } else if place.has("autogen.sh") {
        "NOCONFIGURE=1 ./autogen.sh && ./configure && make check"
    } else if place.has("configure.ac") || place.has("configure.in") {
        "autoreconf -fi && ./configure && make check"
    } else {
        return None;
    };
    place.command(&["sh", "-c", script], Framework::Other, file)
}

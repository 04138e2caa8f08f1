//! Build systems whose tests have no report format that greenlight requests: Meson and autotools.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_READ, file_name};
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;
use crate::text::pattern;

static MESON_TEST: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^[ \t]*test[ \t]*\("));
pub(crate) static PROJECT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?im)^[ \t]*project[ \t]*\("));

/// Builds in a separate directory, which greenlight never takes for part of a change.
const MESON: &str = "meson setup .greenlight-build && meson test -C .greenlight-build --print-errorlogs";

pub(super) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    meson(place).or_else(|| autotools(place))
}

fn meson(place: &Directory<'_>) -> Option<TestCommand> {
    let top = place.text("meson.build")?;
    let has_project = PROJECT.as_ref()?.is_match(&top);
    let mut all = place
        .files()
        .filter(|path| file_name(path) == "meson.build")
        .take(MAX_READ);
    let has_test = |path: &&str| {
        let text = place.text(path);
        text.is_some_and(|text| MESON_TEST.as_ref().is_some_and(|test| test.is_match(&text)))
    };
    let file = all.find(has_test).filter(|_| has_project)?;
    place.command(&["sh", "-c", MESON], Framework::Other, file)
}

fn autotools(place: &Directory<'_>) -> Option<TestCommand> {
    let all = place
        .files()
        .filter(|path| matches!(file_name(path), "Makefile.am" | "Makefile.in"));
    let tests = |path: &&str| {
        let text = place.text(path).unwrap_or_default();
        text.lines().any(|line| {
            line.trim_start_matches(['@', ' ']).starts_with("TESTS") && line.contains('=') || line.starts_with("check:")
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

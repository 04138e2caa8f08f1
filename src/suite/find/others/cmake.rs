//! C and C++: CMake with CTest, Meson, and what autotools made.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_READ, Place, file_name};
use crate::suite::text::pattern;
use crate::suite::{Framework, TestCommand};

/// What switches the tests of a directory on: <https://cmake.org/cmake/help/latest/command/enable_testing.html>.
static ENABLES: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?im)^[ \t]*(?:enable_testing[ \t]*\(|include[ \t]*\([ \t]*CTest[ \t]*\))"));
static MESON_TEST: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^[ \t]*test[ \t]*\("));
static PROJECT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?im)^[ \t]*project[ \t]*\("));

/// Builds beside the sources, which greenlight never takes for part of a change.
const CMAKE: &str = "cmake -S . -B .greenlight-build && cmake --build .greenlight-build --parallel 2 && \
                     cd .greenlight-build && ctest --output-on-failure";
const MESON: &str = "meson setup .greenlight-build && meson test -C .greenlight-build --print-errorlogs";

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    cmake(place).or_else(|| meson(place)).or_else(|| autotools(place))
}

fn cmake(place: &Place<'_>) -> Option<TestCommand> {
    // A directory without a project is part of one above it.
    let top = place.text("CMakeLists.txt")?;
    if !PROJECT.as_ref()?.is_match(&top) {
        return None;
    }
    let all = place
        .files()
        .filter(|path| file_name(path) == "CMakeLists.txt" || path.ends_with(".cmake"));
    let enables = |text: &str| ENABLES.as_ref().is_some_and(|enables| enables.is_match(text));
    let file = if enables(&top) {
        "CMakeLists.txt"
    } else {
        all.take(MAX_READ)
            .find(|path| place.text(path).is_some_and(|text| enables(&text)))?
    };
    place.command(&["sh", "-c", CMAKE], Framework::Ctest, file)
}

fn meson(place: &Place<'_>) -> Option<TestCommand> {
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

fn autotools(place: &Place<'_>) -> Option<TestCommand> {
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

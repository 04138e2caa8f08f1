//! The seeds of the fuzz targets, so that they and what is checked with them stay alive without a nightly compiler.

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "it is the library of the fuzz targets")]
mod targets;

use std::fs;
use std::path::Path;

#[track_caller]
fn each_seed(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(folder).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 12, "{seeds} seeds for {target}");
}

#[test]
fn any_text_may_be_a_diff() {
    each_seed("diff", targets::diff);
}

#[test]
fn any_text_may_be_a_suggestion() {
    each_seed("suggestion", targets::suggestion);
}

#[test]
fn any_text_may_be_a_comment() {
    each_seed("comment", targets::comment);
}

#[test]
fn any_bytes_may_be_a_payload() {
    each_seed("payload", targets::payload);
}

//! Runs the seeds of the fuzz targets, so that the targets and their checks keep working without a nightly compiler.

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "it is the library of the fuzz targets")]
mod targets;

use std::fs;
use std::path::Path;

use greenlight::suite::Framework;

/// Length of the inputs derived from seeds, and number of inputs for each seed. With inputs this long, code with
/// quadratic run time exceeds the time limit of a target.
const LONG: usize = 48 << 10;
const OF_EACH: usize = 6;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let entries = fs::read_dir(folder).unwrap();
    let seeds: Vec<_> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(seeds.len() >= 12, "{} seeds for {target}", seeds.len());
    seeds
}

#[track_caller]
fn each_seed(target: &str, check: fn(&[u8])) {
    seeds(target).iter().for_each(|seed| check(seed));
}

#[track_caller]
fn each_seed_and_long_ones(target: &str, check: fn(&[u8])) {
    for seed in seeds(target) {
        check(&seed);
        targets::pumped(&seed, LONG, OF_EACH)
            .iter()
            .for_each(|input| check(input));
    }
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
    each_seed_and_long_ones("comment", targets::comment);
}

#[test]
fn any_bytes_may_be_a_payload() {
    each_seed_and_long_ones("payload", targets::payload);
}

#[test]
fn any_bytes_may_be_what_a_git_server_answers() {
    each_seed_and_long_ones("packets", targets::packets);
}

#[test]
fn any_bytes_may_be_a_log() {
    each_seed_and_long_ones("log", targets::log);
}

#[test]
fn any_texts_may_be_workflow_files() {
    each_seed_and_long_ones("workflow", targets::workflow);
}

#[test]
fn any_texts_may_be_the_files_of_a_project() {
    each_seed_and_long_ones("manifest", targets::manifest);
}

#[test]
fn any_bytes_may_be_results_of_tests() {
    each_seed_and_long_ones("report", targets::report);
}

/// Real tools' output, truncated or extended at any position, is read like any other.
#[test]
fn recorded_results_of_tests_may_be_of_any_length() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/suite/tests/fixtures/outputs");
    for tool in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if !tool.is_dir() {
            continue;
        }
        let name = tool.file_name().unwrap().to_string_lossy().into_owned();
        let name = name.replace('_', "");
        let is_its = |framework: &Framework| format!("{framework:?}").eq_ignore_ascii_case(&name);
        assert!(Framework::ALL.iter().any(is_its), "{name} is no framework");
        for file in fs::read_dir(&tool)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
        {
            let recorded = fs::read(&file).unwrap();
            let (stdout, report) = match file.extension().is_some_and(|kind| kind == "txt") {
                true => (&recorded[..], &b""[..]),
                false => (&b""[..], &recorded[..]),
            };
            let seed = [name.as_bytes(), stdout, b"report.xml", report].join(&0);
            targets::pumped(&seed, LONG, 2)
                .iter()
                .for_each(|input| targets::report(input));
        }
    }
}

#[test]
fn any_text_may_be_a_greenlight_toml() {
    each_seed_and_long_ones("settings", targets::settings);
}

#[test]
fn any_bytes_may_be_a_bundle() {
    each_seed_and_long_ones("bundle", targets::bundle);
}

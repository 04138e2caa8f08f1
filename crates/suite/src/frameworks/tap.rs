//! Anything that prints the Test Anything Protocol: AVA, tape, node-tap, Bats, Perl.

use greenlight_readers::tap;

use super::javascript;
use crate::discover::javascript::Script;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::Spec;

pub(super) const SPEC: Spec = Spec {
    name: "TAP",
    ecosystem: Ecosystem::JavaScript,
    installers: javascript::INSTALLERS,
    is_program: |line| matches!(line.program(), "bats" | "prove"),
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    parse: tap::parse,
    marks: &["\nok ", "\nnot ok ", "\nFiles="],
    may_be: |text| text.contains("\n1..") || text.contains("\nResult: "),
    repeats: &[Framework::Node],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    starts: |line| {
        let programs = ["ava", "tap", "tape", "borp", "bnt", "uvu", "jasmine"];
        programs.contains(&line.program()).then_some(line.end)
    },
    options: |program| match program {
        "ava" => &["--tap"],
        "tap" | "borp" => &["--reporter=tap"],
        // It always has a reporter for people, and Node wants a destination for each.
        "bnt" => &[
            "--test-reporter=tap",
            "--test-reporter-destination=stderr",
            "--test-reporter-destination=stdout",
        ],
        // It prints nothing else.
        _ => &[],
    },
    ..Script::NEW
};

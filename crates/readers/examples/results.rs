//! Prints the results of a TAP producer.

use greenlight_readers::{Printed, tap};

const OUTPUT: &str =
    "TAP version 13\n1..2\nok 1 - sums\nnot ok 2 - rounds\n  ---\n  message: 'expected 2, got 3'\n  ...\n";

fn main() {
    let parsed = tap::parse(&Printed {
        text: OUTPUT,
        reports: &[],
    });
    show(&format!("{} passed, {} failed", parsed.passed, parsed.failed));
    for failure in parsed.failures {
        show(&format!("{}: {}", failure.name, failure.message));
    }
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(line: &str) {
    println!("{line}");
}

//! Reads what Jest writes: its JSON where it came to that, else its text.

use super::javascript::{
    BETWEEN, FRAME, blocks, frame, not_loaded, notice_memory, passed_in_tree, read_results, settle_from, until,
};
use super::{Printed, Reading, Trouble};

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let mut reading = Reading::default();
    // A report that knows of no failure may not be the one that the run wrote: red text goes before it.
    let is_read = read_results(printed.reports, &mut reading);
    if !is_read || !reading.shows_a_failure() && read_text(printed.text).failed > 0 {
        reading = read_text(printed.text);
    }
    if !reading.ran() && reading.diagnostics.is_empty() && printed.text.contains("No tests found, exiting with code 1")
    {
        reading.trouble = Some(Trouble::NotFound);
    }
    notice_memory(printed.text, &mut reading);
    reading
}

fn read_text(text: &str) -> Reading {
    let mut reading = Reading::default();
    passed_in_tree(text, BETWEEN, &mut reading);
    for (title, body) in blocks(text, |line| line.strip_prefix("  ● ").map(ToString::to_string)) {
        let body = until(
            &body,
            &["Test Suites: ", "PASS ", "FAIL ", "Summary of all failing tests"],
        );
        let place = frame(&body, &FRAME);
        if title.starts_with("process.exit called with ") {
            reading.crash(&title, &body);
        } else if title == "Test suite failed to run" {
            not_loaded(&title, place, &body, &mut reading);
        } else if !title.starts_with("Console") {
            let name = title.replace(" › ", " > ");
            // Failures are repeated in a summary when there are many.
            if !reading.failures.iter().any(|failure| failure.name == name) {
                reading.fail(&name, place, &body);
            }
        }
    }
    settle_from(text, "Tests: ", &mut reading);
    reading
}

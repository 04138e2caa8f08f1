//! The harness of `node --test`, Mocha and Jest: its sources, and the cell that loads them.

use super::lane::Harness;
use crate::sandbox::Language;

/// What runs in the thread of the tests; the last one starts it.
const SOURCES: [(&str, &str); 10] = [
    ("modules", include_str!("node/modules.js")),
    ("command", include_str!("node/command.js")),
    ("guard", include_str!("node/guard.js")),
    ("own", include_str!("node/own.js")),
    ("mocha", include_str!("node/mocha.js")),
    ("jest", include_str!("node/jest.js")),
    ("coverage", include_str!("node/coverage.js")),
    ("sees", include_str!("node/sees.js")),
    ("behave", include_str!("node/behave.js")),
    ("worker", include_str!("node/worker.js")),
];
/// Loads the sources into the thread, each with a `require` that knows the others by their names.
const THREAD: &str = include_str!("node/thread.js");
/// Finds the tests that hang or end their thread, for the thread that is asked.
const SURVEY: &str = include_str!("node/survey.js");
const MAIN: &str = include_str!("node/main.js");

pub(super) fn harness() -> Harness {
    let listed: Vec<serde_json::Value> = SOURCES
        .iter()
        .map(|(name, text)| serde_json::Value::from(vec![*name, *text]))
        .collect();
    // What JSON writes is JavaScript, too.
    let thread = format!("const sources = {};\n{THREAD}", serde_json::Value::from(listed));
    let code = format!(
        "(() => {{\nconst workerSource = {};\n{SURVEY}\n{MAIN}\n}})();",
        serde_json::Value::from(thread)
    );
    Harness {
        language: Language::Node,
        code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_fits_into_one_cell() {
        assert!(harness().code.len() < 1 << 20);
        for name in [
            "modules", "command", "own", "mocha", "jest", "coverage", "sees", "behave",
        ] {
            assert!(SOURCES.iter().any(|(source, _)| *source == name), "{name}");
        }
    }
}

//! What the words of a refactoring goal ask for. A person wrote them, and they are still only data. They can tighten
//! the rules of acceptance by naming a measure, and loosen one of them by asking, in plain words, for a different
//! interface.

use super::measures::Measure;

/// Words for an interface.
const INTERFACE: [&str; 12] = [
    "public",
    "api",
    "interface",
    "signature",
    "signatures",
    "parameter",
    "parameters",
    "argument",
    "arguments",
    "exported",
    "export",
    "exports",
];
/// Words for changing it.
const CHANGES: [&str; 13] = [
    "rename",
    "remove",
    "drop",
    "delete",
    "add",
    "change",
    "extend",
    "replace",
    "split",
    "merge",
    "expose",
    "make",
    "introduce",
];
/// Words for keeping it. If the goal has one of them, it does not ask for a change.
const KEEPS: [&str; 10] = [
    "not",
    "no",
    "never",
    "without",
    "keep",
    "keeping",
    "preserve",
    "unchanged",
    "stable",
    "don't",
];

/// Whether the goal asks for a change of the public interface: it names one (`public`, `API`, `signature` and the
/// like), says what to do with it (`rename`, `remove`, `add` and the like), and does not mention keeping anything. In
/// doubt, it does not.
pub fn asks_for_another_interface(goal: &str) -> bool {
    let words = words(goal);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(&INTERFACE) && has(&CHANGES) && !has(&KEEPS)
}

/// The measures that the goal names. Each of them must improve.
pub fn named_measures(goal: &str) -> Vec<Measure> {
    let words = words(goal);
    let has = |starts: &[&str]| {
        words
            .iter()
            .any(|word| starts.iter().any(|start| word.starts_with(start)))
    };
    let is_about_functions = has(&["function", "method"]);
    let is_about_length = has(&["short", "long", "length", "smaller", "split"]);
    let mut found = Vec::new();
    if has(&["complex", "cyclomatic", "branches", "nesting"]) {
        found.push(Measure::Complexity);
    }
    if is_about_functions && is_about_length {
        found.push(Measure::FunctionLength);
    }
    if has(&[
        "duplicat",
        "dry",
        "copy-paste",
        "copypaste",
        "redundan",
        "repetition",
        "repeated",
    ]) {
        found.push(Measure::Duplication);
    }
    if has(&["loc"]) && words.iter().any(|word| word == "loc") || goal.to_lowercase().contains("lines of code") {
        found.push(Measure::Lines);
    }
    found
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('’', "'");
    let parts = lower.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '\''));
    parts.filter(|word| !word.is_empty()).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_ask_for_another_interface() {
        for (goal, expected) in [
            ("rename the public function `fare` to `price`", true),
            ("Remove the `stops` parameter", true),
            ("add a public helper for zones", true),
            ("rename local variables", false),
            ("simplify the API layer", false),
            ("remove duplication without changing the public interface", false),
            ("remove dead code, keep the API", false),
            ("do not change any signature", false),
            ("don’t rename public functions", false),
        ] {
            assert_eq!(asks_for_another_interface(goal), expected, "{goal}");
        }
    }

    #[test]
    fn measures_are_named_in_many_words() {
        use Measure::{Complexity, Duplication, FunctionLength, Lines};
        for (goal, expected) in [
            ("reduce the complexity of fare()", &[Complexity][..]),
            ("Deduplicate: remove the duplicated code", &[Duplication]),
            ("make long functions shorter", &[FunctionLength]),
            ("fewer lines of code and less nesting", &[Complexity, Lines]),
            ("tidy", &[]),
            ("rename local variables", &[]),
        ] {
            assert_eq!(named_measures(goal), expected, "{goal}");
        }
    }
}

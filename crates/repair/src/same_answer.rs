//! Finds edits with which a function answers the same constant wherever it returns, although it had different answers
//! before. Few tests notice: those that expect the other answer.

use std::collections::BTreeSet;
use std::ops::Range;

use super::candidates::Candidate;
use super::syntax::{Below, Source};

/// Whether all returns of the edited function have the same constant, and had different values before.
pub(super) fn answers_the_same(candidate: &Candidate, original: &str) -> bool {
    let (path, start) = (candidate.path.as_str(), candidate.range.start);
    let of = |text: String, end: usize| {
        let source = Source::parse(path, text)?;
        let function = function(&source, &(start..end))?;
        Some(returned(&source, function))
    };
    let Some((after, true)) = of(candidate.text.clone(), start + candidate.replacement.len()) else {
        return false;
    };
    let before = of(original.to_owned(), candidate.range.end);
    after.len() == 1 && before.is_some_and(|(before, _)| before.len() > 1)
}

/// The innermost function around a range.
fn function(source: &Source, around: &Range<usize>) -> Option<usize> {
    let mut found = None;
    source.walk(|steps| {
        let Some(node) = steps.last().map(|step| step.node) else {
            return Below::Enter;
        };
        if node.start_byte() > around.start || node.end_byte() < around.end {
            return Below::Skip;
        }
        if source.language.functions.contains(&node.kind()) {
            found = Some(node.id());
        }
        Below::Enter
    });
    found
}

/// The values that a function returns, and whether they are at least two constants.
fn returned(source: &Source, function: usize) -> (BTreeSet<String>, bool) {
    let language = source.language;
    let (mut values, mut count, mut are_constants) = (BTreeSet::new(), 0, true);
    source.walk(|steps| {
        let Some(node) = steps.last().map(|step| step.node) else {
            return Below::Enter;
        };
        let innermost = steps
            .iter()
            .rev()
            .find(|step| language.functions.contains(&step.node.kind()));
        if node.kind() != language.returns.0 || innermost.is_none_or(|step| step.node.id() != function) {
            return Below::Enter;
        }
        count += 1;
        let text = source.text_of(node);
        let value = text.strip_prefix(language.returns.1).unwrap_or(text);
        let value = value.trim_end_matches(';').trim();
        let kind = node.named_child(0).map_or("", |value| value.kind());
        let is_constant = language.truths.contains(&value)
            || value == language.nothing
            || [language.integers, language.floats, language.strings]
                .concat()
                .contains(&kind);
        are_constants &= is_constant;
        values.insert(value.to_owned());
        Below::Skip
    });
    (values, count > 1 && are_constants)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::template::Template;

    #[track_caller]
    fn check(path: &str, text: &str, (from, to): (&str, &str), expected: bool) {
        let start = text.find(from).unwrap();
        let candidate = Candidate {
            path: path.parse().unwrap(),
            range: start..start + from.len(),
            replacement: to.into(),
            template: Template::Truth,
            weight: 1.0,
            score: 1.0,
            line: 1,
            within: String::new(),
            before: from.into(),
            after: to.into(),
            others: Vec::new(),
            text: text.replacen(from, to, 1),
        };
        assert_eq!(answers_the_same(&candidate, text), expected, "{text} with {to}");
    }

    #[test]
    fn a_function_that_always_answers_the_same_is_found() {
        let python = "def f(n):\n    if n:\n        return False\n    return True\n";
        check("f.py", python, ("False", "True"), true);
        check("f.py", python, ("if n", "if not n"), false);
        check("f.py", python, ("return False", "return n"), false);
        let script = "const f = (n) => {\n  if (n) return 'no';\n  return 'yes';\n};\n";
        check("f.js", script, ("'no'", "'yes'"), true);
        check("f.js", script, ("'no'", "''"), false);
        let go = "package f\n\nfunc f(n int) bool {\n\tif n > 0 {\n\t\treturn false\n\t}\n\treturn true\n}\n";
        check("f.go", go, ("false", "true"), true);
        check("f.go", go, ("n > 0", "n < 0"), false);
        // It had one answer before.
        let same = "def f(n):\n    if n > 1:\n        return True\n    return True\n";
        check("f.py", same, ("n > 1", "n > 2"), false);
        // The inner function has another.
        let inner = "def f(n):\n    def g():\n        return True\n    if n:\n        return 0\n    return g()\n";
        check("f.py", inner, ("if n", "if not n"), false);
    }
}

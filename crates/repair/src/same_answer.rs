//! Finds edits with which a function answers the same constant wherever it returns, although it had different answers
//! before. Few tests notice: those that expect the other answer.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::candidates::Candidate;
use super::syntax::{Below, Source};

/// Whether all returns of the edited function have the same constant, and had different values before, or one that is
/// computed.
pub(super) fn answers_the_same(candidate: &Candidate, original: &str) -> bool {
    let (path, start) = (candidate.path.as_str(), candidate.range.start);
    let of = |text: String, end: usize| {
        let source = Source::parse(path, text)?;
        let function = source.function_around(&(start..end))?.id();
        Some(returned(&source, function))
    };
    let after = of(candidate.text.clone(), start + candidate.replacement.len());
    let Some(after) = after.filter(|after| after.are_constants && after.values.len() == 1) else {
        return false;
    };
    let before = of(original.to_owned(), candidate.range.end);
    before.is_some_and(|before| before.values.len() > 1 || (after.is_last && !before.are_constants))
}

/// What a function returns.
struct Returned {
    values: BTreeSet<String>,
    are_constants: bool,
    /// Whether there is one `return`, at the end of the function, so that nothing else is returned.
    is_last: bool,
}

fn returned(source: &Source, function: usize) -> Returned {
    let language = source.language;
    let (mut values, mut count, mut are_constants, mut is_last) = (BTreeSet::new(), 0, true, false);
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
        let block = node.parent();
        let is_of_function = block
            .and_then(|block| block.parent())
            .is_some_and(|around| around.id() == function);
        is_last = is_of_function && block.is_some_and(|block| last_child(block) == Some(node.id()));
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
    Returned {
        values,
        are_constants: count > 0 && are_constants,
        is_last: count == 1 && is_last,
    }
}

fn last_child(block: Node<'_>) -> Option<usize> {
    let last = block.named_child_count().checked_sub(1)?;
    Some(block.named_child(u32::try_from(last).ok()?)?.id())
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
        // It computed its answer before.
        let one = "def f(t, n):\n    return t.get(n)\n";
        check("f.py", one, ("t.get(n)", "True"), true);
        check("f.py", one, ("t.get(n)", "t.get(t)"), false);
        check("f.py", "def f(n):\n    return 1\n", ("1", "2"), false);
        let last = "exports.f = function f(t, n) {\n  const v = t[n];\n  return v;\n};\n";
        check("f.js", last, ("v;\n}", "true;\n}"), true);
        // Without an answer, it has another one.
        let early = "def f(t, n):\n    if n in t:\n        return t.get(n)\n";
        check("f.py", early, ("t.get(n)", "True"), false);
        // The inner function has another.
        let inner = "def f(n):\n    def g():\n        return True\n    if n:\n        return 0\n    return g()\n";
        check("f.py", inner, ("if n", "if not n"), false);
    }
}

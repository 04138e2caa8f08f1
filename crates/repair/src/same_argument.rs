//! Finds edits with which a call gets the same variable twice, where it got two before. What is compared or matched with
//! itself passes every test that expects a match.

use tree_sitter::Node;

use super::candidates::Candidate;
use super::syntax::Source;

/// Whether the edit replaces one variable by another that the same call gets already. `f(a)(b)` is one call.
pub(super) fn passes_a_variable_twice(candidate: &Candidate, original: &str) -> bool {
    let replaced = original.get(candidate.range.clone()).unwrap_or_default();
    let name = candidate.replacement.as_str();
    if !is_name(replaced) || !is_name(name) {
        return false;
    }
    let Some(source) = Source::parse(candidate.path.as_str(), candidate.text.clone()) else {
        return false;
    };
    let start = candidate.range.start;
    let node = source.root().descendant_for_byte_range(start, start + name.len());
    let Some(node) = node.filter(|node| source.text_of(*node) == name) else {
        return false;
    };
    let is_list = |list: &Node<'_>| source.language.arguments.contains(&list.kind());
    let Some(own) = node.parent().filter(is_list) else {
        return false;
    };
    let call = own.parent();
    let before = call.and_then(|call| call.child_by_field_name("function")?.child_by_field_name("arguments"));
    let after = call.and_then(|call| {
        let outer = call.parent()?;
        let is_called = outer.child_by_field_name("function")?.id() == call.id();
        outer.child_by_field_name("arguments").filter(|_| is_called)
    });
    let gets_it = |list: Node<'_>| {
        let mut cursor = list.walk();
        list.named_children(&mut cursor)
            .any(|other| other.id() != node.id() && source.text_of(other) == name)
    };
    [Some(own), before, after].into_iter().flatten().any(gets_it)
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[track_caller]
    fn check(path: &str, original: &str, (old, new): (&str, &str), expected: bool) {
        let start = original.find(old).unwrap();
        let candidate = Candidate {
            path: path.parse().unwrap(),
            text: original.replacen(old, new, 1),
            range: start..start + old.len(),
            replacement: new.into(),
            template: Template::Comparison,
            weight: 1.0,
            score: 1.0,
            line: 1,
            within: String::new(),
            before: old.into(),
            after: new.into(),
            others: Vec::new(),
        };
        assert_eq!(
            passes_a_variable_twice(&candidate, original),
            expected,
            "{}",
            candidate.text
        );
    }

    #[test]
    fn a_call_that_gets_a_variable_twice_is_found() {
        check(
            "a.js",
            "f = (path, glob, o) => match(glob, o)(path);\n",
            ("glob, o)(", "path, o)("),
            false,
        );
        check("a.js", "f = (p, g, o) => match(g_1, o)(p);\n", ("g_1", "p"), true);
        check("a.js", "f = (p, g, o) => match(g, o)(p_1);\n", ("p_1", "g"), true);
        check("a.py", "def f(a, b):\n    return max(a_1, b)\n", ("a_1", "b"), true);
        check("a.py", "def f(a, b):\n    return max(a_1, b.c)\n", ("a_1", "b"), false);
        check(
            "a.py",
            "def f(a, b):\n    return g(b, max(a_1, 2))\n",
            ("a_1", "b"),
            false,
        );
        check("a.py", "def f(a, b):\n    return [a_1, b]\n", ("a_1", "b"), false);
        check(
            "a.rs",
            "fn f(a: i32, b: i32) -> i32 { max(a_1, b) }\n",
            ("a_1", "b"),
            true,
        );
        check("a.py", "def f(a, b):\n    return max(1, b)\n", ("1", "b"), false);
    }
}

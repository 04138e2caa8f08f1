//! Finds edits that nobody would write on purpose: `i[i]`, a variable that nothing reads any more, an undefined name that
//! stays where it is. Tests may pass with them by chance. Not in here: `a - a` or a number that a list has already, which
//! do what removing code would do, and that may be right.

use greenlight_readers::test_run::Failure;
use tree_sitter::Node;

use super::candidates::Candidate;
use super::syntax::{Below, Source};
use super::template::EditKind;
use super::templates::leaves_unread;

/// How Python and JavaScript complain about a name: before it, and after it.
const UNDEFINED: [(&str, &str); 2] = [
    ("NameError: name '", "' is not defined"),
    ("ReferenceError: ", " is not defined"),
];
/// How they complain about a member: before its name, after it, and how the own object reads it.
const MEMBERS: [(&str, &str, &str); 2] = [
    ("object has no attribute '", "'", "self."),
    ("TypeError: this.", " is not a function", "this."),
];

/// Why nobody would make the edit on purpose.
pub(super) fn nonsense(candidate: &Candidate, original: &str, failures: &[Failure]) -> Option<&'static str> {
    if matches!(
        candidate.template.kind(),
        EditKind::Revert | EditKind::Hint | EditKind::Removal
    ) {
        return None;
    }
    if keeps_an_undefined_name(candidate, original, failures) {
        return Some("the code still uses a name that is not defined");
    }
    let path = candidate.path.as_str();
    let before = Source::parse(path, original.to_owned())?;
    let after = Source::parse(path, candidate.text.clone())?;
    if count(&after, reads_itself) > count(&before, reads_itself) {
        return Some("with it, a value is its own index");
    }
    leaves_unread(&before, &after, &candidate.range, &candidate.replacement)
        .then_some("with it, nothing reads a variable that was read before")
}

fn keeps_an_undefined_name(candidate: &Candidate, original: &str, failures: &[Failure]) -> bool {
    let name = undefined_name(original, failures);
    name.is_some_and(|name| occurrences(&candidate.text, name) == occurrences(original, name))
}

/// Whether all failures are about one name that is not defined, and the edit removes it. Nothing that ran depends on
/// what is removed then.
pub(super) fn removes_an_undefined_name(candidate: &Candidate, original: &str, failures: &[Failure]) -> bool {
    let name = undefined_name(original, failures);
    name.is_some_and(|name| occurrences(&candidate.text, name) < occurrences(original, name))
}

/// The name in this file that all failures say is not defined.
fn undefined_name<'m>(original: &str, failures: &'m [Failure]) -> Option<&'m str> {
    let mut names = failures.iter().map(|failure| undefined(original, &failure.message));
    let name = names.next()??;
    (names.all(|other| other == Some(name)) && occurrences(original, name) > 0).then_some(name)
}

fn occurrences(text: &str, name: &str) -> usize {
    text.split(|c| !is_of_name(c)).filter(|word| *word == name).count()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The name that a message says is not defined: a variable or function, or a member of the own object that is mentioned
/// once. Any other value may only be of the wrong kind.
fn undefined<'m>(original: &str, message: &'m str) -> Option<&'m str> {
    // `node --test` leaves out the kind of the error.
    let first = message
        .lines()
        .next()
        .and_then(|line| line.strip_suffix(" is not defined"));
    let bare = first.filter(|name| is_name(name));
    if let Some(name) = bare.or_else(|| UNDEFINED.iter().find_map(|around| named(message, *around))) {
        return Some(name);
    }
    let member = MEMBERS.iter().find_map(|(before, after, own)| {
        let name = named(message, (before, after))?;
        original.contains(&format!("{own}{name}")).then_some(name)
    });
    member.filter(|name| occurrences(original, name) == 1)
}

/// The name that a message has between these texts.
fn named<'m>(message: &'m str, (before, after): (&str, &str)) -> Option<&'m str> {
    let name = message.split_once(before)?.1.split_once(after)?.0;
    is_name(name).then_some(name)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_name)
}

fn count(source: &Source, is_one: fn(&Source, Node<'_>) -> bool) -> usize {
    let mut found = 0;
    source.walk(|path| {
        found += path.last().map_or(0, |step| usize::from(is_one(source, step.node)));
        Below::Enter
    });
    found
}

/// `i[i]`.
fn reads_itself(source: &Source, node: Node<'_>) -> bool {
    let parts = (node.named_child(0), node.named_child(1), node.named_child_count());
    let (Some(value), Some(index), 2) = parts else {
        return false;
    };
    let between = source
        .text
        .get(value.end_byte()..index.start_byte())
        .unwrap_or_default();
    let is_position = source.language.positions.contains(&node.kind()) && between.trim() == "[";
    is_position && source.text_of(value) == source.text_of(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[track_caller]
    fn check(path: &str, text: &str, (from, to): (&str, &str), expected: Option<&str>) {
        let start = text.find(from).unwrap();
        let candidate = Candidate {
            path: path.parse().unwrap(),
            range: start..start + from.len(),
            replacement: to.into(),
            template: Template::Variable,
            weight: 1.0,
            score: 1.0,
            line: 1,
            within: String::new(),
            before: from.into(),
            after: to.into(),
            others: Vec::new(),
            text: text.replacen(from, to, 1),
        };
        let failure = Failure {
            message: "NameError: name 'lost' is not defined".into(),
            ..Failure::default()
        };
        let found = nonsense(&candidate, text, &[failure]);
        assert!(
            found.map_or(expected.is_none(), |found| expected
                .is_some_and(|part| found.contains(part))),
            "{found:?} {}",
            candidate.text
        );
    }

    #[test]
    fn a_value_that_is_its_own_index_is_nonsense() {
        let python = "def f(a, xs):\n    return a + xs[a] + len(xs) + a\n";
        check("f.py", python, ("xs[a]", "a[a]"), Some("own index"));
        check("f.py", python, ("xs[a]", "xs[-a]"), None);
        // It removes something, although not in the usual way.
        check("f.py", python, ("+ a\n", "+ a - a\n"), None);
        // It was there before.
        check("f.py", "def f(a):\n    return a[a] or a\n", ("or a", "and a"), None);
        let script = "const f = (a, b) => { a[b] -= b; return a };\n";
        check("f.js", script, ("a[b]", "b[b]"), Some("own index"));
    }

    #[test]
    fn a_variable_that_nothing_reads_any_more_is_nonsense() {
        let python = "def f(a, b):\n    return a * b\n";
        check("f.py", python, ("* b", "* a"), Some("reads a variable"));
        check("f.py", python, ("a *", "a +"), None);
    }

    #[test]
    fn a_name_that_is_not_defined_has_to_go() {
        let python = "def f(n):\n    if n > 0:\n        return lost\n    return 1\n";
        check("f.py", python, ("n > 0", "n < 0"), Some("not defined"));
        check("f.py", python, ("lost", "n"), None);
        // It is defined now.
        check("f.py", python, ("if", "lost = 2\n    if"), None);
        let method = "class A:\n    def f(self, n):\n        self.gone(n)\n        return n\n";
        let failure = |message: &str| Failure {
            message: message.into(),
            ..Failure::default()
        };
        let says = [failure("AttributeError: 'A' object has no attribute 'gone'")];
        assert_eq!(undefined_name(method, &says), Some("gone"));
        assert_eq!(undefined_name(&method.replace("self.", "n."), &says), None);
        let defined = format!("{method}\n    def gone(self, n):\n        pass\n");
        assert_eq!(undefined_name(&defined, &says), None);
        let script = "class A { f(n) { this.gone(n); return n; } }\n";
        assert_eq!(
            undefined_name(script, &[failure("TypeError: this.gone is not a function")]),
            Some("gone")
        );
        let both = [failure("ReferenceError: gone is not defined"), failure("1 !== 2")];
        assert_eq!(undefined_name(script, &both), None);
        assert_eq!(undefined_name(script, &both[..1]), Some("gone"));
        assert_eq!(undefined_name(script, &[failure("gone is not defined")]), Some("gone"));
        // A test's own words.
        assert_eq!(
            undefined_name(script, &[failure("the text says gone is not defined")]),
            None
        );
    }
}

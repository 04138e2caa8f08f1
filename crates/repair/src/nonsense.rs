//! Finds edits that nobody would write on purpose: `i[i]`, a variable that nothing reads any more, an undefined name that
//! stays where it is. Tests may pass with them by chance. Not in here is what does the same as removing code, such as
//! `a - a`: that may be right.

use greenlight_readers::test_run::Failure;
use greenlight_tree::checkout::Checkout;
use tree_sitter::Node;

use super::candidates::Candidate;
use super::syntax::{Below, Source};
use super::template::{EditKind, Template};
use super::templates::{leaves_unread, takes_element_for_index};
use super::unbound::is_of_name;

/// How Python and JavaScript complain about a name: before it, and after it. `node --test` leaves out the kind of error.
const UNDEFINED: [(&str, &str); 3] = [
    ("NameError: name '", "' is not defined"),
    ("ReferenceError: ", " is not defined"),
    ("", " is not defined"),
];
/// Maximum number of files, and of their bytes, that are searched for a name.
const MAX_FILES: usize = 2_000;
const MAX_BYTES: usize = 8 << 20;

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
    if takes_element_for_index(&before, &after, &candidate.range, &candidate.replacement) {
        return Some("with it, a value is taken for a position");
    }
    leaves_unread(&before, &after, &candidate.range, &candidate.replacement)
        .then_some("with it, nothing reads a variable that was read before")
}

fn keeps_an_undefined_name(candidate: &Candidate, original: &str, failures: &[Failure]) -> bool {
    let name = undefined_name(original, failures);
    // A statement that is moved may define it earlier.
    let is_moved = matches!(candidate.template, Template::Move | Template::Leave);
    name.is_some_and(|name| !is_moved && occurrences(&candidate.text, name) == occurrences(original, name))
}

/// Whether all failures are about one name that is defined nowhere, and the edit removes the only line with it: nothing
/// that ran depends on that line.
pub(super) fn removes_an_undefined_name(
    candidate: &Candidate,
    original: &str,
    (failures, checkout): (&[Failure], &Checkout),
) -> bool {
    let replaced = original.get(candidate.range.clone()).unwrap_or_default();
    let Some(name) = undefined_name(original, failures).filter(|_| !replaced.contains('\n')) else {
        return false;
    };
    occurrences(original, name) == 1
        && occurrences(&candidate.text, name) == 0
        && !is_elsewhere(checkout, candidate.path.as_str(), name)
}

/// Whether another file has the name, or there are too many to tell: then it may only have to be imported.
fn is_elsewhere(checkout: &Checkout, own: &str, name: &str) -> bool {
    let paths = checkout.paths();
    let mut bytes = 0;
    paths.len() > MAX_FILES
        || paths.iter().filter(|path| path.as_str() != own).any(|path| {
            let text = checkout.read_text(path.as_str()).unwrap_or_default();
            bytes += text.len();
            bytes > MAX_BYTES || occurrences(&text, name) > 0
        })
}

/// The name in this file that all failures say is not defined, and that the file does not define.
fn undefined_name<'m>(original: &str, failures: &'m [Failure]) -> Option<&'m str> {
    let mut names = failures.iter().map(|failure| undefined(&failure.message));
    let name = names.next()??;
    let is_only = names.all(|other| other == Some(name)) && occurrences(original, name) > 0;
    (is_only && !original.lines().any(|line| may_define(line, name))).then_some(name)
}

/// Whether a line may give the name a value. Tests can say anything, so the message alone proves nothing.
fn may_define(line: &str, name: &str) -> bool {
    const DEFINES: [&str; 13] = [
        "as", "async", "class", "const", "def", "for", "from", "function", "global", "import", "lambda", "let", "var",
    ];
    let line = line.trim();
    if line.starts_with("from ") && line.ends_with('*') {
        return true;
    }
    let Some((before, after)) = line.split_once(name) else {
        return false;
    };
    let after = after.trim_start();
    let is_assigned = after.starts_with([',', ':']) || (after.starts_with('=') && !after.starts_with("=="));
    is_assigned || before.split(|c| !is_of_name(c)).any(|word| DEFINES.contains(&word))
}

fn occurrences(text: &str, name: &str) -> usize {
    text.split(|c| !is_of_name(c)).filter(|word| *word == name).count()
}

/// The name that a message says is not defined in its first line. What follows may be code of the tests.
fn undefined(message: &str) -> Option<&str> {
    let first = message.lines().next()?.trim_start_matches("E ").trim_start();
    UNDEFINED.iter().find_map(|(before, after)| {
        let name = first.strip_prefix(before)?.split_once(after)?.0;
        (!name.is_empty() && name.chars().all(is_of_name)).then_some(name)
    })
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

    fn candidate(path: &str, text: &str, (from, to): (&str, &str)) -> Candidate {
        let start = text.find(from).unwrap();
        Candidate {
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
        }
    }

    #[track_caller]
    fn check(path: &str, text: &str, edit: (&str, &str), expected: Option<&str>) {
        let candidate = candidate(path, text, edit);
        let failure = failure("NameError: name 'lost' is not defined");
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
    }

    fn failure(message: &str) -> Failure {
        Failure {
            message: message.into(),
            ..Failure::default()
        }
    }

    #[test]
    fn a_name_is_undefined_only_where_an_interpreter_says_so_and_nothing_defines_it() {
        let python = "def f(n):\n    gone(n)\n    return n\n";
        let says = [failure("NameError: name 'gone' is not defined")];
        assert_eq!(undefined_name(python, &says), Some("gone"));
        assert_eq!(undefined_name("def f(n):\n    return n\n", &says), None);
        for defined in [
            "def gone(n):\n    pass\n",
            "from auth import gone\n",
            "from auth import (\n    gone,\n)\n",
            "from auth import *\n",
            "import auth as gone\n",
            "gone = 1\n",
            "f = lambda gone: 1\n",
        ] {
            assert_eq!(undefined_name(&format!("{defined}{python}"), &says), None, "{defined}");
        }
        let script = "function f(n) {\n  gone(n);\n  return n;\n}\n";
        let both = [failure("ReferenceError: gone is not defined"), failure("1 !== 2")];
        assert_eq!(undefined_name(script, &both), None);
        assert_eq!(undefined_name(script, &both[..1]), Some("gone"));
        assert_eq!(undefined_name(script, &[failure("gone is not defined")]), Some("gone"));
        // A test's own words.
        for forged in [
            "the text says gone is not defined",
            "assert 1 == 2\n# NameError: name 'gone' is not defined",
            "",
        ] {
            assert_eq!(undefined_name(script, &[failure(forged)]), None, "{forged}");
        }
    }

    #[test]
    fn only_the_use_of_a_name_that_is_nowhere_may_be_removed() {
        #[track_caller]
        fn check(text: &str, edit: (&str, &str), other: &str, expected: bool) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("f.py"), text).unwrap();
            std::fs::write(folder.path().join("other.py"), other).unwrap();
            let checkout = Checkout::open(folder.path()).unwrap();
            let says = [failure("NameError: name 'gone' is not defined")];
            let found = removes_an_undefined_name(&candidate("f.py", text, edit), text, (&says, &checkout));
            assert_eq!(found, expected, "{text} {other}");
        }
        let python = "def f(n):\n    gone(n)\n    return n\n";
        check(python, ("gone(n)", ""), "", true);
        check(python, ("gone(n)", ""), "def gone(n):\n    raise Denied\n", false);
        check(python, ("return n", "return 1"), "", false);
        let block = "def f(n):\n    if gone(n):\n        raise Denied\n    return n\n";
        check(block, ("if gone(n):\n        raise Denied", "pass"), "", false);
    }
}

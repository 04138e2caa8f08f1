//! Functions, which run where they are called, and loops over words that are known.

use tree_sitter::Node;

use super::super::word::Word;
use super::super::{Parsed, children};
use super::{After, MAX_COMMANDS, ScriptReader, is_certain};

/// Maximum number of words of a loop.
const MAX_REPEATED: usize = 30;

impl<'p> ScriptReader<'p, '_> {
    /// Runs a function with these arguments. `set` are the variables that only it gets.
    pub(super) fn call(
        &mut self,
        (body, set): (Node<'p>, Vec<(String, String)>),
        arguments: &[String],
        before: After,
        depth: usize,
    ) -> Option<()> {
        if !is_certain(before) {
            return self.branch(body);
        }
        let outer = self.variables.enter(arguments);
        for (name, value) in set {
            self.variables.is_local(&name);
            self.variables.exported.insert(name.clone());
            self.variables.assign(name, value)?;
        }
        self.statement(body, before, depth)?;
        if std::mem::take(&mut self.has_returned) {
            self.has_ended = false;
        }
        self.variables.leave(outer);
        Some(())
    }

    /// Runs the body of `for` once for each of its words. One that only a shell would know makes it a branch, and so does
    /// what leaves the loop.
    pub(super) fn repeat(&mut self, node: Node<'p>, before: After, depth: usize) -> Option<()> {
        let known = |word: Node<'p>| {
            let word = Word::of(self.parsed, word)?;
            (!word.is_for_shell && word.plain == word.marked).then_some(word.plain)
        };
        let mut cursor = node.walk();
        let words = node.children_by_field_name("value", &mut cursor).map(known);
        let words: Option<Vec<String>> = words.take(MAX_REPEATED + 1).collect();
        let words = words.filter(|words| !words.is_empty() && words.len() <= MAX_REPEATED && is_certain(before));
        let body = node.child_by_field_name("body")?;
        let (Some(words), "for_statement", false) = (words, node.kind(), leaves(self.parsed, body)) else {
            return self.branch(node);
        };
        let name = self.parsed.raw(node.child_by_field_name("variable")?);
        for word in words {
            self.seen += 1;
            self.variables.assign(name.to_owned(), word)?;
            for statement in children(body).into_iter().filter(Node::is_named) {
                if !self.has_ended && self.seen <= MAX_COMMANDS {
                    self.statement(statement, before, depth)?;
                }
            }
        }
        Some(())
    }
}

/// Whether a loop may end before its last word, or pass over a part of its body.
fn leaves(parsed: &Parsed<'_>, body: Node<'_>) -> bool {
    let mut leaves = false;
    Parsed::each(body, |node| {
        leaves |= node.kind() == "command_name" && matches!(parsed.raw(node), "break" | "continue");
    });
    leaves
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::super::for_people;
    use super::super::{MAX_COMMANDS, lines};

    fn shown(script: &str) -> Option<String> {
        let lines = lines(script, &BTreeMap::new(), |words| words[0] == "pytest")?;
        let shown = lines.iter().map(|line| for_people(&line.words));
        Some(shown.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn functions_are_followed_where_they_are_called() {
        for (script, expected) in [
            (
                "unit() { pytest tests; }\nlint() {\n  ruff .\n}\nunit",
                Some("pytest tests"),
            ),
            (
                "function unit {\n  pytest \"$1\" \"$@\"\n}\nunit a b\nmake",
                Some("pytest a a b; make"),
            ),
            // What a function changes stays changed, unless it runs in a separate shell.
            ("at() { cd x; }\nat\npytest", Some("pytest")),
            ("at() ( cd x; pytest )\nat", Some("pytest")),
            // It returns to its caller; `exit` does not.
            ("a() { make; return; ruff; }\na\npytest", Some("make; pytest")),
            ("a() { make; exit; }\na\npytest", Some("make")),
            // Another one.
            ("pytest() { make; }\npytest", Some("make")),
            (
                "main() { unit \"$@\"; }\nunit() { pytest \"$1\"; }\nmain x",
                Some("pytest x"),
            ),
            // Arguments are those of the caller.
            (
                "run() { pytest \"tests/$1\" ${2:-x}; }\nall() { run \"$1\" y; run \"$@\"; run; }\nall unit",
                Some("pytest tests/unit y; pytest tests/unit x; pytest tests/ x"),
            ),
            ("run() { shift; pytest \"$@\" \"$1\" $2; }\nrun a b", Some("pytest b b")),
            ("set -e\nset -- a b\npytest \"$@\"", Some("set -e; pytest a b")),
            ("shift\npytest \"$1\"", Some("pytest $")),
            // Its own variables are gone after it.
            (
                "X=a\nf() { local X=b; make $X; }\nf\npytest $X",
                Some("make $X; pytest $X"),
            ),
            (
                "a() { (b c); pytest $1; }\nb() { make $1; }\na x",
                Some("make c; pytest x"),
            ),
            ("exec pytest x\nmake", Some("pytest x")),
            ("exec > log\npytest", Some("pytest")),
            // Only a shell would know.
            ("main() { unit; }\nunit() { pytest; }\nif a; then main; fi", None),
            ("unit() { pytest; }\nif a; then unit; fi", None),
            ("unit() { pytest; }\nmake || unit", None),
            ("lint() { ruff; }\nif a; then lint; fi\npytest", Some("pytest")),
        ] {
            assert_eq!(shown(script).as_deref(), expected, "{script}");
        }
    }

    #[test]
    fn loops_over_known_words_are_unrolled() {
        let run = |script: &str| {
            let found = lines(script, &BTreeMap::new(), |words| words[0] == "pytest")?;
            let shown = found.iter().map(|line| {
                let last = line.env.last().map_or("", |(_, value)| value.as_str());
                format!("{last}: {}{}", line.directory.join("/"), for_people(&line.words))
            });
            Some(shown.collect::<Vec<_>>().join("; "))
        };
        for (script, expected) in [
            (
                "for f in a 'b c'; do pytest $f; done",
                Some("a: pytest $f; b c: pytest $f"),
            ),
            (
                "for d in a b\ndo\n  (cd $d && pytest)\ndone\nmake",
                Some("a: \u{1}d\u{1}pytest; b: \u{1}d\u{1}pytest; b: make"),
            ),
            ("for f in *.py; do ruff $f; done\npytest", Some(": pytest")),
            ("for f in *.py; do pytest $f; done", None),
            ("for f in $FILES; do pytest $f; done", None),
            ("for f; do pytest $f; done", None),
            ("make || for f in a; do pytest $f; done", None),
            ("while true; do pytest; done", None),
            ("for f in a b; do [ $f = a ] && continue; pytest $f; done", None),
        ] {
            assert_eq!(run(script).as_deref(), expected, "{script}");
        }
        let nested = "for f in a b c d e f g h i j k l; do ".repeat(40) + "X=1; pytest" + &"; done".repeat(40);
        assert!(lines(&nested, &BTreeMap::new(), |_| false).is_none_or(|found| found.len() <= 2 * MAX_COMMANDS));
        let many = format!("for f in {}; do pytest; done", "a ".repeat(100));
        assert_eq!(run(&many), None);
    }

    /// A short script would run for ever.
    #[test]
    fn functions_that_call_themselves_are_bounded() {
        assert_eq!(lines("a() { a; a; }\na", &BTreeMap::new(), |_| false), None);
        let doubled: String = (0..15).map(|n| format!("f{}() {{ f{n}; f{n}; }}\n", n + 1)).collect();
        let found = lines(&format!("f0() {{ make; }}\n{doubled}f15"), &BTreeMap::new(), |_| false).unwrap();
        assert!(found.len() <= MAX_COMMANDS + 1, "{}", found.len());
    }
}

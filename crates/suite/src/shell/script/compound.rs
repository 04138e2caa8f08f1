//! Functions, which run where they are called, and loops over words that are known.

use tree_sitter::Node;

use super::super::children;
use super::super::word::{ARGUMENTS, VARIABLE, Word, is_name};
use super::{After, ScriptReader, is_certain};

/// Maximum number of arguments of a function that are known by their number.
const MAX_ARGUMENTS: usize = 9;
/// Maximum number of words of a loop.
const MAX_REPEATED: usize = 30;

/// A function of a script.
#[derive(Clone, Copy)]
pub(super) struct Function<'p> {
    pub(super) body: Node<'p>,
    /// Whether it makes no difference if it is called.
    pub(super) is_harmless: bool,
}

impl<'p> ScriptReader<'p, '_> {
    /// Runs a function with these arguments.
    pub(super) fn call(
        &mut self,
        function: Function<'p>,
        arguments: &[String],
        before: After,
        depth: usize,
    ) -> Option<()> {
        if !is_certain(before) {
            return function.is_harmless.then_some(());
        }
        let is_argument = |(name, _): &(String, String)| !is_name(name);
        let outer: Vec<_> = self.env.extract_if(.., |set| is_argument(set)).collect();
        match arguments {
            // It passes on its own.
            [all] if *all == format!("{VARIABLE}{ARGUMENTS}{VARIABLE}") => self.env.extend(outer.iter().cloned()),
            _ => {
                let numbered = (0..MAX_ARGUMENTS).map(|at| {
                    let value = arguments.get(at).cloned();
                    ((at + 1).to_string(), value.unwrap_or_default())
                });
                self.env.extend(numbered);
                self.env.push((ARGUMENTS.to_owned(), arguments.join(" ")));
            }
        }
        self.statement(function.body, before, depth)?;
        if std::mem::take(&mut self.has_returned) {
            self.has_ended = false;
        }
        self.env.retain(|set| !is_argument(set));
        self.env.extend(outer);
        Some(())
    }

    /// Runs the body of `for` once for each of its words. One that only a shell would know makes it a branch.
    pub(super) fn repeat(&mut self, node: Node<'p>, before: After, depth: usize) -> Option<()> {
        let known = |word: Node<'p>| {
            let word = Word::of(self.parsed, word)?;
            (!word.is_for_shell && word.plain == word.marked).then_some(word.plain)
        };
        let mut cursor = node.walk();
        let words = node.children_by_field_name("value", &mut cursor).map(known);
        let words: Option<Vec<String>> = words.take(MAX_REPEATED + 1).collect();
        let words = words.filter(|words| !words.is_empty() && words.len() <= MAX_REPEATED && is_certain(before));
        let (Some(words), "for_statement") = (words, node.kind()) else {
            return self.branch(node);
        };
        let name = self.parsed.raw(node.child_by_field_name("variable")?);
        let body = node.child_by_field_name("body")?;
        for word in words {
            self.env.push((name.to_owned(), word));
            for statement in children(body).into_iter().filter(Node::is_named) {
                if !self.has_ended {
                    self.statement(statement, before, depth)?;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::super::for_people;
    use super::super::{MAX_COMMANDS, lines};
    use super::*;

    fn shown(script: &str) -> Option<String> {
        let lines = lines(script, &BTreeMap::new(), |words| words[0] == "pytest")?;
        let shown = lines.iter().map(|line| {
            let set: Vec<_> = line
                .env
                .iter()
                .filter(|(name, _)| !is_name(name))
                .map(|(name, value)| format!("{name}={value} "))
                .filter(|set| !set.ends_with("= "))
                .collect();
            set.concat() + &for_people(&line.words)
        });
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
                Some("1=a 2=b @=a b pytest $1 $@; make"),
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
                Some("1=x @=x pytest $1"),
            ),
            // Only a shell would know.
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
                let last = line.env.last().map_or("", |(_, value)| value);
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
        ] {
            assert_eq!(run(script).as_deref(), expected, "{script}");
        }
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

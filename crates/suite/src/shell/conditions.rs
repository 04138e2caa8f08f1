//! Branches whose condition is known before anything runs: it asks for variables of the job, or for what every job of CI
//! has, as in `if [ -z "$CI" ]` and `case "$TARGET" in`.
//! <https://www.gnu.org/software/bash/manual/html_node/Bash-Conditional-Expressions.html>

use std::collections::BTreeMap;

use globset::GlobBuilder;
use tree_sitter::Node;

use super::directory::expanded;
use super::word::{SYSTEM, Word, words};
use super::{Parsed, children};

/// Variables that every job of CI has, and what shells and `uname` say on Linux:
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/variables>
const ON_CI: [(&str, &str); 5] = [
    ("CI", "true"),
    ("GITHUB_ACTIONS", "true"),
    ("RUNNER_OS", "Linux"),
    ("OSTYPE", "linux-gnu"),
    (SYSTEM, "Linux"),
];
/// Maximum depth of a condition.
const MAX_DEPTH: usize = 20;

/// The variables that a condition may ask for.
pub(super) struct Conditions<'p, 't> {
    parsed: &'p Parsed<'t>,
    values: BTreeMap<String, String>,
}

impl<'p, 't> Conditions<'p, 't> {
    pub(super) fn new(parsed: &'p Parsed<'t>, mut values: BTreeMap<String, String>) -> Self {
        for (name, value) in ON_CI {
            values.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        Self { parsed, values }
    }

    /// The statements of an `if` or `case` that run. `None` if only a shell would know.
    pub(super) fn taken<'n>(&self, branch: Node<'n>) -> Option<Vec<Node<'n>>> {
        match branch.kind() {
            "if_statement" => self.of_if(branch),
            "case_statement" => self.of_case(branch),
            _ => None,
        }
    }

    fn of_if<'n>(&self, branch: Node<'n>) -> Option<Vec<Node<'n>>> {
        let mut clause = branch;
        loop {
            let all = children(clause);
            let then = all.iter().position(|child| child.kind() == "then")?;
            let mut conditions = all[..then].iter().filter(|child| child.is_named());
            let (Some(condition), None) = (conditions.next(), conditions.next()) else {
                return None;
            };
            let is_clause = |child: &Node<'_>| matches!(child.kind(), "elif_clause" | "else_clause");
            if self.holds(*condition, MAX_DEPTH)? {
                let body = all[then..].iter().filter(|child| child.is_named() && !is_clause(child));
                return Some(body.copied().collect());
            }
            // Those of an `elif` are beside it, not in it.
            let of_branch = children(branch);
            let after = of_branch
                .iter()
                .position(|child| *child == clause)
                .map_or(0, |at| at + 1);
            match of_branch[after..].iter().find(|child| is_clause(child)) {
                None => return Some(Vec::new()),
                Some(other) if other.kind() == "else_clause" => {
                    return Some(children(*other).into_iter().filter(Node::is_named).collect());
                }
                Some(other) => clause = *other,
            }
        }
    }

    fn of_case<'n>(&self, branch: Node<'n>) -> Option<Vec<Node<'n>>> {
        let value = self.value(branch.child_by_field_name("value")?)?;
        for item in children(branch).into_iter().filter(|child| child.kind() == "case_item") {
            let mut cursor = item.walk();
            let patterns: Vec<Node<'_>> = item.children_by_field_name("value", &mut cursor).collect();
            let mut is_chosen = false;
            for pattern in &patterns {
                is_chosen |= self.matches(&value, *pattern)?;
            }
            if is_chosen {
                let ends_here = !children(item).iter().any(|child| matches!(child.kind(), ";&" | ";;&"));
                let body = children(item)
                    .into_iter()
                    .filter(|child| child.is_named() && !patterns.contains(child));
                return ends_here.then(|| body.collect());
            }
        }
        Some(Vec::new())
    }

    /// Whether a condition holds. `None` if only a shell would know.
    pub(super) fn holds(&self, condition: Node<'_>, depth: usize) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        let parts = children(condition);
        match condition.kind() {
            "test_command" | "parenthesized_expression" => {
                let mut named = parts.into_iter().filter(Node::is_named);
                let only = named.next().filter(|_| named.next().is_none())?;
                self.holds(only, depth)
            }
            "negated_command" => Some(!self.holds(*parts.last()?, depth)?),
            "unary_expression" => {
                let [operator, operand] = parts.as_slice() else {
                    return None;
                };
                match self.parsed.raw(*operator) {
                    "!" => Some(!self.holds(*operand, depth)?),
                    "-n" => Some(!self.value(*operand)?.is_empty()),
                    "-z" => Some(self.value(*operand)?.is_empty()),
                    _ => None,
                }
            }
            "binary_expression" | "list" => {
                let [left, operator, right] = parts.as_slice() else {
                    return None;
                };
                let both = || (self.holds(*left, depth), self.holds(*right, depth));
                match self.parsed.raw(*operator) {
                    "&&" => match both() {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (left, right) => Some(left? && right?),
                    },
                    "||" => match both() {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (left, right) => Some(left? || right?),
                    },
                    "=" | "==" => self.matches(&self.value(*left)?, *right),
                    "!=" => Some(!self.matches(&self.value(*left)?, *right)?),
                    operator => compared(operator, &self.value(*left)?, &self.value(*right)?),
                }
            }
            "command" => self.of_command(condition),
            "string" | "word" | "simple_expansion" | "expansion" | "concatenation" => {
                Some(!self.value(condition)?.is_empty())
            }
            _ => None,
        }
    }

    /// `true`, `test -n "$A"`, `test "$A" = b`.
    fn of_command(&self, command: Node<'_>) -> Option<bool> {
        let words = words(self.parsed, command)?;
        let words: Vec<String> = words.iter().map(|word| self.expanded(word)).collect::<Option<_>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["true" | ":"] => Some(true),
            ["false"] => Some(false),
            ["test", "-n", value] => Some(!value.is_empty()),
            ["test", "-z", value] => Some(value.is_empty()),
            ["test", left, "=" | "==", right] => Some(left == right),
            ["test", left, "!=", right] => Some(left != right),
            ["test", left, operator, right] => compared(operator, left, right),
            _ => None,
        }
    }

    /// Whether a value matches a word, which may be a pattern.
    fn matches(&self, value: &str, pattern: Node<'_>) -> Option<bool> {
        let word = Word::of(self.parsed, pattern)?;
        if !word.has_pattern {
            return Some(value == self.expanded(&word)?);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "*?-_./: ".contains(c);
        if !word.plain.chars().all(is_plain) {
            return None;
        }
        let glob = GlobBuilder::new(&word.plain).build().ok()?;
        Some(glob.compile_matcher().is_match(value))
    }

    fn value(&self, node: Node<'_>) -> Option<String> {
        self.expanded(&Word::of(self.parsed, node)?)
    }

    fn expanded(&self, word: &Word) -> Option<String> {
        expanded(&word.marked, &self.values).filter(|_| !word.has_pattern)
    }
}

/// The comparison of two numbers. `None` for other operators.
fn compared(operator: &str, left: &str, right: &str) -> Option<bool> {
    let (left, right): (i64, i64) = (left.parse().ok()?, right.parse().ok()?);
    Some(match operator {
        "-eq" => left == right,
        "-ne" => left != right,
        "-lt" => left < right,
        "-le" => left <= right,
        "-gt" => left > right,
        "-ge" => left >= right,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::lines;

    #[track_caller]
    fn check(script: &str, expected: Option<&str>) {
        let known = BTreeMap::from([
            ("TASK".to_owned(), "tox-unit".to_owned()),
            ("EMPTY".to_owned(), String::new()),
            ("LEVEL".to_owned(), "3".to_owned()),
        ]);
        let found = lines(script, &known, |words| words[0] == "test");
        let shown = |lines: Vec<super::super::SimpleCommand>| {
            let lines = lines.iter().map(|line| line.words.join(" "));
            lines.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(found.map(shown).as_deref(), expected, "{script}");
    }

    #[test]
    fn a_branch_on_ci_is_followed() {
        check("if [ -z $CI ]; then\n  test local\nfi\ntest all", Some("test all"));
        check(
            "if [ -n \"$GITHUB_ACTIONS\" ]; then test ci; else test local; fi",
            Some("test ci"),
        );
        check(
            "if [[ -z \"${CI:-}\" ]]; then test local; else test ci; fi",
            Some("test ci"),
        );
        check(
            "if [ \"$(uname)\" == \"Darwin\" ]; then test mac; elif [[ $OSTYPE == linux* ]]; then test linux; fi",
            Some("test linux"),
        );
        check("if [ -z $OTHER ]; then test local; fi", None);
        check("if [ -n \"$CI\" ]; [ -f key ]; then test a; else test b; fi", None);
        check("if [ -f key ]; then test a; fi", None);
    }

    #[test]
    fn a_branch_on_variables_of_the_job_is_followed() {
        for (condition, holds) in [
            ("[[ $TASK == tox-* ]]", Some(true)),
            ("[[ $TASK != tox-* ]]", Some(false)),
            ("[ \"$TASK\" = tox-* ]", Some(true)),
            ("[ \"$TASK\" = \"tox-unit\" ]", Some(true)),
            ("! [ \"$TASK\" = \"tox-unit\" ]", Some(false)),
            ("[ ! -z \"$TASK\" ]", Some(true)),
            ("[ \"$EMPTY\" ]", Some(false)),
            ("[[ -z $EMPTY && $LEVEL -gt 2 ]]", Some(true)),
            ("[ $LEVEL -gt 3 ] || [ \"$TASK\" = x ]", Some(false)),
            ("[ $LEVEL -gt 3 ] && [ -f x ]", Some(false)),
            ("[ $LEVEL -gt 2 ] && [ -f x ]", None),
            ("test \"$LEVEL\" = 3", Some(true)),
            ("test -n \"$EMPTY\"", Some(false)),
            ("true", Some(true)),
            ("[[ $TASK =~ ^tox ]]", None),
            ("[[ $TASK == tox-+(a) ]]", None),
            ("grep x y", None),
        ] {
            let script = format!("if {condition}; then test a; else test b; fi");
            let expected = holds.map(|holds| if holds { "test a" } else { "test b" });
            check(&script, expected);
        }
        check("X=1\nif [ $X = 1 ]; then test a; fi", Some("test a"));
        check("X=$(date)\nif [ $X = 1 ]; then test a; fi", None);
        check("[ $LEVEL = 3 ] && test a\n[ $LEVEL = 4 ] && test b", Some("test a"));
        check("[ $LEVEL = 3 ] || test a\n[ $LEVEL = 4 ] || test b", Some("test b"));
        check("if [ -f x ]; then ruff; elif [ $LEVEL = 3 ]; then test b; fi", None);
        check(
            "case \"$TASK\" in\n  lint|doc*) ruff ;;\n  tox-*) A=b test \"${TASK#tox-}\";;\n  *) test c; esac",
            Some("test \u{1}\"TASK#tox-\u{1}"),
        );
        check("case $LEVEL in [0-2]) test a;; esac", None);
        check("case $LEVEL in 1) test a;; esac\ntest b", Some("test b"));
        check("case $LEVEL in 3) test a;;& *) test b;; esac", None);
    }

    /// Each condition looks at all variables.
    #[test]
    fn many_conditions_are_bounded() {
        let script = format!("{}test", "if [ $LEVEL = 4 ]; then test; fi\n".repeat(3_000));
        check(&script, Some(""));
    }
}

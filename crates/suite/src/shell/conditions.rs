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
        let is_clause = |child: &Node<'_>| matches!(child.kind(), "elif_clause" | "else_clause");
        // Those of an `elif` are beside it, not in it.
        let (clauses, own): (Vec<Node<'n>>, _) = children(branch).into_iter().partition(is_clause);
        let first = self.of_clause(&own)?;
        if first.is_some() {
            return Some(first.unwrap_or_default());
        }
        for clause in clauses {
            let parts = children(clause);
            if clause.kind() == "else_clause" {
                return Some(parts.into_iter().filter(Node::is_named).collect());
            }
            if let Some(body) = self.of_clause(&parts)? {
                return Some(body);
            }
        }
        Some(Vec::new())
    }

    /// The statements after a condition: the inner `None` if it does not hold, the outer one if only a shell would know.
    fn of_clause<'n>(&self, parts: &[Node<'n>]) -> Option<Option<Vec<Node<'n>>>> {
        let then = parts.iter().position(|child| child.kind() == "then")?;
        let mut conditions = parts[..then].iter().filter(|child| child.is_named());
        let (Some(condition), None) = (conditions.next(), conditions.next()) else {
            return None;
        };
        let body = || parts[then..].iter().filter(|child| child.is_named()).copied().collect();
        Some(self.holds(*condition, MAX_DEPTH)?.then(body))
    }

    fn of_case<'n>(&self, branch: Node<'n>) -> Option<Vec<Node<'n>>> {
        let value = self.value(branch.child_by_field_name("value")?)?;
        for item in children(branch).into_iter().filter(|child| child.kind() == "case_item") {
            let parts = children(item);
            let end = parts.iter().position(|child| child.kind() == ")")?;
            let mut is_chosen = false;
            for pattern in parts[..end].iter().filter(|child| child.is_named()) {
                is_chosen |= self.matches(&value, *pattern, true)?;
            }
            if is_chosen {
                let ends_here = !parts.iter().any(|child| matches!(child.kind(), ";&" | ";;&"));
                return ends_here.then(|| parts[end..].iter().filter(|child| child.is_named()).copied().collect());
            }
        }
        Some(Vec::new())
    }

    /// Whether a condition holds. `None` if only a shell would know.
    pub(super) fn holds(&self, condition: Node<'_>, depth: usize) -> Option<bool> {
        self.holds_in(condition, depth, true)
    }

    /// The same inside of `[[ … ]]`, where a word on the right is a pattern, or inside of `[ … ]`, where words that are
    /// empty disappear.
    fn holds_in(&self, condition: Node<'_>, depth: usize, is_bash: bool) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        let parts = children(condition);
        let holds = |node: Node<'_>| self.holds_in(node, depth, is_bash);
        let value = |node: Node<'_>| {
            let is_quoted = !matches!(node.kind(), "simple_expansion" | "expansion");
            self.value(node)
                .filter(|value| is_bash || is_quoted || !value.is_empty())
        };
        match condition.kind() {
            "test_command" | "parenthesized_expression" => {
                let is_bash = is_bash && !self.parsed.raw(condition).starts_with("[ ");
                let mut named = parts.into_iter().filter(Node::is_named);
                let only = named.next().filter(|_| named.next().is_none())?;
                self.holds_in(only, depth, is_bash)
            }
            "negated_command" => Some(!holds(*parts.last()?)?),
            "unary_expression" => {
                let [operator, operand] = parts.as_slice() else {
                    return None;
                };
                match self.parsed.raw(*operator) {
                    "!" => Some(!holds(*operand)?),
                    "-n" => Some(!value(*operand)?.is_empty()),
                    "-z" => Some(value(*operand)?.is_empty()),
                    _ => None,
                }
            }
            "binary_expression" | "list" => {
                let [left, operator, right] = parts.as_slice() else {
                    return None;
                };
                let both = || (holds(*left), holds(*right));
                match self.parsed.raw(*operator) {
                    "&&" => match both() {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (left, right) => Some(left? && right?),
                    },
                    "||" => match both() {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (left, right) => Some(left? || right?),
                    },
                    "=" | "==" => self.matches(&value(*left)?, *right, is_bash),
                    "!=" => Some(!self.matches(&value(*left)?, *right, is_bash)?),
                    operator => compared(operator, &value(*left)?, &value(*right)?),
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
    fn matches(&self, value: &str, pattern: Node<'_>, may_be_pattern: bool) -> Option<bool> {
        let word = Word::of(self.parsed, pattern)?;
        if !word.has_pattern {
            return Some(value == self.expanded(&word)?);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "*?-_./: ".contains(c);
        if !may_be_pattern || !word.plain.chars().all(is_plain) {
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
        let found = lines(script, &known, |words| words[0] == "check");
        let shown = |lines: Vec<super::super::SimpleCommand>| {
            let lines = lines.iter().map(|line| line.words.join(" "));
            lines.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(found.map(shown).as_deref(), expected, "{script}");
    }

    #[test]
    fn a_branch_on_ci_is_followed() {
        check("if [ -z $CI ]; then\n  check local\nfi\ncheck all", Some("check all"));
        check(
            "if [ -n \"$GITHUB_ACTIONS\" ]; then check ci; else check local; fi",
            Some("check ci"),
        );
        check(
            "if [[ -z \"${CI:-}\" ]]; then check local; else check ci; fi",
            Some("check ci"),
        );
        check(
            "if [ \"$(uname)\" == \"Darwin\" ]; then check mac; elif [[ $OSTYPE == linux* ]]; then check linux; fi",
            Some("check linux"),
        );
        check("if [ -z $OTHER ]; then check local; fi", None);
        check("if [ -n \"$CI\" ]; [ -f key ]; then check a; else check b; fi", None);
        check("if [ -f key ]; then check a; fi", None);
    }

    #[test]
    fn a_branch_on_variables_of_the_job_is_followed() {
        for (condition, holds) in [
            ("[[ $TASK == tox-* ]]", Some(true)),
            ("[[ $TASK != tox-* ]]", Some(false)),
            ("[ \"$TASK\" = tox-* ]", None),
            ("[ -n $EMPTY ]", None),
            ("[[ -n $EMPTY ]]", Some(false)),
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
            let script = format!("if {condition}; then check a; else check b; fi");
            let expected = holds.map(|holds| if holds { "check a" } else { "check b" });
            check(&script, expected);
        }
        check("X=1\nif [ $X = 1 ]; then check a; fi", Some("check a"));
        check("X=$(date)\nif [ $X = 1 ]; then check a; fi", None);
        check("[ $LEVEL = 3 ] && check a\n[ $LEVEL = 4 ] && check b", Some("check a"));
        check("[ $LEVEL = 3 ] || check a\n[ $LEVEL = 4 ] || check b", Some("check b"));
        check("[ \"$CI\" != true ] && check local || check ci", Some("check ci"));
        check("[ -z \"$CI\" ] && [ -d x ] && check local\ncheck", Some("check"));
        check("[ \"$TASK\" = tox-unit ] && [ -f x ] || check all", None);
        check("test -z \"$CI\" && check local || check ci", Some("check ci"));
        check("[ \"$TASK\" = tox-unit ] && exit 0\ncheck", Some(""));
        check("ruff && check a || check b", Some("ruff; check a"));
        // A branch may have changed it.
        check(
            "X=0\nif [ -f x ]; then X=1; fi\nif [ $X = 1 ]; then check a; else check b; fi",
            None,
        );
        check("unset TASK\nif [ -z \"$TASK\" ]; then check a; fi", Some("check a"));
        check("if [ -f x ]; then ruff; elif [ $LEVEL = 3 ]; then check b; fi", None);
        check(
            "case \"$TASK\" in\n  lint|doc*) ruff ;;\n  tox-*) A=b check \"${TASK#tox-}\";;\n  *) check c; esac",
            Some("check \u{1}\"TASK#tox-\u{1}"),
        );
        check("case $LEVEL in [0-2]) check a;; esac", None);
        check("case $LEVEL in 1) check a;; esac\ncheck b", Some("check b"));
        check("case $LEVEL in 3) check a;;& *) check b;; esac", None);
    }

    /// Each condition looks at all variables.
    #[test]
    fn many_conditions_are_bounded() {
        let script = format!("{}check", "if [ $LEVEL = 4 ]; then check; fi\n".repeat(3_000));
        check(&script, None);
    }
}

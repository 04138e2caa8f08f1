//! Splits a line of shell, as in the scripts of a `package.json`, into the commands that it runs one after the other.
//!
//! A line with pipes, redirections, substitutions or branches is not split.

use tree_sitter::Node;

use super::word::{Word, is_redirection, words};
use super::{MAX_DEPTH, Parsed, children};

/// Maximum number of commands in one line.
const MAX_COMMANDS: usize = 50;

/// Splits a line into commands, each a list of words. `None` if it is more than a sequence.
pub(crate) fn commands(line: &str) -> Option<Vec<Vec<Word>>> {
    let parsed = Parsed::of(line)?;
    let mut found = Vec::new();
    collect(&parsed, parsed.root(), MAX_DEPTH, &mut found)?;
    (found.len() <= MAX_COMMANDS).then_some(found)
}

fn collect(parsed: &Parsed<'_>, node: Node<'_>, depth: usize, found: &mut Vec<Vec<Word>>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match node.kind() {
        "program" | "list" => {
            for child in children(node) {
                collect(parsed, child, depth, found)?;
            }
        }
        "command" | "declaration_command" | "unset_command" | "variable_assignments" | "variable_assignment" => {
            if children(node).into_iter().any(is_redirection) {
                return None;
            }
            let words = match node.kind() {
                "variable_assignment" => vec![Word::of(parsed, node)?],
                _ => words(parsed, node)?,
            };
            if words.iter().any(|word| word.runs_a_command) {
                return None;
            }
            found.push(words);
        }
        // It changes nothing and is not a runner.
        "test_command" => found.push(parsed.raw(node).split_whitespace().map(Word::new).collect()),
        "comment" | "&&" | ";" | "\n" => {}
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_taken_apart_and_nothing_else() {
        #[track_caller]
        fn check(line: &str, expected: Option<&str>) {
            let shown = commands(line).map(|commands| {
                let shown = commands.iter().map(|command| {
                    let words = command
                        .iter()
                        .map(|word| format!("{}{}", word.plain, if word.is_for_shell { "^" } else { "" }));
                    words.collect::<Vec<_>>().join("|")
                });
                shown.collect::<Vec<_>>().join(" ; ")
            });
            assert_eq!(shown.as_deref(), expected, "{line}");
        }
        check("xo && c8 ava&&tsd", Some("xo ; c8|ava ; tsd"));
        check("a 'b c' \"d \\\" e\" f\\ g", Some("a|b c|d \" e|f g"));
        check("mocha 'test/**/*.js' test/*.js", Some("mocha|test/**/*.js|test/*.js^"));
        check("A=b x; y $C \"$D\"", Some("A=b|x ; y|$C^|$D^"));
        check("a | b", None);
        check("a || b", None);
        check("a & b", None);
        check("a > b", None);
        check("a $(b)", None);
        check("a \"$(b)\"", None);
        check("a 'b", None);
        check("(a)", None);
        check("for F in *.js; do mocha $F; done", None);
        check("a <<EOF\nb\nEOF", None);
        check("! a && b", None);
        check("mo\\\ncha \\\n  -x", Some("mocha|-x"));
        check("'a'\"b\"c d\\\ne", Some("abc|de"));
        check("a '\\\n'", Some("a|\\\n"));
        check("a # b && c", Some("a"));
        check("~/x \"~/y\" a~", Some("~/x^|~/y|a~"));
        check(&"a && ".repeat(20_000), None);
        check(&"(".repeat(20_000), None);
    }
}

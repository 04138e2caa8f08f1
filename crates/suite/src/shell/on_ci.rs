//! Branches that only ask whether a script runs on CI, as in `if [ -z "$CI" ]`: what CI runs is known.

use tree_sitter::Node;

use super::{Parsed, children};

/// Variables that every job of CI has: <https://docs.github.com/en/actions/reference/workflows-and-actions/variables>
const ON_CI: [&str; 2] = ["CI", "GITHUB_ACTIONS"];

/// Whether the condition of an `if` holds on CI. `None` if it asks for anything else, or has several conditions.
pub(super) fn decides(parsed: &Parsed<'_>, branch: Node<'_>) -> Option<bool> {
    let conditions = branch
        .children_by_field_name("condition", &mut branch.walk())
        .filter(Node::is_named)
        .count();
    if conditions != 1 || children(branch).iter().any(|child| child.kind() == "elif_clause") {
        return None;
    }
    let condition = parsed.raw(branch.child_by_field_name("condition")?);
    let condition = condition.trim_start_matches('[').trim_end_matches([']', ';']).trim();
    let (option, variable) = condition.split_once(' ')?;
    let name = variable
        .trim()
        .trim_matches('"')
        .trim_start_matches("${")
        .trim_start_matches('$')
        .trim_end_matches('}')
        .trim_end_matches(":-");
    match option {
        "-n" if ON_CI.contains(&name) => Some(true),
        "-z" if ON_CI.contains(&name) => Some(false),
        _ => None,
    }
}

/// The statements of an `if` that run if its condition holds, or if it does not.
pub(super) fn taken(branch: Node<'_>, holds: bool) -> Vec<Node<'_>> {
    let all = children(branch);
    let then = all.iter().position(|child| child.kind() == "then").unwrap_or(all.len());
    let other = all
        .iter()
        .position(|child| child.kind() == "else_clause")
        .unwrap_or(all.len());
    let statements = match holds {
        true => all.get(then..other).unwrap_or_default().to_vec(),
        false => all.get(other).map(|clause| children(*clause)).unwrap_or_default(),
    };
    statements.into_iter().filter(Node::is_named).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lines;

    #[test]
    fn a_branch_on_ci_is_followed() {
        #[track_caller]
        fn check(script: &str, expected: Option<&str>) {
            let found = lines(script, |words| words[0] == "test");
            let found = found.map(|lines| {
                lines
                    .iter()
                    .map(|line| line.words.join(" "))
                    .collect::<Vec<_>>()
                    .join("; ")
            });
            assert_eq!(found.as_deref(), expected, "{script}");
        }
        check("if [ -z $CI ]; then\n  test local\nfi\ntest all", Some("test all"));
        check(
            "if [ -n \"$GITHUB_ACTIONS\" ]; then test ci; else test local; fi",
            Some("test ci"),
        );
        check(
            "if [[ -z \"${CI:-}\" ]]; then test local; else test ci; fi",
            Some("test ci"),
        );
        check("if [ -z $CI ]; then test a; elif [ -n $X ]; then test b; fi", None);
        check("if [ -z $OTHER ]; then test local; fi", None);
        check("if [ -n $CI ] && true; then test a; fi", None);
        check("if [ -n \"$CI\" ]; [ -f key ]; then test a; else test b; fi", None);
    }
}

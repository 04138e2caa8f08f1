//! pytest and unittest.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Pytest => pytest(&command.argv, only),
        _ => unittest(&command.argv, only),
    }
}

pub(super) fn package(_checkout: &Checkout, _command: &TestCommand, _near: &[RepoPath]) -> Option<Vec<String>> {
    None
}

/// Node ids in place of the paths that the command names.
fn pytest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    // An argument that starts with `@` names a file of arguments.
    let id = |name: &String| {
        let is_path = name.split("::").next().is_some_and(|file| file.ends_with(".py"));
        let plain = name.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '/');
        is_path.then(|| if plain { name.clone() } else { format!("./{name}") })
    };
    let ids: Vec<String> = only.iter().map(id).collect::<Option<_>>()?;
    let mut narrowed: Vec<String> = Vec::new();
    let mut after_program = false;
    for word in argv {
        let takes_no_value = narrowed.last().is_some_and(|last| {
            !last.starts_with('-')
                || last.contains('=')
                || matches!(
                    last.trim_start_matches('-').trim_end_matches('v'),
                    "" | "q" | "qq" | "x" | "s" | "l" | "ra" | "rA"
                )
        });
        let is_path = word.ends_with(".py") || word.contains('/') || matches!(word.as_str(), "tests" | "test" | ".");
        if !(after_program && is_path && takes_no_value && !word.starts_with('-')) {
            narrowed.push(word.clone());
        }
        after_program |= matches!(word.rsplit('/').next(), Some("pytest" | "py.test"));
    }
    narrowed.extend(ids);
    Some(narrowed)
}

/// `-k NAME` for each; a name without wildcards matches as a part of the id.
fn unittest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    only.iter().all(plain).then(|| {
        let mut narrowed = argv.to_vec();
        narrowed.extend(only.iter().map(|name| format!("-k{name}")));
        narrowed
    })
}

//! Scripts of a project that are named after tests.

use super::names::{has_tests_in_name, is_task};
use crate::shell::python_options;

/// The index of the script in the arguments of an interpreter, as in `php -d memory_limit=-1 phpunit`. `None` if it runs
/// code of the command line, or a module.
pub(super) fn script(interpreter: &str, arguments: &[&str]) -> Option<usize> {
    if interpreter.starts_with("python") {
        let at = python_options(arguments);
        return arguments.get(at).filter(|word| !word.starts_with('-')).map(|_| at);
    }
    let (with_value, with_code): (&[&str], &[&str]) = match interpreter {
        "php" => (&["-d", "-c"], &["-r"]),
        "ruby" | "perl" => (&["-I", "-r"], &["-e", "-E"]),
        _ => (
            &["-r", "--require", "--import", "--loader"],
            &["-e", "--eval", "-p", "--print"],
        ),
    };
    let mut at = 0;
    loop {
        let word = *arguments.get(at)?;
        at += match word.starts_with('-') {
            false => return Some(at),
            true if with_code.contains(&word) => return None,
            true if with_value.contains(&word) => 2,
            true => 1,
        };
    }
}

/// Whether a command runs a script of the project that is named after its purpose, or is told it.
pub(super) fn is_own_script(first: &str, rest: &[&str]) -> bool {
    let stem = first.rsplit_once('.').map_or(first, |(stem, _)| stem);
    let is_named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        is_task(name.strip_suffix(".sh").unwrap_or(name))
    };
    match (first, rest) {
        ("bash" | "sh" | "dash", [script, rest @ ..]) if !script.starts_with('-') => {
            is_named(script) || (script.ends_with(".sh") && rest.iter().any(|word| is_task(word)))
        }
        // `test` alone is a command of every shell.
        (_, []) => is_task(stem) && first != "test",
        ("node" | "python" | "python3" | "ruby" | "php" | "perl", _) => {
            let Some(script) = script(first, rest).and_then(|at| rest.get(at)) else {
                return false;
            };
            let mut parts = script.split(['/', '.', '-', '_']);
            let name = script.rsplit('/').next().unwrap_or(script);
            has_tests_in_name(name) || parts.any(|part| matches!(part, "test" | "tests" | "spec"))
        }
        _ => first.ends_with(".sh") && (is_named(first) || rest.iter().any(|word| is_task(word))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_no_script() {
        for (line, expected) in [
            ("python -W error run_tests.py", true),
            ("python3 tests/all.py", true),
            ("node --import tsx test/run.js", true),
            ("php -d a=b runtests.php", true),
            ("python -c tests", false),
            ("python -m tests", false),
            ("node -e test", false),
            ("ruby -e test", false),
            ("php -r test", false),
            ("python latest.py", false),
            ("python", false),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(is_own_script(words[0], &words[1..]), expected, "{line}");
        }
    }
}

//! PHP: PHPUnit and Pest, from Composer's scripts or its own settings.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::discover::directory::Directory;
use crate::discover::words::needs_shell;
use crate::framework::Framework;
use crate::shell::is_name;
use crate::test_command::TestCommand;

#[derive(Deserialize, Default)]
struct Composer {
    #[serde(default)]
    scripts: serde_json::Map<String, Value>,
}

pub(crate) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    let composer = place.text("composer.json").unwrap_or_default();
    scripted(place, &composer).or_else(|| settings(place, &composer))
}

/// The `test` script, or the one for PHPUnit.
fn scripted(place: &Directory<'_>, composer: &str) -> Option<TestCommand> {
    let scripts = serde_json::from_str::<Composer>(composer).ok()?.scripts;
    let (name, script) = ["test", "tests", "phpunit", "test:unit"]
        .into_iter()
        .find_map(|name| scripts.get_key_value(name))?;
    let line = match script {
        Value::String(line) => line.as_str(),
        Value::Array(lines) if lines.len() == 1 => lines[0].as_str()?,
        _ => "",
    };
    let all = script_lines(place, name).unwrap_or_default();
    let is_runner = |line: &&String| {
        let program = line.split_whitespace().next().and_then(|word| word.rsplit('/').next());
        matches!(program, Some("phpunit" | "pest"))
    };
    let mut runs_tests = all.iter().filter(is_runner);
    // Without the checks around it.
    let line = match (runs_tests.next(), runs_tests.next()) {
        (Some(one), None) => one,
        _ => line,
    };
    let words = if needs_shell(line) { None } else { shlex::split(line) };
    let words = words.unwrap_or_default();
    // PHPUnit itself can be asked for a report and for single tests; Composer may pass such options to another
    // program.
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or(word));
    if let Some(program @ ("phpunit" | "pest")) = program {
        let program = format!("vendor/bin/{program}");
        let argv: Vec<&str> = [program.as_str()]
            .into_iter()
            .chain(words.iter().skip(1).map(String::as_str))
            .collect();
        return place.command(&argv, of_program(&program), "composer.json");
    }
    let script = script.to_string();
    let framework = if script.contains("phpunit") || script.contains("pest") {
        of_program(&script)
    } else {
        Framework::Other
    };
    place.command(&["composer", "run-script", name], framework, "composer.json")
}

/// Maximum depth of scripts that call others, and maximum number of lines.
const MAX_DEPTH: usize = 4;
const MAX_LINES: usize = 50;

/// The lines that a script of `composer.json` runs. Programs of packages come first in its search path:
/// <https://getcomposer.org/doc/articles/scripts.md>
pub(crate) fn script_lines(place: &Directory<'_>, name: &str) -> Option<Vec<String>> {
    let scripts = serde_json::from_str::<Composer>(&place.text("composer.json")?)
        .ok()?
        .scripts;
    let mut lines = Vec::new();
    let (name, _) = scripts.get_key_value(name)?;
    collect(&scripts, name, (MAX_DEPTH, &mut BTreeSet::new()), &mut lines);
    Some(lines)
}

/// Each script is read once, no matter how often others call it.
fn collect<'s>(
    scripts: &'s serde_json::Map<String, Value>,
    name: &'s str,
    (depth, seen): (usize, &mut BTreeSet<&'s str>),
    lines: &mut Vec<String>,
) {
    if !seen.insert(name) {
        return;
    }
    let own = match scripts.get(name) {
        Some(Value::Array(lines)) => lines.as_slice(),
        Some(line) => std::slice::from_ref(line),
        None => return,
    };
    for line in own.iter().filter_map(Value::as_str) {
        if lines.len() >= MAX_LINES {
            return;
        }
        match line.strip_prefix('@') {
            Some(called) => match called.strip_prefix("php ") {
                Some(line) => lines.push(line.to_owned()),
                None if depth > 0 => {
                    let name = called.split_whitespace().next().unwrap_or_default();
                    collect(scripts, name, (depth - 1, &mut *seen), lines);
                }
                None => {}
            },
            None => lines.push(with_programs_of_packages(line)),
        }
    }
}

/// A line with the path of its program if Composer puts that there; variables may come before it.
fn with_programs_of_packages(line: &str) -> String {
    let mut at = 0;
    while let Some((word, _)) = line[at..].split_once(' ')
        && (word.is_empty() || word.split_once('=').is_some_and(|(name, _)| is_name(name)))
    {
        at += word.len() + 1;
    }
    let (before, line) = line.split_at(at);
    let program = line.split_whitespace().next().unwrap_or_default();
    match program {
        "phpunit" | "pest" | "paratest" => format!("{before}vendor/bin/{line}"),
        "atoum" | "behat" | "codecept" | "kahlan" | "phpspec" | "tester" => format!("{before}vendor/bin/{line}"),
        _ => format!("{before}{line}"),
    }
}

fn settings(place: &Directory<'_>, composer: &str) -> Option<TestCommand> {
    let file = ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]
        .into_iter()
        .find(|file| place.has(file))?;
    let program = if place.has("phpunit") {
        // The project's own script, which may choose the version.
        "./phpunit"
    } else if composer.contains("\"pestphp/pest\"") {
        "vendor/bin/pest"
    } else if composer.contains("\"phpunit/phpunit\"") {
        "vendor/bin/phpunit"
    } else {
        "phpunit"
    };
    place.command(&[program], of_program(program), file)
}

fn of_program(command: &str) -> Framework {
    if command.contains("pest") {
        Framework::Pest
    } else {
        Framework::Phpunit
    }
}

#[cfg(test)]
mod tests {
    use greenlight_tree::checkout::Checkout;

    use super::*;

    #[test]
    fn scripts_that_call_each_other_many_times_are_read_once() {
        let many = vec!["@a"; 20_000];
        let scripts = serde_json::json!({"a": many, "b": many, "test": ["@b", "@a", "phpunit"]});
        let tree = tempfile::tempdir().unwrap();
        let text = serde_json::json!({"scripts": scripts}).to_string();
        std::fs::write(tree.path().join("composer.json"), text).unwrap();
        let checkout = Checkout::open(tree.path()).unwrap();
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        assert_eq!(script_lines(&place, "test").unwrap(), ["vendor/bin/phpunit"]);
        assert_eq!(script_lines(&place, "c"), None);
    }

    #[test]
    fn programs_of_packages_have_their_path_after_variables() {
        for (line, expected) in [
            ("phpunit -v", "vendor/bin/phpunit -v"),
            (
                "XDEBUG_MODE=coverage  A= pest",
                "XDEBUG_MODE=coverage  A= vendor/bin/pest",
            ),
            ("phpstan --x=y", "phpstan --x=y"),
            ("vendor/bin/phpunit", "vendor/bin/phpunit"),
        ] {
            assert_eq!(with_programs_of_packages(line), expected);
        }
    }
}

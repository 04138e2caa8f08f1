//! Lists the programs that a test command runs one after the other, inside the shells, scripts and runners around
//! them.
//!
//! Programs that depend on values which only a shell would know are left out.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use super::step::{lines, patterned, tool};
use super::{javascript, recipes};
use crate::discover::directory::Directory;
use crate::shell::{SimpleCommand, assigned, line_directory, split_line, substituted};
use crate::test_command::TestCommand;

/// Maximum number of programs that are listed.
const MAX_PARTS: usize = 30;
/// Maximum depth of scripts in scripts, and of substitutions in substitutions.
const MAX_DEPTH: usize = 5;
/// Maximum number of scripts and commands that are taken apart, no matter what they lead to.
const MAX_LOOKS: usize = 300;
/// Maximum number of substitutions in one script.
const MAX_SUBSTITUTED: usize = 50;

/// One program and its arguments, as a test command runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPart {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory in which it runs. `None` is the root.
    pub directory: Option<RepoPath>,
    /// Variables that are set for it.
    pub env: BTreeMap<String, String>,
    /// Whether it contains a pattern that a shell would expand.
    pub has_pattern: bool,
}

impl CommandPart {
    /// The arguments that start it, through a shell if patterns must be expanded.
    pub fn to_run(&self) -> Vec<String> {
        match self.has_pattern {
            true => vec!["sh".into(), "-c".into(), patterned(&self.argv)],
            false => self.argv.clone(),
        }
    }
}

/// The programs that a test command runs, in order.
pub fn parts(checkout: &Checkout, command: &TestCommand) -> Vec<CommandPart> {
    let whole = CommandPart {
        argv: command.argv.clone(),
        directory: command.directory.clone(),
        env: command.env.clone(),
        has_pattern: false,
    };
    let mut found = PartCollector {
        parts: Vec::new(),
        looks: MAX_LOOKS,
    };
    collect(checkout, whole, MAX_DEPTH, &mut found);
    found.parts.truncate(MAX_PARTS);
    found.parts
}

/// The programs found so far, and how many more may be taken apart.
struct PartCollector {
    parts: Vec<CommandPart>,
    looks: usize,
}

fn collect(checkout: &Checkout, part: CommandPart, depth: usize, found: &mut PartCollector) {
    let (Some(depth), Some(looks)) = (depth.checked_sub(1), found.looks.checked_sub(1)) else {
        return;
    };
    found.looks = looks;
    if found.parts.len() >= MAX_PARTS {
        return;
    }
    if let Some(script) = shell_script(&part.argv) {
        for line in lines(script, &part.env).unwrap_or_default() {
            let below = of_line(&part, line);
            below.into_iter().for_each(|part| collect(checkout, part, depth, found));
        }
        for inner in substituted(script).into_iter().take(MAX_SUBSTITUTED) {
            let argv = ["sh", "-c", inner].map(str::to_owned).to_vec();
            collect(checkout, CommandPart { argv, ..part.clone() }, depth, found);
        }
        return;
    }
    let argv = tool::unwrapped(part.argv.clone());
    let place = Directory {
        checkout,
        directory: part.directory.clone(),
    };
    if let Some(scripts) = recipes::scripts(&place, &argv, &BTreeMap::new()) {
        for script in scripts {
            let argv = ["sh", "-c", &script].map(str::to_owned).to_vec();
            collect(checkout, CommandPart { argv, ..part.clone() }, depth, found);
        }
        return;
    }
    match javascript::plain(&place, &argv) {
        Some(commands) => found.parts.extend(commands.into_iter().filter_map(|words| {
            let mut part = part.clone();
            part.has_pattern |= words.has_pattern;
            part.env.extend(words.env);
            part.argv = words.argv;
            (!part.argv.is_empty()).then_some(part)
        })),
        None => found.parts.push(CommandPart { argv, ..part }),
    }
}

/// The script that is passed to a shell.
fn shell_script(argv: &[String]) -> Option<&str> {
    let (shell, rest) = argv.split_first()?;
    let name = shell.rsplit('/').next()?;
    if !matches!(name, "sh" | "bash" | "dash" | "zsh") {
        return None;
    }
    let at = rest
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    rest.get(at + 1).map(String::as_str)
}

fn of_line(whole: &CommandPart, line: SimpleCommand) -> Option<CommandPart> {
    let env = assigned(&whole.env, &line.env)?;
    Some(CommandPart {
        argv: split_line(&line.words, &env, |_| None)?,
        directory: line_directory(whole.directory.as_ref(), &line.directory, &env)?,
        env,
        has_pattern: line.has_pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Framework;
    use crate::test_command::Source;

    #[track_caller]
    fn check(argv: &[&str], expected: &[&str]) {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("web")).unwrap();
        let package = r#"{"scripts": {"lint": "eslint . && npm run format -- --log-level=warn", "format": "A=b prettier --check 'src/*.js' *.md"}}"#;
        std::fs::write(tree.path().join("web/package.json"), package).unwrap();
        std::fs::write(
            tree.path().join("Makefile"),
            "lint:\n\tcd web && npm run lint\n\truff check .\n",
        )
        .unwrap();
        std::fs::write(tree.path().join("loop.sh"), "sh loop.sh\n".repeat(5_000)).unwrap();
        let checkout = Checkout::open(tree.path()).unwrap();
        let argv = argv.iter().map(ToString::to_string).collect();
        let command = TestCommand::new(argv, Framework::Other, Source::Settings);
        let shown = parts(&checkout, &command).into_iter().map(|part| {
            let at = part
                .directory
                .as_ref()
                .map_or(String::new(), |path| format!("{path}: "));
            let env: Vec<String> = part
                .env
                .iter()
                .map(|(name, value)| format!("{name}={value} "))
                .collect();
            format!("{at}{}{}", env.concat(), part.to_run().join("|"))
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{argv:?}", argv = command.argv);
    }

    #[test]
    fn programs_are_found_behind_shells_and_scripts() {
        check(&["black", "--check", "."], &["black|--check|."]);
        check(&["uv", "run", "--frozen", "ruff", "check"], &["ruff|check"]);
        check(&["poetry", "run", "isort", "-c", "."], &["isort|-c|."]);
        check(
            &["bash", "-ec", "A=1 black --check . && ruff check"],
            &["A=1 black|--check|.", "ruff|check"],
        );
        check(&["sh", "-c", "test -z \"$(gofmt -l .)\""], &["gofmt|-l|."]);
        check(&["npx", "eslint", "."], &["npx|eslint|."]);
        check(
            &["sh", "-c", "cd web && npm run lint"],
            &[
                "web: eslint|.",
                "web: A=b sh|-c|prettier --check src/*.js *.md --log-level=warn",
            ],
        );
        check(
            &["make", "lint"],
            &[
                "web: eslint|.",
                "web: A=b sh|-c|prettier --check src/*.js *.md --log-level=warn",
                "ruff|check|.",
            ],
        );
        check(&["sh", "-c", "black $FILES"], &[]);
        check(&["sh", "-c", "cd .. && black ."], &[]);
        check(&["sh", "-c", &"$(".repeat(10_000)], &[]);
        check(&["sh", "loop.sh"], &[]);
    }
}

//! Fixes errors of rustc and clippy with the compiler's own suggestions, by running the failing build again with JSON
//! output.

use greenlight_readers::test_run::Outcome;
use greenlight_suite as suite;
use greenlight_suite::CommandPart;
use tokio_util::sync::CancellationToken;

use super::runner::ToolRunner;
use super::tool_fix::{FixKind, ToolFix, files, typed};
use super::{named, suggestions};
use crate::task::Task;

/// Maximum number of rounds: a fix may reveal further errors.
const ROUNDS: usize = 3;

/// Options of nextest and other commands that `cargo test --no-run` accepts as well; those of the second list take a
/// value.
const FLAGS: [&str; 15] = [
    "--workspace",
    "--all",
    "--all-features",
    "--no-default-features",
    "--all-targets",
    "--lib",
    "--bins",
    "--tests",
    "--examples",
    "--benches",
    "--release",
    "-r",
    "--locked",
    "--offline",
    "--frozen",
];
const VALUED: [&str; 11] = [
    "-p",
    "--package",
    "-F",
    "--features",
    "--manifest-path",
    "--target",
    "--exclude",
    "--bin",
    "--test",
    "--example",
    "--bench",
];

/// Applies the suggestions that the compiler is sure of until no errors are left. `None` if some remain.
pub(super) async fn fix(
    task: &Task<'_>,
    part: &CommandPart,
    cancel: &CancellationToken,
) -> Result<Option<ToolFix>, suite::Error> {
    // A failure in a running test does not concern the compiler.
    let is_of_the_build = matches!(task.before.outcome, Outcome::DidNotBuild | Outcome::Flagged);
    let Some(argv) = as_json(&part.argv).filter(|_| is_of_the_build) else {
        return Ok(None);
    };
    let mut bench = ToolRunner::new(task).await?;
    let mut made = 0;
    for round in 0..=ROUNDS {
        let ran = bench.run(part, &argv, cancel).await?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let found = suggestions::read(&ran.printed);
        if found.errors == 0 {
            let is_built = ran.outcome == greenlight_sandbox::Outcome::Exited(0);
            return Ok((made > 0 && is_built).then(|| tool_fix(&bench, part)).flatten());
        }
        if round == ROUNDS {
            break;
        }
        let path = |file: &str| source(task, part, file);
        let changes = suggestions::applied(&found.suggestions, |file| bench.text(&path(file)?));
        let mut put = 0;
        for (file, text) in changes {
            put += usize::from(path(&file).is_some_and(|path| bench.put(&path, &text)));
        }
        if put == 0 {
            break;
        }
        made += put;
    }
    Ok(None)
}

/// The source file that rustc refers to, relative to the cargo workspace: the directory of the command, or one above
/// it.
fn source(task: &Task<'_>, part: &CommandPart, file: &str) -> Option<greenlight_anchor::RepoPath> {
    let mut directory = part.directory.clone();
    if !file.ends_with(".rs") {
        return None;
    }
    loop {
        if let Some(found) = named::resolved(task.checkout, directory.as_ref(), file) {
            return Some(found);
        }
        let above = directory.as_ref()?.as_str().rsplit_once('/')?.0;
        directory = Some(above.parse().ok()?);
    }
}

fn tool_fix(bench: &ToolRunner<'_>, part: &CommandPart) -> Option<ToolFix> {
    let patch = bench.patch();
    let first = patch.paths().next()?.to_string();
    let tool = if part.argv.iter().any(|word| word == "clippy") {
        "Clippy"
    } else {
        "rustc"
    };
    Some(ToolFix {
        explanation: format!("{tool}'s own suggestions fix {}", files(&first, patch.paths().count())),
        tool: typed(&part.argv),
        patch,
        kind: FixKind::Code,
    })
}

/// The command that builds the same with JSON output. `None` for other commands.
pub(crate) fn as_json(argv: &[String]) -> Option<Vec<String>> {
    let (program, rest) = argv.split_first()?;
    if program.rsplit('/').next() != Some("cargo") {
        return None;
    }
    let at = rest.iter().position(|word| !word.starts_with(['+', '-']))?;
    let (before, rest) = rest.split_at(at);
    let (subcommand, rest) = rest.split_first()?;
    let is_test = matches!(subcommand.as_str(), "test" | "t" | "nextest");
    if !is_test && !matches!(subcommand.as_str(), "build" | "b" | "check" | "c" | "clippy") {
        return None;
    }
    let name = if is_test { "test" } else { subcommand.as_str() };
    let mut words: Vec<String> = [program.clone()].into_iter().chain(before.iter().cloned()).collect();
    words.push(name.to_string());
    words.push("--message-format=json".into());
    if is_test {
        words.push("--no-run".into());
    }
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let option = word.split('=').next().unwrap_or(word);
        match word.as_str() {
            "--" if is_test => break,
            "--" => {
                words.push(word.clone());
                words.extend(rest.by_ref().cloned());
            }
            "--message-format" => _ = rest.next(),
            "-q" | "--quiet" => {}
            _ if option == "--message-format" => {}
            _ if is_test && VALUED.contains(&option) => {
                words.push(word.clone());
                if option == word {
                    words.extend(rest.next().cloned());
                }
            }
            _ if is_test && !FLAGS.contains(&option) => {}
            _ => words.push(word.clone()),
        }
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_asked_for_json() {
        #[track_caller]
        fn check(line: &str, expected: Option<&str>) {
            let argv: Vec<String> = line.split(' ').map(ToString::to_string).collect();
            assert_eq!(
                as_json(&argv).map(|words| words.join(" ")).as_deref(),
                expected,
                "{line}"
            );
        }
        check("cargo test", Some("cargo test --message-format=json --no-run"));
        check(
            "cargo +nightly test -q -p a some_test -- --nocapture",
            Some("cargo +nightly test --message-format=json --no-run -p a"),
        );
        check(
            "cargo nextest run --workspace --profile ci --features=x",
            Some("cargo test --message-format=json --no-run --workspace --features=x"),
        );
        check(
            "cargo clippy --all-targets --message-format short -- -D warnings",
            Some("cargo clippy --message-format=json --all-targets -- -D warnings"),
        );
        check(
            "cargo check --message-format=json",
            Some("cargo check --message-format=json"),
        );
        check("cargo fmt", None);
        check("cargo", None);
        check("go test", None);
    }
}

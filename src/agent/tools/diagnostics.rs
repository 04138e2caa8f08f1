//! `diagnostics`: errors in files, found by parsing them and, if code may be executed, by the project's own checker.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::look::PAGE;
use super::{repo_path, run_code};
use crate::agent::{Error, Shell};
use crate::domain::id::RepoPath;
use crate::guard::syntax_errors;
use crate::sandbox::Outcome;
use crate::suite::{Job, Packages};

/// The maximum number of files in one call.
const MAX_FILES: usize = 50;
/// How long a checker may take, unless the tests have less time.
const WALL: Duration = Duration::from_secs(5 * 60);
/// The exit code for a missing command, by the convention of shells.
const NOT_THERE: i32 = 127;
/// Changes to the directory of the tests, and replaces itself by the checker if it is installed.
const SCRIPT: &str = r#"cd "$1" && command -v "$2" >/dev/null 2>&1 || exit 127; shift; exec "$@""#;

/// Arguments of `diagnostics`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct Diagnostics {
    /// Files to look at; those that were edited if left out.
    #[serde(default)]
    paths: Option<Vec<String>>,
}

/// Checks files, and runs the project's checker.
pub(super) async fn diagnostics(
    wanted: &Diagnostics,
    shell: &mut Shell<'_>,
    stop: &CancellationToken,
) -> Result<String, Error> {
    let paths = match &wanted.paths {
        Some(paths) => paths.iter().take(MAX_FILES).map(|path| repo_path(path)).collect(),
        None => Ok(shell.checkout.patch().paths().take(MAX_FILES).cloned().collect()),
    };
    let paths: Vec<RepoPath> = match paths {
        Ok(paths) => paths,
        Err(sentence) => return Ok(sentence),
    };
    let mut text: String = paths.iter().map(|path| syntax(path, shell)).collect();
    if paths.is_empty() {
        text.push_str("no file was edited.\n");
    }
    text.truncate(text.floor_char_boundary(PAGE / 2));
    for checker in checkers(shell) {
        let Some(suite) = &shell.tests else { break };
        let here = suite
            .command
            .directory
            .as_ref()
            .map_or(".", |path| path.as_str())
            .to_owned();
        let words = ["sh", "-c", SCRIPT, "sh", &here]
            .into_iter()
            .chain(checker.iter().copied());
        let job = Job {
            argv: words.map(str::to_owned).collect(),
            hosts: Vec::new(),
            wall: suite.command.timeout.min(WALL),
        };
        if let Some(ran) = shell.execute(&job, &Packages::default(), stop).await?
            && ran.outcome != Outcome::Exited(NOT_THERE)
        {
            text += &format!("`{}`: {}\n", checker.join(" "), run_code::result_text(&ran));
        }
    }
    Ok(text)
}

fn syntax(path: &RepoPath, shell: &Shell<'_>) -> String {
    let Some(text) = shell.checkout.read_text(path.as_str()) else {
        return format!("`{path}`: there is no such text file.\n");
    };
    match syntax_errors(path.as_str(), &text).as_deref() {
        None => format!("`{path}`: its syntax is not known here.\n"),
        Some([]) => format!("`{path}`: no syntax error.\n"),
        Some(lines) => {
            let lines: Vec<_> = lines.iter().take(20).map(ToString::to_string).collect();
            format!("`{path}`: syntax errors at line {}.\n", lines.join(", "))
        }
    }
}

/// The checkers that the project's files mention.
fn checkers(shell: &Shell<'_>) -> Vec<&'static [&'static str]> {
    let Some(suite) = &shell.tests else { return Vec::new() };
    let directory = suite.command.directory.as_ref().map_or("", |path| path.as_str());
    let at = |name: &str| {
        let path = if directory.is_empty() {
            name.to_owned()
        } else {
            format!("{directory}/{name}")
        };
        shell.checkout.read_text(&path)
    };
    let says = |name: &str, word: &str| at(name).is_some_and(|text| text.contains(word));
    let mut checkers: Vec<&[&str]> = Vec::new();
    if at("Cargo.toml").is_some() {
        checkers.push(&["cargo", "check", "--offline", "--all-targets", "--message-format=short"]);
    }
    if at("go.mod").is_some() {
        checkers.push(&["go", "vet", "./..."]);
    }
    if at("tsconfig.json").is_some() {
        checkers.push(&["tsc", "--noEmit", "--pretty", "false"]);
    }
    if at("ruff.toml").is_some() || at(".ruff.toml").is_some() || says("pyproject.toml", "[tool.ruff") {
        checkers.push(&["ruff", "check", "--no-cache", "--output-format=concise"]);
    }
    if at("mypy.ini").is_some() || says("pyproject.toml", "[tool.mypy") || says("setup.cfg", "[mypy") {
        checkers.push(&["mypy", "."]);
    }
    checkers
}

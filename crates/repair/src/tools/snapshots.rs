//! Lets the framework update its snapshots, if every failing test fails only because of a snapshot. This claims that
//! the test may be wrong, never that the code is fixed.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::{Failure, Outcome};
use greenlight_suite as suite;
use greenlight_suite::Snapshots;
use tokio_util::sync::CancellationToken;

use super::runner::ToolRunner;
use super::tool_fix::{FixKind, ToolFix, files, shown};
use crate::task::Task;

/// Maximum number of files that are examined.
const MAX_LOOKED_AT: usize = 1_000;

/// Updates the snapshots of the failing tests. `None` if any test fails for another reason.
pub(super) async fn fix(task: &Task<'_>, cancel: &CancellationToken) -> Result<Option<ToolFix>, suite::Error> {
    let Some(kind) = kind(task) else { return Ok(None) };
    let mut bench = ToolRunner::new(task).await?;
    let mut suite = bench.suite().for_purpose(suite::Purpose::Search);
    let argv = &mut suite.command.argv;
    let is_manager = argv.first().is_some_and(|word| matches!(word.as_str(), "npm" | "pnpm"));
    if is_manager && !argv.iter().any(|word| word == "--") && !kind.adds.is_empty() {
        argv.push("--".into());
    }
    argv.extend(kind.adds.iter().map(ToString::to_string));
    let env = kind.env.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    suite.command.env.extend(env);
    let failing: Vec<String> = task.before.failing_names().map(String::from).collect();
    suite::run(&suite, bench.workspace(), &failing, cancel).await?;
    if cancel.is_cancelled() {
        return Ok(None);
    }
    bench.take(&snapshots(task, kind));
    let patch = bench.patch();
    let Some(first) = patch.paths().next().map(ToString::to_string) else {
        return Ok(None);
    };
    Ok(Some(ToolFix {
        tool: shown(&suite.command.to_string()),
        explanation: format!(
            "the snapshots of the failing tests are updated in {}",
            files(&first, patch.paths().count())
        ),
        patch,
        kind: FixKind::Snapshot,
    }))
}

/// The kind of snapshot that every failing test differs from.
fn kind(task: &Task<'_>) -> Option<&'static Snapshots> {
    let (before, argv) = (task.before, &task.suite.command.argv);
    let is_all = usize::try_from(before.failed) == Ok(before.failures.len()) && !before.failures.is_empty();
    // A shell script only accepts more arguments if it uses `"$@"`.
    let takes_words = argv.first().is_some_and(|word| word != "sh") || argv.iter().any(|word| word.contains("\"$@\""));
    if before.outcome != Outcome::Failed || !is_all {
        return None;
    }
    task.suite.command.framework.snapshots().iter().find(|kind| {
        let differs = |failure: &Failure| kind.marks.iter().any(|mark| failure.message.contains(mark));
        (takes_words || kind.adds.is_empty()) && before.failures.iter().all(differs)
    })
}

/// The files that contain the failing tests' snapshots: in a folder of snapshots beside the test, or the test file
/// itself.
fn snapshots(task: &Task<'_>, kind: &Snapshots) -> BTreeSet<RepoPath> {
    let tests: BTreeSet<RepoPath> = task
        .before
        .failures
        .iter()
        .filter_map(|failure| test_file(task, failure))
        .collect();
    let beside: BTreeSet<&str> = tests
        .iter()
        .map(|path| path.as_str().rsplit_once('/').map_or("", |(directory, _)| directory))
        .collect();
    let is_beside = |path: &&&RepoPath| {
        let path = path.as_str();
        beside.iter().any(|directory| {
            let rest = match *directory {
                "" => Some(path),
                directory => path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some((folder, name)) = rest.and_then(|rest| rest.split_once('/')) else {
                return false;
            };
            // pytest-regressions names a folder after the test file.
            let is_of_a_test = tests
                .iter()
                .any(|test| test.as_str().ends_with(&format!("{folder}.py")));
            match folder {
                "__snapshots__" | "snapshots" => name.ends_with(".snap") || name.ends_with(".ambr"),
                _ => is_of_a_test && !name.ends_with(".py"),
            }
        })
    };
    let all = task.checkout.paths();
    let mut found: BTreeSet<RepoPath> = all
        .iter()
        .filter(is_beside)
        .take(MAX_LOOKED_AT)
        .map(|path| (*path).clone())
        .collect();
    if kind.is_inline
        && task
            .before
            .failures
            .iter()
            .any(|failure| failure.message.contains("Inline"))
    {
        found.extend(tests);
    }
    found
}

/// The file of a failing test: where it failed, or the beginning of its name.
fn test_file(task: &Task<'_>, failure: &Failure) -> Option<RepoPath> {
    let named = failure.name.split([' ', ':']).next();
    let place = failure.location.as_ref().map(|place| place.path.as_str());
    let mut paths = place
        .into_iter()
        .chain(named)
        .filter_map(|path| path.parse::<RepoPath>().ok());
    paths.find(|path| task.checkout.contains(path.as_str()))
}

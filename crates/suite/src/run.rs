//! Runs a test command in the sandbox and reads its result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::TestRun;
use greenlight_redact::redact;
use greenlight_sandbox as sandbox;
use greenlight_tree::checkout::{self, Checkout, Workspace};
use greenlight_units::clock::millis;
use tokio_util::sync::CancellationToken;

use super::file_lookup::Places;
use super::{filter, parse, reporters, reports, text};
use crate::framework::{Ecosystem, Framework};
use crate::prebuild::{self, OwnCode};
use crate::suite::Suite;
use crate::test_command::TestCommand;
use crate::wrapper::{OWN_VARIABLES, environment, in_wrapper};

/// Maximum size of the output that is kept, in bytes; enough for some ten thousand tests.
const MAX_OUTPUT: usize = 8 << 20;

/// How much of a red run is kept with its colours, in bytes.
const MAX_COLOURED: usize = 16 << 10;

/// What is left at least for tests whose code took long to compile.
const MIN_WALL: Duration = Duration::from_secs(1);

/// Time limit for adding reused packages and build output to a workspace.
const PREPARING: Duration = Duration::from_secs(60);

/// Why tests could not be run in a workspace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The copy of the tree could not be made.
    #[error(transparent)]
    Checkout(#[from] checkout::Error),
    /// The sandbox failed; nothing that the tests do is such an error.
    #[error(transparent)]
    Sandbox(#[from] sandbox::Error),
}

/// Runs the tests in a new copy of the tree, which shares nothing with earlier runs and is removed afterwards.
///
/// # Errors
/// When the copy cannot be made, or the sandbox fails.
pub async fn run_fresh(
    suite: &Suite,
    checkout: &Checkout,
    only: &[String],
    cancel: &CancellationToken,
) -> Result<TestRun, Error> {
    let workspace = checkout.fresh_copy(&suite.workspaces).await?;
    let run = run(suite, &workspace, only, cancel).await?;
    // Removing a large tree takes time, so do it in the background.
    tokio::task::spawn_blocking(move || drop(workspace));
    Ok(run)
}

/// Runs the named tests, or all of them if none is named, in a workspace as it is now, and reads the result.
///
/// Names are those of [`TestRun`]; where they cannot be passed on, all tests run. A run that was cancelled has the
/// outcome [`DidNotStart`](greenlight_readers::test_run::Outcome::DidNotStart), which says nothing about the code.
///
/// # Errors
/// When the sandbox fails. Failing tests are not an error.
pub async fn run(
    suite: &Suite,
    workspace: &Workspace,
    only: &[String],
    cancel: &CancellationToken,
) -> Result<TestRun, sandbox::Error> {
    let is_untouched = workspace.begins_untouched();
    prebuild::compile_shared(suite, (workspace, is_untouched), cancel).await?;
    let command = &suite.command;
    let directory = command.directory.as_ref().map_or("", |directory| directory.as_str());
    let invocation = reporters::invocation(command, filter::argv(command, only));
    // Old reports are removed first, so that none is mistaken for a report of this run.
    let (root, below, patterns) = (
        workspace.path().to_path_buf(),
        PathBuf::from(directory),
        invocation.reports.clone(),
    );
    let clear = move || reports::clear(&root, &below, &patterns);
    blocking(clear).await?.map_err(sandbox::Error::Broken)?;
    let mut policy = suite.policy.clone();
    policy.limits.wall = command.timeout;
    policy.limits.output = policy.limits.output.max(MAX_OUTPUT);
    let is_java = command.framework.ecosystem() == Ecosystem::Java;
    let heap = is_java.then(|| reporters::jvm::heap(policy.limits.memory));
    let mut env: BTreeMap<String, String> = environment()
        .into_iter()
        .filter(|(name, _)| name != "NO_COLOR" || command.framework.is_linter())
        .chain(heap)
        .chain(suite.env())
        .chain(not_our_own(&command.env))
        .chain(invocation.env)
        .collect();
    if command.framework == Framework::Maven {
        reporters::jvm::start_quickly(&mut env);
    }
    let OwnCode { compiled, took } = match is_untouched {
        true => prebuild::compile_own(suite, workspace, (&env, only.is_empty()), cancel).await?,
        false => OwnCode::default(),
    };
    let is_reused = compiled.is_some();
    if !is_reused {
        policy.limits.wall = command.timeout.saturating_sub(took).max(MIN_WALL);
    }
    let (more_env, mount) = compiled.map(|own| (own.env, own.mount)).unzip();
    env.extend(more_env.unwrap_or_default());
    let in_sandbox = sandbox::Command {
        argv: wrapped(command, invocation.argv),
        workspace: workspace.path().to_path_buf(),
        changes: sandbox::Changes::Kept,
        cwd: in_place(command),
        env,
        mounts: suite.mounts().into_iter().chain(mount).collect(),
    };
    let begun = suite.clock.begins(suite.purpose);
    let output = suite.sandbox.exec(&in_sandbox, &policy, cancel).await?;
    suite.clock.add(suite.purpose, output.wall);
    drop(begun);
    let (framework, root, below) = (
        command.framework,
        workspace.path().to_path_buf(),
        PathBuf::from(directory),
    );
    let mut run = blocking(move || {
        let reports = reports::collect(&root, &below, &invocation.reports);
        let mut run = without_secrets(parse::read(framework, &output, &reports));
        if !run.is_green() {
            run.coloured = text::coloured(&output.stdout, &output.stderr, MAX_COLOURED);
        }
        run
    })
    .await?;
    run.command = command.to_string();
    match is_reused {
        true => run.saved_ms = millis(took),
        false => run.duration_ms += millis(took),
    }
    relocate(&mut run, workspace.path(), directory);
    (framework.spec().rename)(&mut run, workspace.path(), command);
    Ok(run)
}

/// The directory of a command, relative to the root of the tree.
pub(crate) fn in_place(command: &TestCommand) -> PathBuf {
    PathBuf::from(command.directory.as_ref().map_or("", |directory| directory.as_str()))
}

/// Runs are stored in journals, which others may read. Names stay unchanged: they select tests.
fn without_secrets(mut run: TestRun) -> TestRun {
    for failure in &mut run.failures {
        failure.message = redact(&failure.message);
    }
    run.tail = redact(&run.tail);
    run
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, sandbox::Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| sandbox::Error::Broken(std::io::Error::other(error)))
}

pub(crate) fn wrapped(command: &TestCommand, argv: Vec<String>) -> Vec<OsString> {
    let root = command.import_root.clone().unwrap_or_default();
    // The path from the directory of the command to the root of the tree.
    let parts = command.directory.iter().flat_map(|path| path.as_str().split('/'));
    let up: Vec<&str> = ["."].into_iter().chain(parts.map(|_| "..")).collect();
    let up = up.join("/");
    let builds: String = command.builds().map(|build| build.line_from(&up) + " && ").collect();
    let argv = match builds.as_str() {
        "" => argv,
        builds => ["sh", "-c", &format!("{builds}exec \"$@\""), "sh"]
            .map(String::from)
            .into_iter()
            .chain(argv)
            .collect(),
    };
    in_wrapper(root, up, argv)
}

/// Adds to a workspace what every test run starts with: links to reused packages, and build output.
///
/// # Errors
/// When the sandbox fails. If something could not be added, the tests show it.
pub async fn prepare(suite: &Suite, workspace: &Workspace, cancel: &CancellationToken) -> Result<(), sandbox::Error> {
    workspace.begins_untouched();
    if !suite.env().keys().any(|name| name.starts_with(OWN_VARIABLES)) {
        return Ok(());
    }
    let mut policy = suite.policy.clone();
    policy.limits.wall = PREPARING;
    let nothing = sandbox::Command {
        cwd: in_place(&suite.command),
        env: environment().into_iter().chain(suite.env()).collect(),
        mounts: suite.mounts(),
        ..sandbox::Command::new(wrapped(&suite.command, vec!["true".into()]), workspace.path())
    };
    suite.sandbox.exec(&nothing, &policy, cancel).await?;
    Ok(())
}

/// Where an interpreter runs the tests of a suite alone: in the directory of the command, with its variables, in a
/// [prepared](prepare) workspace. `GREENLIGHT_UP` is the path from there to the root of the tree.
pub fn place_of_tests(suite: &Suite, workspace: &Workspace) -> sandbox::SessionPaths {
    let command = &suite.command;
    let directory = command.directory.as_ref().map_or("", |directory| directory.as_str());
    let parts = directory.split('/').filter(|part| !part.is_empty());
    let up: Vec<&str> = ["."].into_iter().chain(parts.map(|_| "..")).collect();
    let mut env = environment();
    env.remove("NO_COLOR");
    env.extend(not_our_own(&suite.installed.env));
    env.extend(not_our_own(&command.env));
    env.insert("GREENLIGHT_UP".into(), up.join("/"));
    if let Some(root) = &command.import_root {
        let theirs = env
            .get("PYTHONPATH")
            .map(|listed| format!(":{listed}"))
            .unwrap_or_default();
        env.insert("PYTHONPATH".into(), format!("{root}:.{theirs}"));
    }
    if command.framework.ecosystem() == Ecosystem::Java {
        env.extend([reporters::jvm::heap(suite.policy.limits.memory)]);
        reporters::jvm::start_quickly(&mut env);
    }
    if let Some(environment) = env.get("VIRTUAL_ENV") {
        let others = env
            .get("PATH")
            .map_or_else(|| suite.sandbox.search_path(), String::as_str);
        let path = format!("{environment}/bin:{others}");
        env.insert("PATH".into(), path);
    }
    let mut place = sandbox::SessionPaths::new(workspace.path());
    place.cwd = in_place(command);
    place.env = env;
    place.mounts.clone_from(&suite.installed.mounts);
    place
}

/// Variables without those that greenlight passes to its wrapper.
pub(crate) fn not_our_own(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = env.clone();
    env.retain(|name, _| !name.starts_with(OWN_VARIABLES));
    env
}

/// Makes the locations of failures relative to the root of the tree; locations outside of it are removed, as they
/// help nobody.
fn relocate(run: &mut TestRun, workspace: &Path, directory: &str) {
    let roots = [Path::new(sandbox::WORKSPACE), workspace];
    // File names in test names are relative to the directory of the command.
    let here = roots.map(|root| format!("{}/", root.join(directory).display().to_string().trim_end_matches('/')));
    let names = run.failures.iter_mut().map(|failure| &mut failure.name);
    for name in names.chain(&mut run.passed_names).chain(&mut run.skipped_names) {
        if let Some(rest) = here.iter().find_map(|here| name.strip_prefix(here.as_str())) {
            *name = rest.to_string();
        }
    }
    let mut places = Places::new(workspace, Path::new(directory));
    for failure in &mut run.failures {
        let Some(place) = &mut failure.location else { continue };
        let path = Path::new(&place.path);
        let relative = if path.is_absolute() {
            roots
                .iter()
                .find_map(|root| path.strip_prefix(root).ok())
                .map(Path::to_path_buf)
        } else {
            Some(Path::new(directory).join(path.strip_prefix("./").unwrap_or(path)))
        };
        let relative = relative.and_then(|relative| places.find(&relative));
        // A path in the repository, or none: the output is only a claim.
        match relative.as_deref().and_then(Path::to_str).map(str::parse::<RepoPath>) {
            Some(Ok(relative)) => place.path = relative.to_string(),
            _ => failure.location = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use greenlight_readers::test_run::{Failure, Location, Outcome};

    use super::*;

    #[test]
    fn places_are_relative_to_the_root_or_nowhere() {
        #[track_caller]
        fn check(path: &str, directory: &str, expected: Option<&str>) {
            let mut run = TestRun::without_result("", Outcome::Failed, "");
            let (path, line) = (path.to_string(), 1);
            run.failures.push(Failure {
                name: "a".into(),
                location: Some(Location { path, line }),
                message: String::new(),
                ..Failure::default()
            });
            relocate(&mut run, Path::new("/tmp/ws-1"), directory);
            let place = run.failures[0].location.as_ref().map(|place| place.path.as_str());
            assert_eq!(place, expected);
        }
        check("src/lib.rs", "", Some("src/lib.rs"));
        check("./src/lib.rs", "sub", Some("sub/src/lib.rs"));
        check("/workspace/sub/a.py", "sub", Some("sub/a.py"));
        check("/tmp/ws-1/a.py", "", Some("a.py"));
        check("/usr/lib/python3/a.py", "", None);
        check("../../etc/passwd", "", None);
        check("/workspace/../etc/passwd", "", None);
    }

    /// Only greenlight can set the variables that tell the wrapper what is reused.
    #[test]
    fn a_step_cannot_speak_to_the_wrapper() {
        let variables = |names: &[&str]| {
            let pairs = names.iter().map(|name| (name.to_string(), "/etc".to_string()));
            pairs.collect::<BTreeMap<_, _>>()
        };
        let step = variables(&["GREENLIGHT_GENERATED", "GREENLIGHT_MODULES", "LEVEL"]);
        assert_eq!(not_our_own(&step), variables(&["LEVEL"]));
    }
}

//! The crates that a Rust project depends on.
//!
//! They are compiled in a run that sees the project's manifests and no code of it, and kept under a digest of what this
//! run sees: another project, or a pull request that changes a dependency, gets another result. A build script of a
//! dependency can therefore only change results of trees that run it anyway. Cargo decides what is still right: for each
//! crate it compares version, features, profile, flags and compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{Access, Outcome};
use greenlight_tree::checkout::Workspace;
use greenlight_tree::files;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::skeleton::Skeleton;
use crate::install::{Store, StoredInstall};
use crate::prebuilt::{Compiled, mount};
use crate::run::{in_place, not_our_own};
use crate::run_clock::Purpose;
use crate::suite::Suite;
use crate::wrapper::environment;
use crate::{filter, reporters, text};

/// Where the sandbox mounts the compiled crates, and the variables that tell the wrapper where they are and where the
/// tree keeps its build output.
pub(super) const CRATES: &str = "/crates";
const VARIABLES: [&str; 2] = ["GREENLIGHT_CRATES", OUTPUT];
pub(super) const OUTPUT: &str = "GREENLIGHT_CRATES_IN";

/// Unpacked sources of crates, beside the build output. Otherwise each run would unpack them again.
const SOURCES: &str = "sources";
/// The largest list of a crate's source files that is read, in bytes.
const MAX_INPUTS: u64 = 8 << 20;
/// The build output.
const TARGET: &str = "target";

/// Compiles what it is given, and keeps the sources that Cargo unpacked for it, unless they are shown to every run anyway.
/// What could be compiled is of use even if the rest could not.
const COMPILE: &str = r#"out=$1; shift; "$@"; unpacked=${CARGO_HOME:-$HOME/.cargo}/registry/src
[ ! -w "$unpacked" ] || cp -R "$unpacked" "$out"; exit 0"#;

/// Compiles the crates for a suite. `None` if there is nothing to share.
///
/// # Errors
/// When the sandbox fails.
pub(super) async fn share(
    suite: &Suite,
    workspace: &Workspace,
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<Option<Compiled>, sandbox::Error> {
    let tree = workspace.path().to_path_buf();
    let read = tokio::task::spawn_blocking(move || Skeleton::of(&tree)).await;
    let Some(skeleton) = read.map_err(io::Error::other)? else {
        return Ok(None);
    };
    let Some(command) = compiling(suite) else {
        return Ok(None);
    };
    let Some(compiler) = compiler(suite, workspace, cancel).await? else {
        return Ok(None);
    };
    let store = Store::open(folder)?;
    let key = key(&skeleton, &command, &compiler);
    let kept = match store.find(&key) {
        Some(kept) => kept,
        None => match compile(suite, (&skeleton, &command), (&store, &key), cancel).await? {
            Some(kept) => kept,
            None => return Ok(None),
        },
    };
    // The notes say where the tree keeps its build output.
    let Some(target) = kept.notes.first() else {
        return Ok(None);
    };
    let values = [CRATES, target].map(str::to_owned);
    Ok(Some(Compiled {
        env: VARIABLES.map(str::to_owned).into_iter().zip(values).collect(),
        mount: mount(kept.directory, CRATES, Access::ReadOnly),
    }))
}

/// A command and its variables.
pub(super) struct CommandLine {
    pub(super) argv: Vec<String>,
    env: BTreeMap<String, String>,
}

/// The test command, without running what it compiles. `None` if it is not one of Cargo.
pub(super) fn compiling(suite: &Suite) -> Option<CommandLine> {
    let command = &suite.command;
    let invocation = reporters::invocation(command, filter::argv(command, &[]));
    let mut argv = invocation.argv;
    if argv.first().map(String::as_str) != Some("cargo") {
        return None;
    }
    let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    argv.truncate(end);
    argv.push("--no-run".into());
    let env = environment().into_iter().chain(not_our_own(&suite.installed.env));
    let env = env.chain(not_our_own(&command.env)).chain(invocation.env).collect();
    Some(CommandLine { argv, env })
}

/// What the compiler says about itself. `None` if there is none.
async fn compiler(
    suite: &Suite,
    workspace: &Workspace,
    cancel: &CancellationToken,
) -> Result<Option<String>, sandbox::Error> {
    let command = sandbox::Command {
        mounts: suite.installed.mounts.clone(),
        env: environment()
            .into_iter()
            .chain(not_our_own(&suite.installed.env))
            .collect(),
        cwd: in_place(&suite.command),
        ..sandbox::Command::new(["rustc", "-vV"], workspace.path())
    };
    let output = suite.sandbox.exec(&command, &suite.policy, cancel).await?;
    let is_said = output.outcome == Outcome::Exited(0);
    Ok(is_said.then(|| text::printed(&output.stdout, &output.stderr)))
}

fn key(skeleton: &Skeleton, command: &CommandLine, compiler: &str) -> String {
    let mut digest = Sha256::new();
    skeleton.digest(&mut digest);
    let variables = command.env.iter().flat_map(|(name, value)| [name, value]);
    for word in command
        .argv
        .iter()
        .chain(variables)
        .map(String::as_str)
        .chain([compiler])
    {
        digest.update(word.len().to_le_bytes());
        digest.update(word);
    }
    format!("crates-{}", hex::encode(&digest.finalize()[..16]))
}

/// Compiles a skeleton in a sandbox that sees nothing else of the tree. `None` if Cargo does not get that far.
async fn compile(
    suite: &Suite,
    (skeleton, command): (&Skeleton, &CommandLine),
    (store, key): (&Store, &str),
    cancel: &CancellationToken,
) -> Result<Option<StoredInstall>, sandbox::Error> {
    let new = store.begin()?;
    // What is left there is removed when the rest is kept.
    let project = new.path().join("tmp");
    fs::create_dir(&project)?;
    skeleton.write(&project)?;
    let below = in_place(&suite.command);
    let mut policy = suite.policy.clone();
    policy.limits.wall = suite.command.timeout;
    let sources = format!("{}/.greenlight-{SOURCES}", sandbox::WORKSPACE);
    let words = ["sh", "-c", COMPILE, "sh", &sources].map(OsString::from);
    let run = sandbox::Command {
        cwd: below.clone(),
        env: command.env.clone(),
        mounts: suite.installed.mounts.clone(),
        ..sandbox::Command::new(
            words.into_iter().chain(command.argv.iter().map(OsString::from)),
            project.as_path(),
        )
    };
    let begun = suite.clock.begins(Purpose::Preparation);
    let output = suite.sandbox.exec(&run, &policy, cancel).await?;
    suite.clock.add_preparation(output.wall);
    drop(begun);
    if output.outcome != Outcome::Exited(0) {
        tracing::debug!(outcome = ?output.outcome, "compiled crates are not shared");
        return Ok(None);
    }
    let (store, key, packages) = (store.clone(), key.to_owned(), skeleton.packages().clone());
    let keep = move || match keep(new.path(), &below, &packages) {
        Ok(Some(target)) => store.keep(new, &key, &[target]).map(Some),
        Ok(None) => Ok(None),
        // A build script can leave anything behind.
        Err(error) => {
            tracing::debug!(%error, "compiled crates are not shared");
            Ok(None)
        }
    };
    Ok(tokio::task::spawn_blocking(keep).await.map_err(io::Error::other)??)
}

/// Keeps the build output of a compiled project, without what belongs to the project's own packages. Returns where the
/// project has it, if it has any.
///
/// Build scripts of dependencies wrote there, and may have left anything: no link is followed, and no pipe opened.
fn keep(new: &Path, below: &Path, packages: &BTreeSet<String>) -> io::Result<Option<String>> {
    let project = new.join("tmp");
    let is_output = |at: &&Path| leads_inside(&project, &at.join(TARGET));
    let Some(target) = below.ancestors().find(is_output).map(|at| at.join(TARGET)) else {
        return Ok(None);
    };
    let output = new.join(TARGET);
    fs::rename(project.join(&target), &output)?;
    let profiles = profiles(&output)?;
    // A crate that is not on this machine stops Cargo before it compiles anything, and may be there the next time.
    if profiles.is_empty() {
        return Ok(None);
    }
    let sources = project.join(format!(".greenlight-{SOURCES}"));
    if is_directory(&sources) {
        fs::rename(sources, new.join(SOURCES))?;
    }
    for profile in profiles {
        remove_own(&profile, packages)?;
    }
    Ok(Some(target.display().to_string()))
}

/// Whether a path inside a directory consists of directories, and of no links.
pub(super) fn leads_inside(directory: &Path, path: &Path) -> bool {
    let all: Vec<&Path> = path.ancestors().collect();
    all.into_iter().rev().all(|part| is_directory(&directory.join(part)))
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

fn listed(directory: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        all.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
    }
    Ok(all)
}

/// Directories like `target/debug` and `target/x86_64-unknown-linux-gnu/debug`.
fn profiles(output: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for (directory, _) in listed(output)?.into_iter().filter(|(path, _)| is_directory(path)) {
        let below = listed(&directory)?.into_iter().map(|(path, _)| path);
        let all = below.filter(|path| is_directory(path)).chain([directory]);
        found.extend(all.filter(|path| is_directory(&path.join(".fingerprint"))));
    }
    Ok(found)
}

/// Removes what was compiled of the project's own packages, which are empty in a skeleton, and what Cargo writes to in
/// every run: links to the rest are read-only.
fn remove_own(profile: &Path, packages: &BTreeSet<String>) -> io::Result<()> {
    let is_own = |name: &str| {
        let package = name.rsplit_once('-').map_or(name, |(package, _)| package);
        packages.contains(package)
    };
    for (path, name) in listed(profile)? {
        if !is_directory(&path) {
            fs::remove_file(path)?;
            continue;
        }
        match name.as_str() {
            "deps" => remove_own_output(&path)?,
            ".fingerprint" | "build" => {
                for (path, name) in listed(&path)? {
                    match is_directory(&path) {
                        true if is_own(&name) => files::remove_tree(&path)?,
                        true => {}
                        false => fs::remove_file(path)?,
                    }
                }
            }
            _ => files::remove_tree(&path)?,
        }
    }
    Ok(())
}

/// Removes from `deps` what was compiled from files of the project, which Cargo names relative to it. Everything that one
/// call of the compiler made has the same hash in its name.
fn remove_own_output(deps: &Path) -> io::Result<()> {
    let all = listed(deps)?;
    let hash = |name: &str| {
        let stem = name.split('.').next()?;
        stem.rsplit_once('-').map(|(_, hash)| hash.to_owned())
    };
    let mut own = BTreeSet::new();
    for (_, name) in all.iter().filter(|(_, name)| name.ends_with(".d")) {
        let is_own = |text: &str| {
            let inputs = text.lines().filter_map(|line| line.split_once(": "));
            let mut inputs = inputs.flat_map(|(_, inputs)| inputs.split(' '));
            inputs.any(|input| !input.starts_with('/'))
        };
        let text = files::read_result(deps, Path::new(name), MAX_INPUTS).map_err(io::Error::other)?;
        if is_own(&String::from_utf8_lossy(&text)) {
            own.extend(hash(name));
        }
    }
    for (path, name) in &all {
        if hash(name).is_some_and(|hash| own.contains(&hash)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What a compiled project leaves behind, and a folder of this machine beside it.
    fn compiled() -> (tempfile::TempDir, tempfile::TempDir) {
        let (new, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let debug = new.path().join("tmp/target/debug");
        for folder in [
            "deps",
            "build/own-1234",
            "build/other-1234",
            ".fingerprint/own-1234",
            "examples",
        ] {
            fs::create_dir_all(debug.join(folder)).unwrap();
        }
        for (file, text) in [
            ("deps/own-1234.d", "/workspace/own: src/lib.rs\n"),
            ("deps/libown-1234.rlib", ""),
            ("deps/other-5678.d", "/workspace/other: /registry/other/src/lib.rs\n"),
            ("deps/libother-5678.rlib", ""),
            (".cargo-lock", ""),
        ] {
            fs::write(debug.join(file), text).unwrap();
        }
        fs::create_dir_all(outside.path().join("own-1234")).unwrap();
        fs::create_dir_all(outside.path().join("target/debug/.fingerprint")).unwrap();
        fs::write(outside.path().join("own-1234.d"), "x: src/lib.rs\n").unwrap();
        (new, outside)
    }

    fn kept(new: &Path, below: &str) -> io::Result<Option<String>> {
        keep(new, Path::new(below), &BTreeSet::from(["own".to_owned()]))
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = listed(directory).unwrap().into_iter().map(|(_, name)| name).collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_dependencies_are_compiled_to_is_kept() {
        let (new, _outside) = compiled();
        assert_eq!(kept(new.path(), "").unwrap().as_deref(), Some("target"));
        let debug = new.path().join("target/debug");
        assert_eq!(names(&debug), [".fingerprint", "build", "deps"]);
        assert_eq!(names(&debug.join("deps")), ["libother-5678.rlib", "other-5678.d"]);
        assert_eq!(names(&debug.join("build")), ["other-1234"]);
    }

    #[test]
    fn a_link_that_a_build_script_leaves_leads_nowhere() {
        for place in [
            "deps",
            "build",
            "examples",
            "deps/x-9.d",
            "build/own-5",
            "deps/pipe-9.d",
        ] {
            let (new, outside) = compiled();
            let link = new.path().join("tmp/target/debug").join(place);
            if link.is_dir() {
                fs::remove_dir_all(&link).unwrap();
            }
            let _socket = match place.contains("pipe") {
                true => Some(UnixListener::bind(&link).unwrap()),
                false => symlink(outside.path(), &link).map(|()| None).unwrap(),
            };
            // It may refuse to keep anything, but never touches what is outside.
            let _ = kept(new.path(), "");
            assert_eq!(names(outside.path()), ["own-1234", "own-1234.d", "target"], "{place}");
        }
        // A directory of the project that became a link.
        let (new, outside) = compiled();
        symlink(outside.path(), new.path().join("tmp/rust")).unwrap();
        assert_eq!(kept(new.path(), "rust").unwrap().as_deref(), Some("target"));
        assert_eq!(names(outside.path()), ["own-1234", "own-1234.d", "target"]);
    }
}

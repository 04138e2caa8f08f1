//! Which packages the tests of a tree need, as Go says. Listing them takes longer than small tests, so the list is kept for
//! exactly this tree.

use std::path::Path;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::Outcome;
use greenlight_tree::checkout::Workspace;
use greenlight_tree::files;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{LISTING, Needed};
use crate::install::{OF_TREE, Store};
use crate::prebuild::own_code::TreeDigest;
use crate::run::{blocking, in_place};
use crate::suite::Suite;
use crate::text;
use crate::wrapper::{environment, in_wrapper};

/// Maximum size of `go.mod` and of `go.sum`, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Prints the version of Go.
const VERSION: [&str; 3] = ["go", "env", "GOVERSION"];
/// Prints the packages that the tests of a module need. What Go notes about each package goes to memory: on a disk, writing
/// it can take longer than all else.
const LIST: [&str; 3] = [
    "sh",
    "-c",
    "export GOCACHE=/tmp/go-list; go list -e -deps -test -f \
     '{{if .Standard}}{{.ImportPath}}{{else if .Module}}{{if not .Module.Main}}other {{.ImportPath}}{{end}}{{end}}' ./...",
];

/// Asks Go which packages the tests need. `None` if Go fails.
///
/// # Errors
/// When the sandbox or the folder fails.
pub(super) async fn needed(
    suite: &Suite,
    (workspace, is_untouched): (&Workspace, bool),
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<Option<Needed>, sandbox::Error> {
    let (tree, below) = (workspace.path().to_path_buf(), in_place(&suite.command));
    let digest = move || match is_untouched {
        true => TreeDigest::of(&tree, None),
        false => Ok(None),
    };
    let tree = blocking(digest).await?.unwrap_or_default();
    let Some(version) = printed(suite, workspace, &VERSION, cancel).await? else {
        return Ok(None);
    };
    let store = Store::open(folder)?;
    let key = tree.map(|tree| key_of(&tree.whole, &version, suite));
    let known = key.as_ref().and_then(|key| store.find(key)?.notes.pop());
    let is_known = known.is_some();
    let list = match known {
        Some(list) => Some(list),
        None => printed(suite, workspace, &LIST, cancel).await?,
    };
    let Some(list) = list else {
        return Ok(None);
    };
    let Some(needed) = Needed::read(&format!("{version}\n{list}")) else {
        return Ok(None);
    };
    let tree = workspace.path().to_path_buf();
    let versions = blocking(move || {
        if let Some(key) = key.filter(|_| !is_known) {
            store.keep(store.begin()?, &key, &[list])?;
        }
        Ok::<_, std::io::Error>(versions(&tree, &below))
    });
    Ok(Some(
        needed.with_versions(versions.await?.map_err(sandbox::Error::Broken)?),
    ))
}

/// What a list is kept under.
fn key_of(tree: &[u8], version: &str, suite: &Suite) -> String {
    let mut digest = Sha256::new();
    let below = in_place(&suite.command).into_os_string().into_encoded_bytes();
    let variables = suite.installed.env.iter().flat_map(|(name, value)| [name, value]);
    let mounts = suite
        .installed
        .mounts
        .iter()
        .map(|mount| mount.source.as_os_str().as_encoded_bytes());
    let words = [tree, version.as_bytes(), &below].into_iter();
    for word in words.chain(variables.map(String::as_bytes)).chain(mounts) {
        digest.update(word.len().to_le_bytes());
        digest.update(word);
    }
    format!("{OF_TREE}list-{}", hex::encode(&digest.finalize()[..16]))
}

/// What a command prints in the directory of the tests. `None` if it fails.
async fn printed(
    suite: &Suite,
    workspace: &Workspace,
    argv: &[&str; 3],
    cancel: &CancellationToken,
) -> Result<Option<String>, sandbox::Error> {
    let mut policy = suite.policy.clone();
    policy.limits.wall = LISTING;
    let command = sandbox::Command {
        cwd: in_place(&suite.command),
        env: environment().into_iter().chain(suite.installed.env.clone()).collect(),
        mounts: suite.installed.mounts.clone(),
        ..sandbox::Command::new(
            in_wrapper(String::new(), ".".into(), argv.map(str::to_owned).to_vec()),
            workspace.path(),
        )
    };
    let output = suite.sandbox.exec(&command, &policy, cancel).await?;
    let is_said = output.outcome == Outcome::Exited(0);
    Ok(is_said.then(|| text::printed(&output.stdout, &output.stderr).trim().to_owned()))
}

/// `go.mod` and `go.sum` of the module that a command tests. `None` if one of them is missing, or if several modules are
/// tested together.
fn versions(tree: &Path, below: &Path) -> Option<[Vec<u8>; 2]> {
    let read = |directory: &Path, name: &str| files::read_result(tree, &directory.join(name), MAX_BYTES).ok();
    if below.ancestors().any(|directory| read(directory, "go.work").is_some()) {
        return None;
    }
    let (directory, module) = below
        .ancestors()
        .find_map(|directory| Some((directory, read(directory, "go.mod")?)))?;
    Some([module, read(directory, "go.sum")?])
}

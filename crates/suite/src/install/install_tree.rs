//! The files that an installation sees, and the name of the result that follows from them.

use std::collections::BTreeMap;
use std::path::Path;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::{Blob, FileMode};
use greenlight_tree::checkout::{self, Checkout};
use sha2::{Digest, Sha256};

use super::registries::Tools;
use super::steps::{Phase, Plan, StepDirectory, VisibleFiles};

/// Must change when the same plan leads to a different result.
const VERSION: u32 = 2;

/// The files of an installation.
pub(super) enum InstallTree {
    All(Checkout),
    Only(BTreeMap<RepoPath, Blob>),
}

impl InstallTree {
    /// The files as a separate tree; `empty` is an empty directory.
    pub(super) fn tree(&self, empty: &Path) -> Result<Checkout, checkout::Error> {
        match self {
            Self::All(checkout) => Ok(checkout.clone()),
            Self::Only(files) => {
                let mut tree = Checkout::exported(empty, &[])?;
                for (path, blob) in files {
                    tree.edit(path.clone(), Some(blob.clone()));
                }
                Ok(tree)
            }
        }
    }

    /// The name of the result: a digest of all its inputs.
    pub(super) fn key(&self, plan: &Plan, tools: &Tools) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(&VERSION.to_le_bytes());
        if !is_locked(plan) {
            // Tomorrow the registries may serve other versions, as they would to CI.
            let now = jiff::Timestamp::now().to_string();
            add(now.split('T').next().unwrap_or_default().as_bytes());
        }
        add(format!("{:?}{:?}", plan.steps, plan.tools).as_bytes());
        add(format!("{:?}{}", tools.env, tools.versions).as_bytes());
        let mut add_file = |path: &RepoPath, blob: Option<&Blob>| {
            add(path.as_str().as_bytes());
            match blob {
                Some(blob) => {
                    add(format!("{:?}", blob.mode).as_bytes());
                    add(&blob.bytes);
                }
                // A file that is too large to read makes every tree unique.
                None => add(ulid::Ulid::new().to_string().as_bytes()),
            }
        };
        match self {
            Self::All(checkout) => {
                for path in checkout.paths() {
                    add_file(path, checkout.read(path).as_ref());
                }
            }
            Self::Only(files) => {
                for (path, blob) in files {
                    add_file(path, Some(blob));
                }
            }
        }
        hex::encode(hash.finalize())
    }
}

impl Plan {
    /// The files that the installation sees.
    pub(super) fn files(&self, checkout: &Checkout) -> InstallTree {
        match &self.shown {
            VisibleFiles::All => InstallTree::All(checkout.clone()),
            VisibleFiles::Only { files, empty } => {
                let nothing = Blob {
                    mode: FileMode::Regular,
                    bytes: Vec::new(),
                };
                let empty = empty.iter().map(|path| (path.clone(), nothing.clone()));
                let files = files
                    .iter()
                    .filter_map(|path| Some((path.clone(), checkout.read(path)?)));
                let mut all: BTreeMap<RepoPath, Blob> = empty.chain(files).collect();
                // A step may run in a directory of which the installation sees nothing.
                for step in &self.steps {
                    let StepDirectory::Workspace(Some(directory)) = &step.place else {
                        continue;
                    };
                    let below = format!("{directory}/");
                    if !all.keys().any(|path| path.as_str().starts_with(&below))
                        && let Ok(path) = format!("{below}.gitignore").parse()
                    {
                        all.insert(path, nothing.clone());
                    }
                }
                InstallTree::Only(all)
            }
        }
    }
}

/// Whether a lock file pins the downloaded versions.
fn is_locked(plan: &Plan) -> bool {
    const LOCKED: [&str; 6] = ["ci", "--frozen", "--frozen-lockfile", "--immutable", "--locked", "mod"];
    let mut online = plan.steps.iter().filter(|step| step.phase == Phase::Online);
    online.all(|step| step.argv.iter().any(|word| LOCKED.contains(&word.as_str())))
}

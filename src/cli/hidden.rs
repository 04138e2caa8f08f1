//! Checks at the start that nobody else can read greenlight's own files: neither the code under test, which sees
//! folders such as `/usr` for their tools, nor other users of the machine.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Exit;
use crate::config::addresses::JournalAddress;
use crate::config::secrets::PrivatePath;
use crate::config::settings::Settings;
use crate::config::stored_app::StoredApp;
use crate::private;
use crate::sandbox::{Backend, Sandbox};

/// The content of greenlight's data folder. Trees in some of these have other permissions, but the folder protects
/// them.
const FOLDERS: [&str; 7] = [
    "mirrors",
    "installed",
    "local",
    "ended",
    "trees",
    "copies",
    "workspaces",
];

/// Why a place in a checkout is exposed.
const INSIDE: &str = "is inside the checkout, where the tests could read it";

/// Folders whose files only greenlight may read.
const WITH_FILES: [&str; 1] = ["mirrors"];

/// How deep folders are searched for files with permissions that are too wide.
const MAX_DEPTH: usize = 8;

/// Refuses to continue if code under test could read a protected file: in a folder that the sandbox shows, or in the
/// checkout itself. Anyone who disabled the sandbox for their own checkout knows that nothing is hidden.
///
/// # Errors
/// Which file or folder is exposed, why, and what to set.
pub(super) fn check(settings: &Settings, sandbox: &Sandbox, checkout: Option<&Path>) -> Result<(), Exit> {
    if checkout.is_some() && sandbox.backend() == Backend::None {
        return Ok(());
    }
    for PrivatePath { setting, path } in settings.private_places()? {
        let real = real(&path);
        let shown = if checkout.is_some_and(|root| real.starts_with(root)) {
            INSIDE
        } else if sandbox.shows(&path) {
            "is in a folder that the sandbox shows to the code under test"
        } else {
            continue;
        };
        return Err(exposed(&path, setting, shown));
    }
    Ok(())
}

/// The same for the data folder alone, before anything is created in it.
///
/// # Errors
/// That it is inside the checkout.
pub(super) fn check_outside(settings: &Settings, checkout: &Path) -> Result<(), Exit> {
    let data = settings.data_dir()?;
    match real(&data).starts_with(checkout) && settings.sandbox.as_deref() != Some(Backend::None.name()) {
        false => Ok(()),
        true => Err(exposed(&data, "GREENLIGHT_DATA_DIR", INSIDE)),
    }
}

fn exposed(path: &Path, setting: &str, why: &str) -> Exit {
    Exit::Usage(format!(
        "{} ({setting}) {why}; set {setting} to another place, such as a folder below /var/lib",
        path.display()
    ))
}

/// Removes other users' permissions on greenlight's own files, which an earlier version or a copy may have granted.
/// Files that may not be greenlight's are left alone.
///
/// # Errors
/// When a setting is invalid.
pub(super) fn tighten(settings: &Settings) -> Result<(), Exit> {
    let data = settings.data_dir()?;
    let database = match settings.database()? {
        JournalAddress::File(file) => Some(file),
        JournalAddress::Postgres(_) => None,
    };
    if holds_nothing_else(&data, database.as_deref()) {
        restrict(&data, private::FOLDER);
    }
    restrict(&data.join(".lock"), private::FILE);
    restrict(&StoredApp::file(&data), private::FILE);
    for ending in ["", "-wal", "-shm", "-journal"] {
        if let Some(file) = &database {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            restrict(Path::new(&name), private::FILE);
        }
    }
    for folder in FOLDERS.map(|name| data.join(name)) {
        restrict(&folder, private::FOLDER);
    }
    for folder in WITH_FILES.map(|name| data.join(name)) {
        restrict_below(&folder, MAX_DEPTH, &|_| true);
    }
    // The memory of local checkouts is stored beside their packages.
    let is_memory = |path: &Path| path.to_string_lossy().ends_with(".memory.json");
    restrict_files(&data.join("installed/local"), &is_memory);
    if let Some(bundles) = &settings.bundles {
        let is_bundle = |path: &Path| path.extension() == Some(OsStr::new("zip"));
        for owner in folders(bundles) {
            for repository in folders(&owner) {
                restrict_files(&repository, &is_bundle);
            }
        }
    }
    Ok(())
}

/// Whether a folder contains only greenlight's files: somebody may have configured one that others use as well.
fn holds_nothing_else(data: &Path, database: Option<&Path>) -> bool {
    let is_own = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_database = database.is_some_and(|database| {
            let base = database.file_name().unwrap_or_default().to_string_lossy();
            path.parent() == database.parent() && !base.is_empty() && name.starts_with(&*base)
        });
        is_database || name == ".lock" || path == StoredApp::file(data) || FOLDERS.contains(&&*name)
    };
    entries(data).iter().all(|path| is_own(path))
}

fn restrict_below(folder: &Path, depth: usize, is_own: &dyn Fn(&Path) -> bool) {
    restrict_files(folder, is_own);
    for inner in folders(folder) {
        restrict(&inner, private::FOLDER);
        if depth > 0 {
            restrict_below(&inner, depth - 1, is_own);
        }
    }
}

fn restrict_files(folder: &Path, is_own: &dyn Fn(&Path) -> bool) {
    for path in entries(folder) {
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if is_file && is_own(&path) {
            restrict(&path, private::FILE);
        }
    }
}

/// Removes other users' permissions on a file or folder, and logs it. Links are not followed.
fn restrict(path: &Path, most: u32) {
    let Ok(meta) = path.symlink_metadata() else { return };
    let mode = meta.permissions().mode() & 0o7777;
    let is_own = meta.uid() == rustix::process::geteuid().as_raw();
    if meta.is_symlink() || !is_own || mode & 0o077 == 0 {
        return;
    }
    match fs::set_permissions(path, fs::Permissions::from_mode(mode & most)) {
        Ok(()) => tracing::info!(path = %path.display(), was = %format!("{mode:o}"), "others can no longer open this"),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "others can open this, and its permissions cannot be \
                                                            changed");
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    entries(folder).into_iter().filter(is_folder).collect()
}

/// The target of a path, resolved as far as it exists.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    resolved.unwrap_or(path)
}

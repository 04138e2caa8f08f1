//! Applies a patch with the real `git apply`, in a folder that is not a repository.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use github_double::Files;

/// Writes the tree into a folder, runs `git apply` in it, and reads it back.
#[expect(clippy::disallowed_methods, reason = "it is git itself that has to take the patch")]
pub(super) fn git_apply(tree: &Files, patch: &str) -> Result<Files, String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, (mode, bytes)) in tree {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if *mode == 0o120_000 {
            symlink(String::from_utf8(bytes.clone()).unwrap(), path).unwrap();
        } else {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
        }
    }
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "-"])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Git reads all its input before it writes anything, so there is no deadlock.
    git.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut found = Files::new();
    read(folder.path(), "", &mut found);
    Ok(found)
}

fn read(folder: &Path, prefix: &str, found: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read(&entry.path(), &format!("{name}/"), found);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            found.insert(name, (0o120_000, target.into_os_string().into_string().unwrap().into()));
        } else {
            let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            let mode = if executable { 0o100_755 } else { 0o100_644 };
            found.insert(name, (mode, fs::read(entry.path()).unwrap()));
        }
    }
}

/// Whether the targets of all links are valid on this file system.
pub(super) fn can_be_checked_out(trees: [&Files; 2]) -> bool {
    let mut links = trees
        .into_iter()
        .flat_map(|tree| tree.values())
        .filter(|(mode, _)| *mode == 0o120_000);
    links.all(|(_, target)| {
        !target.is_empty() && target.len() < 4000 && !target.contains(&0) && std::str::from_utf8(target).is_ok()
    })
}

//! Node packages: every `node_modules` of the checkout, including those of its workspaces.

use std::path::{Path, PathBuf};

use greenlight_sandbox::{Access, Mount, WORKSPACE};
use ignore::WalkBuilder;

use crate::framework::Ecosystem;
use crate::install::Installed;
use crate::test_command::TestCommand;

/// Maximum depth of workspaces.
const MAX_DEPTH: usize = 6;
/// Maximum number of files that are visited, and of folders that are reused.
const MAX_ENTRIES: usize = 100_000;
const MAX_FOLDERS: usize = 200;
/// Maximum size of their names together in bytes; Linux limits an environment variable to 128 KiB.
const MAX_NAMES: usize = 64 << 10;
/// Where a folder is mounted that cannot keep its path.
const REUSED: &str = "/lent";

/// Shares the packages. Returns whether it is a JavaScript command and there are any.
pub(super) fn reuse(root: &Path, command: &TestCommand, reused: &mut Installed) -> bool {
    let is_javascript = command.framework.uses(Ecosystem::JavaScript);
    let folders = if is_javascript { folders(root) } else { Vec::new() };
    if folders.is_empty() {
        return false;
    }
    // Keep the path inside the sandbox if possible: some files of packages contain it.
    let is_taken = ["/proc", "/dev", WORKSPACE].iter().any(|taken| root.starts_with(taken));
    let inside = if is_taken {
        Path::new(REUSED).to_path_buf()
    } else {
        root.to_path_buf()
    };
    let names: Vec<String> = folders
        .iter()
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    reused
        .env
        .insert("GREENLIGHT_MODULES".into(), inside.to_string_lossy().into_owned());
    reused.env.insert("GREENLIGHT_MODULES_IN".into(), names.join("\n"));
    reused.mounts.extend(folders.iter().map(|folder| Mount {
        source: root.join(folder),
        target: inside.join(folder),
        access: Access::ReadOnly,
    }));
    true
}

/// The `node_modules` folders, relative to the root and outermost first.
fn folders(root: &Path) -> Vec<PathBuf> {
    let is_modules = |path: &Path| path.file_name().is_some_and(|name| name == "node_modules");
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(move |entry| {
            // A `node_modules` folder is listed but not searched.
            entry.file_name() != ".git" && !entry.path().parent().is_some_and(is_modules)
        });
    let mut folders: Vec<PathBuf> = walk
        .build()
        .take(MAX_ENTRIES)
        .flatten()
        .filter(|entry| is_modules(entry.path()) && entry.file_type().is_some_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_path_buf()))
        .filter(|path| path.to_str().is_some_and(|path| !path.contains('\n')))
        .collect();
    folders.sort_by_key(|folder| (folder.components().count(), folder.clone()));
    folders.truncate(MAX_FOLDERS);
    let mut left = MAX_NAMES;
    folders.retain(|folder| {
        left = left.saturating_sub(folder.as_os_str().len() + 1);
        left > 0
    });
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Framework;
    use crate::test_command::Source;

    #[test]
    fn every_folder_of_packages_is_reused_and_none_inside_of_one() {
        let tree = tempfile::tempdir().unwrap();
        for path in ["node_modules/a/node_modules/b", "packages/c/node_modules/d", "src"] {
            std::fs::create_dir_all(tree.path().join(path)).unwrap();
        }
        let command = |framework| TestCommand::new(vec!["npx".into(), "mocha".into()], framework, Source::Settings);
        let mut reused = Installed::default();
        reuse(tree.path(), &command(Framework::Mocha), &mut reused);
        assert_eq!(
            reused.env["GREENLIGHT_MODULES_IN"],
            "node_modules\npackages/c/node_modules"
        );
        assert!(reused.mounts.iter().all(|mount| mount.access == Access::ReadOnly));
        let mut reused = Installed::default();
        reuse(tree.path(), &command(Framework::Go), &mut reused);
        assert_eq!(reused, Installed::default());
    }
}

//! The report files that a framework was asked to write: cleared away before a run, collected after it.
//!
//! The tree belongs to untrusted code. Links are not followed, and number, depth and size are bounded.

use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use super::read::Report;
use crate::sandbox;

/// Bytes of all reports together that are read.
const MAX_BYTES: u64 = 64 << 20;
/// More reports than this are not read.
const MAX_REPORTS: usize = 5_000;
/// More files than this are not looked at.
const MAX_ENTRIES: usize = 500_000;
/// Reports lie no deeper than this.
const MAX_DEPTH: usize = 16;

/// Removes what fits the patterns, which are relative to `directory` of the workspace.
///
/// # Errors
/// When something that fits cannot be removed.
pub(super) fn clear(workspace: &Path, directory: &Path, patterns: &[String]) -> io::Result<()> {
    for path in matching(workspace, directory, patterns) {
        match std::fs::remove_file(workspace.join(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Reads what fits the patterns, in the order of the names.
pub(super) fn collect(workspace: &Path, directory: &Path, patterns: &[String]) -> Vec<Report> {
    let mut left = MAX_BYTES;
    let mut reports = Vec::new();
    for path in matching(workspace, directory, patterns) {
        let Ok(bytes) = sandbox::read_result(workspace, &path, left) else {
            continue;
        };
        if bytes.is_empty() {
            continue;
        }
        left = left.saturating_sub(bytes.len() as u64);
        let path = path
            .strip_prefix(directory)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        reports.push(Report { path, bytes });
    }
    reports
}

/// Files that fit, relative to the workspace.
fn matching(workspace: &Path, directory: &Path, patterns: &[String]) -> Vec<PathBuf> {
    let is_plain = |pattern: &&String| !pattern.contains(['*', '?', '[', '{']);
    let (plain, globs): (Vec<&String>, Vec<&String>) = patterns.iter().partition(is_plain);
    let mut found: Vec<PathBuf> = plain.into_iter().map(|name| directory.join(name)).collect();
    if let Some(globs) = set(&globs) {
        // A directory that is a link leads somewhere else.
        let root = workspace.join(directory);
        let is_inside = root.canonicalize().ok() == workspace.canonicalize().ok().map(|root| root.join(directory));
        if is_inside {
            found.extend(walk(&root, &globs).into_iter().map(|path| directory.join(path)));
        }
    }
    found.sort_unstable();
    found.truncate(MAX_REPORTS);
    found
}

fn set(patterns: &[&String]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build().ok()?);
    }
    (!patterns.is_empty()).then(|| set.build().ok()).flatten()
}

fn walk(root: &Path, globs: &GlobSet) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| entry.file_name() != "node_modules" && entry.file_name() != ".git");
    walk.build()
        .take(MAX_ENTRIES)
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_path_buf()))
        .filter(|path| globs.is_match(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found_below_and_cleared() {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("a/target/surefire-reports/TEST-x.xml", "x"),
            ("a/sub/target/surefire-reports/TEST-y.xml", "y"),
            ("a/target/other/TEST-z.xml", "z"),
            ("a/report.json", "r"),
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink(
            "/etc/hostname",
            tree.path().join("a/target/surefire-reports/TEST-l.xml"),
        )
        .unwrap();
        let patterns = [
            "**/target/surefire-reports/TEST-*.xml".to_string(),
            "report.json".into(),
        ];
        let found = |directory: &str| {
            let reports = collect(tree.path(), Path::new(directory), &patterns);
            reports.into_iter().map(|report| report.path).collect::<Vec<_>>()
        };
        assert_eq!(
            found("a"),
            [
                "report.json",
                "sub/target/surefire-reports/TEST-y.xml",
                "target/surefire-reports/TEST-x.xml"
            ]
        );
        std::os::unix::fs::symlink("a", tree.path().join("link")).unwrap();
        assert_eq!(found("link"), [""; 0]);
        clear(tree.path(), Path::new("a"), &patterns).unwrap();
        assert_eq!(found("a"), [""; 0]);
        assert!(tree.path().join("a/target/other/TEST-z.xml").exists());
    }
}

//! The report files that a framework writes: removed before a run, collected after it.
//!
//! The tree belongs to untrusted code. Links are not followed, and number, depth and size are bounded.

use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use greenlight_tree::files;
use ignore::WalkBuilder;

use super::parse::Report;

/// Maximum size of all reports together, in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum number of reports that are read.
const MAX_REPORTS: usize = 5_000;
/// Maximum number of files that are visited.
const MAX_ENTRIES: usize = 500_000;
/// Maximum depth of reports in the tree.
const MAX_DEPTH: usize = 16;

/// Removes files that match the patterns, which are relative to `directory` of the workspace.
///
/// # Errors
/// When a matching file cannot be removed.
pub(super) fn clear(workspace: &Path, directory: &Path, patterns: &[String]) -> io::Result<()> {
    // If the directory is a link, it leads elsewhere, where no file is ours.
    if !is_inside(workspace, directory) {
        return Ok(());
    }
    for path in matching(workspace, directory, patterns).0 {
        let within = path.parent().is_none_or(|parent| is_inside(workspace, parent));
        let path = workspace.join(path);
        let removed = match path.symlink_metadata() {
            Ok(metadata) if within && metadata.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) if within => std::fs::remove_file(&path),
            _ => Ok(()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_inside(workspace: &Path, directory: &Path) -> bool {
    let root = workspace.canonicalize().ok().map(|root| root.join(directory));
    // Joining the empty path appends a slash, which makes no difference here.
    root.is_some_and(|root| workspace.join(directory).canonicalize().is_ok_and(|real| real == root))
}

/// Reads the files that match the patterns, in the order of their names.
///
/// A report that exists but cannot be read (too large, empty, a link, a pipe, a directory, one too many) has no
/// content, so that it is not mistaken for one that was never written.
pub(super) fn collect(workspace: &Path, directory: &Path, patterns: &[String]) -> Vec<Report> {
    let mut left = MAX_BYTES;
    let mut reports = Vec::new();
    if !patterns.is_empty() && !is_inside(workspace, directory) {
        let path = directory.to_string_lossy().into_owned();
        return vec![Report {
            path,
            bytes: Vec::new(),
        }];
    }
    let (paths, are_all) = matching(workspace, directory, patterns);
    for path in paths {
        let is_there = || workspace.join(&path).symlink_metadata().is_ok();
        let bytes = match files::read_result(workspace, &path, left) {
            Ok(bytes) => bytes,
            Err(_) if is_there() => Vec::new(),
            Err(_) => continue,
        };
        left = left.saturating_sub(bytes.len() as u64);
        let path = path
            .strip_prefix(directory)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        reports.push(Report { path, bytes });
    }
    if !are_all {
        let path = format!("more than {MAX_REPORTS} reports");
        reports.push(Report {
            path,
            bytes: Vec::new(),
        });
    }
    reports
}

/// The matching files, relative to the workspace, and whether the list is complete.
fn matching(workspace: &Path, directory: &Path, patterns: &[String]) -> (Vec<PathBuf>, bool) {
    let is_plain = |pattern: &&String| !pattern.contains(['*', '?', '[', '{']);
    let (plain, globs): (Vec<&String>, Vec<&String>) = patterns.iter().partition(is_plain);
    let mut found: Vec<PathBuf> = plain.into_iter().map(|name| directory.join(name)).collect();
    if let Some(globs) = set(&globs) {
        let root = workspace.join(directory);
        if is_inside(workspace, directory) {
            found.extend(walk(&root, &globs).into_iter().map(|path| directory.join(path)));
        }
    }
    found.sort_unstable();
    let are_all = found.len() <= MAX_REPORTS;
    found.truncate(MAX_REPORTS);
    (found, are_all)
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
        .filter(|entry| entry.depth() > 0)
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
                "target/surefire-reports/TEST-l.xml",
                "target/surefire-reports/TEST-x.xml"
            ]
        );
        // The link is found but not followed.
        assert!(collect(tree.path(), Path::new("a"), &patterns)[2].bytes.is_empty());
        std::os::unix::fs::symlink("a", tree.path().join("link")).unwrap();
        assert_eq!(found("link"), ["link"]);
        clear(tree.path(), Path::new("link"), &patterns).unwrap();
        assert_eq!(found("a").len(), 4);
        clear(tree.path(), Path::new("a"), &patterns).unwrap();
        assert_eq!(found("a"), [""; 0]);
        assert!(tree.path().join("a/target/other/TEST-z.xml").exists());
    }
    #[test]
    fn what_stands_in_place_of_a_report_is_told_and_cleared() {
        let tree = tempfile::tempdir().unwrap();
        let path = |name: &str| tree.path().join(name);
        std::fs::create_dir_all(path("directory.xml/inner")).unwrap();
        std::fs::write(path("empty.xml"), "").unwrap();
        std::fs::write(path("huge.xml"), "").unwrap();
        std::fs::File::options()
            .write(true)
            .open(path("huge.xml"))
            .unwrap()
            .set_len(MAX_BYTES + 1)
            .unwrap();
        std::os::unix::fs::symlink("/etc/hostname", path("link.xml")).unwrap();
        std::os::unix::net::UnixListener::bind(path("socket.xml")).unwrap();
        let patterns: Vec<String> = ["directory", "empty", "huge", "link", "missing", "socket"]
            .map(|name| format!("{name}.xml"))
            .to_vec();
        for patterns in [patterns, vec!["*.xml".into()]] {
            let reports = collect(tree.path(), Path::new(""), &patterns);
            assert_eq!(reports.len(), 5);
            assert!(reports.iter().all(|report| report.bytes.is_empty()));
        }
        clear(tree.path(), Path::new(""), &["*.xml".into()]).unwrap();
        assert_eq!(std::fs::read_dir(tree.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_flood_of_reports_does_not_hide_any() {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..=MAX_REPORTS {
            std::fs::write(tree.path().join(format!("{number}.xml")), "<testsuite/>").unwrap();
        }
        let reports = collect(tree.path(), Path::new(""), &["*.xml".into()]);
        assert_eq!(reports.len(), MAX_REPORTS + 1);
        assert!(reports[MAX_REPORTS].bytes.is_empty());
    }
}

//! Traps in the files that greenlight reads, writes and removes after a run.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use greenlight::files::{FileError, read_result, remove_tree, write_file};
use greenlight::sandbox::Outcome;

use super::Lab;

super::each_backend! {
    read_result_does_not_follow_links,
    a_fifo_does_not_hang_read_result,
    a_huge_result_is_refused,
    write_file_does_not_follow_links,
    write_file_replaces_whatever_lies_there,
    remove_tree_removes_what_was_made_to_resist,
    remove_tree_removes_no_link,
    a_result_that_is_swapped_all_the_time_never_leads_out,
}

fn read(lab: &Lab, path: &str) -> Result<Vec<u8>, FileError> {
    read_result(lab.path(), Path::new(path), 1000)
}

async fn read_result_does_not_follow_links(lab: Lab) {
    lab.sh("ln -s /etc/passwd link; ln -s /etc directory; ln -s link chain; mkdir real; echo ok > real/file; ln -s real inside").await;
    for path in [
        "link",
        "directory/passwd",
        "chain",
        "inside/file",
        "/etc/passwd",
        "../x",
        "real/../real/file",
        "",
        "real",
        "real/file/x",
    ] {
        assert!(
            matches!(read(&lab, path), Err(FileError::NotOrdinary)),
            "{path}: {:?}",
            read(&lab, path)
        );
    }
    assert_eq!(read(&lab, "real/file").unwrap(), b"ok\n");
    assert!(matches!(read(&lab, "real/missing"), Err(FileError::Missing)));
}

async fn a_fifo_does_not_hang_read_result(lab: Lab) {
    lab.attack("os.mkfifo('pipe'); os.mknod('socket', 0o140666)").await;
    for path in ["pipe", "socket"] {
        assert!(
            matches!(read(&lab, path), Err(FileError::NotOrdinary)),
            "{path}: {:?}",
            read(&lab, path)
        );
    }
}

async fn a_huge_result_is_refused(lab: Lab) {
    lab.sh("head -c 1000 /dev/zero > fits; head -c 1001 /dev/zero > large; truncate -s 1T sparse || truncate -s 900M sparse").await;
    assert_eq!(read(&lab, "fits").unwrap().len(), 1000);
    assert!(matches!(read(&lab, "large"), Err(FileError::TooLarge(1000))));
    assert!(matches!(read(&lab, "sparse"), Err(FileError::TooLarge(1000))));
}

async fn write_file_does_not_follow_links(lab: Lab) {
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    fs::write(&canary, "untouched").unwrap();
    symlink(outside.path(), lab.path().join("directory")).unwrap();
    symlink(&canary, lab.path().join("link")).unwrap();
    fs::hard_link(&canary, lab.path().join("hard")).unwrap();
    let write = |path: &str| write_file(lab.path(), Path::new(path), b"new", false);
    for path in [
        "directory/canary",
        "directory/new",
        "directory/new/new",
        "../new",
        "/tmp/new",
        "",
    ] {
        assert!(
            matches!(write(path), Err(FileError::NotOrdinary)),
            "{path}: {:?}",
            write(path)
        );
    }
    // A link in place of the file is replaced, not followed.
    write("link").unwrap();
    write("hard").unwrap();
    assert_eq!(fs::read_to_string(&canary).unwrap(), "untouched");
    assert_eq!(read(&lab, "link").unwrap(), b"new");
    assert_eq!(read(&lab, "hard").unwrap(), b"new");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

async fn write_file_replaces_whatever_lies_there(lab: Lab) {
    lab.python("os.mkfifo('pipe'); os.makedirs('a/directory/x'); write('read_only'); os.chmod('read_only', 0)")
        .await;
    for path in ["pipe", "read_only", "deep/below/new", "a/new"] {
        write_file(lab.path(), Path::new(path), b"new", path == "pipe").unwrap();
        assert_eq!(read(&lab, path).unwrap(), b"new", "{path}");
    }
    assert!(matches!(
        write_file(lab.path(), Path::new("a/directory"), b"", false),
        Err(FileError::NotOrdinary)
    ));
    assert!(matches!(
        write_file(lab.path(), Path::new("pipe/x"), b"", false),
        Err(FileError::NotOrdinary)
    ));
    let mode = |path: &str| fs::metadata(lab.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("pipe"), mode("a/new")), (0o755, 0o644));
    // No temporary files remain, and the next run may change what was written.
    let names: Vec<_> = fs::read_dir(lab.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let owner = fs::metadata(lab.path()).unwrap().uid();
    assert_eq!(fs::metadata(lab.path().join("deep/below")).unwrap().uid(), owner);
    assert_eq!(fs::metadata(lab.path().join("deep/below/new")).unwrap().uid(), owner);
}

async fn remove_tree_removes_what_was_made_to_resist(lab: Lab) {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("canary"), "untouched").unwrap();
    symlink(outside.path(), lab.path().join("link")).unwrap();
    let script = "
os.mkdir('locked', 0o300); os.mkdir('locked/inner', 0o300)
os.makedirs('locked/inner/more'); write('locked/inner/more/x')
try:
    os.chmod('locked/inner', 0); os.chmod('locked', 0o500)
except PermissionError:
    pass # Then no one may list them, which has to be enough.
os.mkfifo('pipe')
os.mkdir('deep'); os.chdir('deep')
for i in range(1500):
    os.mkdir('d'); write('f'); os.chdir('d')
";
    let output = lab.python(script).await;
    assert!(
        matches!(output.outcome, Outcome::Exited(0) | Outcome::DiskLimit),
        "{output:?}"
    );
    remove_tree(lab.path()).unwrap();
    assert!(!lab.path().exists());
    assert!(outside.path().join("canary").exists());
    remove_tree(lab.path()).unwrap();
}

async fn remove_tree_removes_no_link(lab: Lab) {
    let outside = tempfile::tempdir().unwrap();
    let link = lab.path().join("link");
    symlink(outside.path(), &link).unwrap();
    assert!(remove_tree(&link).is_err());
    assert!(outside.path().exists());
}

async fn a_result_that_is_swapped_all_the_time_never_leads_out(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = std::time::Duration::from_secs(2));
    let script = "
os.mkdir('real'); write('real/file', 'inside')
while True:
    for target in ['real', '/etc']:
        os.symlink(target, 'temporary'); os.replace('temporary', 'swapped')
        os.symlink('/etc/passwd', 'temporary'); os.replace('temporary', 'result')
        write('temporary', 'inside'); os.replace('temporary', 'result')
";
    let reading = async {
        let mut content = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            content.extend(
                [
                    read(&lab, "result"),
                    read(&lab, "swapped/file"),
                    read(&lab, "swapped/passwd"),
                ]
                .into_iter()
                .flatten(),
            );
            tokio::task::yield_now().await;
        }
        content
    };
    let (output, content) = tokio::join!(lab.python(script), reading);
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(content.iter().all(|content| content == b"inside"), "{content:?}");
}

#[test]
fn a_directory_that_was_closed_is_removed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    fs::create_dir_all(workspace.join("inner")).unwrap();
    fs::write(workspace.join("inner/file"), "").unwrap();
    for closed in [workspace.join("inner"), workspace.clone()] {
        fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
    }
    remove_tree(&workspace).unwrap();
    assert!(!workspace.exists());
}

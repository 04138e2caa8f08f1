//! Workspaces whose changes are discarded, with every backend.

use std::fs;

use greenlight::sandbox::{Backend, Changes, Outcome};

use super::Lab;

super::each_backend! {
    discarded_changes_are_seen_by_the_command_and_by_nobody_else,
    discarded_changes_are_bounded,
    a_workspace_with_traps_is_copied_without_falling_into_them,
}

fn discarding(lab: &Lab, script: &str, bytes: u64) -> greenlight::sandbox::Command {
    let mut command = lab.command(["sh", "-c", script]);
    command.changes = Changes::Discarded { bytes };
    command
}

async fn discarded_changes_are_seen_by_the_command_and_by_nobody_else(lab: Lab) {
    lab.file("kept/file", "old\n");
    lab.file("removed/deep/file", "old\n");
    lab.file("replaced/old", "old\n");
    std::os::unix::fs::symlink("kept/file", lab.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc/shadow", lab.path().join("out")).unwrap();
    let script = "
set -e
cat link
echo new > kept/file; echo new > added; cat link
rm -r removed; rm -r replaced; mkdir replaced; test -z \"$(ls replaced)\"
mv kept moved; ln -s moved again; test \"$(readlink out)\" = /etc/shadow
";
    let output = lab.exec(&discarding(&lab, script, 8 << 20)).await;
    let seen = (output.outcome, output.stdout.text(), output.stderr.text());
    let backend = lab.sandbox.backend();
    assert_eq!(
        seen,
        (Outcome::Exited(0), "old\nnew\n".into(), String::new()),
        "{backend}"
    );
    let mut names: Vec<_> = fs::read_dir(lab.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["kept", "link", "out", "removed", "replaced"], "{backend}");
    for name in ["kept/file", "removed/deep/file", "replaced/old"] {
        assert_eq!(fs::read_to_string(lab.path().join(name)).unwrap(), "old\n", "{backend}");
    }
}

async fn discarded_changes_are_bounded(lab: Lab) {
    lab.file("before", &"x".repeat(1 << 20));
    let script = "i=0; while head -c 1M /dev/zero > file$i; do i=$((i+1)); done; exit 1";
    let output = lab.exec(&discarding(&lab, script, 8 << 20)).await;
    let backend = lab.sandbox.backend();
    assert_eq!(output.outcome, Outcome::DiskLimit, "{backend}: {output:?}");
    assert_eq!(fs::read_dir(lab.path()).unwrap().count(), 1, "{backend}");
    let script = "i=0; while : > file$i; do i=$((i+1)); done; exit 1";
    let output = lab.exec(&discarding(&lab, script, 1 << 20)).await;
    assert_eq!(output.outcome, Outcome::DiskLimit, "{backend}: {output:?}");
}

async fn a_workspace_with_traps_is_copied_without_falling_into_them(lab: Lab) {
    let pipe = lab.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
    std::os::unix::fs::symlink("/", lab.path().join("root")).unwrap();
    std::os::unix::fs::symlink("loop", lab.path().join("loop")).unwrap();
    // With mounted layers nothing is copied, and all metadata is unchanged.
    let is_copied = lab.sandbox.backend() != Backend::Native;
    let script = if is_copied {
        "test ! -e pipe && readlink root loop"
    } else {
        "test -p pipe && readlink root loop"
    };
    let output = lab.exec(&discarding(&lab, script, 1 << 20)).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(0), "/\nloop\n".into())
    );

    let sparse = fs::File::create(lab.path().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let lab = lab.limit(|limits| limits.disk = 8 << 20);
    let output = lab.exec(&discarding(&lab, "true", 1 << 20)).await;
    if !is_copied {
        assert_eq!(output.outcome, Outcome::Exited(0));
        return;
    }
    let Outcome::DidNotStart(reason) = output.outcome else {
        panic!("{output:?}")
    };
    assert!(reason.contains("copy ./sparse") && reason.contains("limit"), "{reason}");
}

//! What is specific to each backend.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use greenlight::sandbox::{Backend, Guarantee, Outcome, Property};

use super::Lab;

super::each_backend! {
    memory_cannot_be_hidden_in_segments,
    a_workspace_that_only_root_can_reach_is_shown_or_refused_in_so_many_words,
}

#[tokio::test]
async fn bubblewrap_holds_what_it_promises() {
    let Some(lab) = Lab::on(Backend::Bubblewrap).await else {
        return;
    };
    assert_eq!(lab.sandbox.backend(), Backend::Bubblewrap);
    for (name, guarantee) in lab.sandbox.guarantees().all() {
        let least = match name {
            Property::SeparateUser => Guarantee::None,
            Property::Memory | Property::Disk => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
    }
}

#[tokio::test]
async fn landlock_holds_what_it_promises() {
    let Some(lab) = Lab::on(Backend::Landlock).await else {
        return;
    };
    let is_root = rustix::process::geteuid().is_root();
    for (name, guarantee) in lab.sandbox.guarantees().all() {
        let least = match name {
            Property::SeparateUser if !is_root => Guarantee::None,
            Property::Memory | Property::Disk | Property::Processes | Property::ProcessCount => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
        assert!(name != Property::Processes || guarantee == Guarantee::Partial);
    }
}

async fn memory_cannot_be_hidden_in_segments(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 128 << 20);
    let script = "
libc.shmat.restype = ctypes.c_void_p
for _ in range(64):
    segment = libc.shmget(0, 8 << 20, 0o1600)
    if segment == -1:
        print('refused')
        break
    address = libc.shmat(segment, 0, 0)
    ctypes.memset(address, 1, 8 << 20)
    libc.shmdt(ctypes.c_void_p(address))
";
    let output = lab.python(script).await;
    let is_refused = output.outcome == Outcome::Exited(0) && output.stdout.text() == "refused\n";
    assert!(is_refused || output.outcome == Outcome::OutOfMemory, "{output:?}");
}

async fn a_workspace_that_only_root_can_reach_is_shown_or_refused_in_so_many_words(lab: Lab) {
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let workspace = closed.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    let command = greenlight::sandbox::Command::new(["sh", "-c", "echo content > file"], &workspace);
    let outcome = lab.exec(&command).await.outcome;
    if lab.sandbox.backend() == Backend::Landlock && rustix::process::geteuid().is_root() {
        let Outcome::DidNotStart(reason) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(reason.contains("allow everyone to pass"), "{reason}");
    } else {
        assert_eq!(outcome, Outcome::Exited(0));
        assert_eq!(fs::read_to_string(workspace.join("file")).unwrap(), "content\n");
    }
}

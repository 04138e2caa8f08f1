//! Attacks by a command that shares the host's processes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use greenlight::sandbox::{Access, Backend, Mount, Outcome};

use super::Lab;

#[tokio::test]
async fn signals_and_priorities_of_others_are_out_of_reach() {
    let Some(lab) = Lab::on(Backend::Landlock).await else {
        return;
    };
    let script = format!(
        "
import resource
greenlight = {}
for process in [greenlight, os.getppid()]:
    for number in [0, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL]:
        refused(f'signal {{number}} to {{process}}', lambda: os.kill(process, number), errno.EPERM)
    refused('pidfd', lambda: signal.pidfd_send_signal(os.pidfd_open(process), 0), errno.EPERM)
    refused('limits', lambda: resource.prlimit(process, resource.RLIMIT_NOFILE, (1, 1)), errno.EPERM)
    refused('priority', lambda: os.setpriority(os.PRIO_PROCESS, process, 19), errno.EPERM)
    refused('affinity', lambda: os.sched_setaffinity(process, [0]), errno.EPERM)
    refused('trace', lambda: syscall(101 if platform.machine() == 'x86_64' else 117, 16, process, 0, 0), errno.EPERM)
refused('priority of the user', lambda: os.setpriority(os.PRIO_USER, 0, 19), errno.EPERM)
os.setpriority(os.PRIO_PROCESS, 0, 19)
refused('shared memory', lambda: syscall(29 if platform.machine() == 'x86_64' else 194, 0, 4096, 0o1600), errno.ENOSYS)
refused('message queue', lambda: syscall(240 if platform.machine() == 'x86_64' else 180, b'greenlight', 0o102, 0o600, 0), errno.ENOSYS)
",
        std::process::id()
    );
    lab.attack(&script).await;
}

#[tokio::test]
async fn permissions_of_the_own_files_of_a_user_stay() {
    let Some(lab) = Lab::on(Backend::Landlock).await else {
        return;
    };
    let outside = tempfile::NamedTempFile::new().unwrap();
    let before = fs::metadata(outside.path()).unwrap();
    let script = format!(
        "
import fcntl
path = {:?}
# By name, by another name, and through descriptors that Landlock does not check.
refused('path', lambda: os.chmod(path, 0o777))
there = os.open(path, os.O_PATH)
refused('descriptor', lambda: syscall(452, there, b'', 0o777, 0x1000))
refused('magic link', lambda: os.chmod(f'/proc/self/fd/{{there}}', 0o777))
refused('times', lambda: os.utime(f'/proc/self/fd/{{there}}', (1, 1)))
refused('verity', lambda: fcntl.ioctl(os.open('/bin/sh', os.O_RDONLY), 0x40806685, bytes(128)))
",
        outside.path()
    );
    lab.attack(&script).await;
    let after = fs::metadata(outside.path()).unwrap();
    assert_eq!(
        (before.permissions(), before.modified().unwrap()),
        (after.permissions(), after.modified().unwrap())
    );
}

#[tokio::test]
async fn temporary_files_are_private_and_gone() {
    let Some(lab) = Lab::on(Backend::Landlock).await else {
        return;
    };
    let output = lab
        .sh("touch $HOME/a && mktemp && echo $HOME && test $TMPDIR != /tmp && ! touch /tmp/greenlight-new 2>/dev/null")
        .await;
    assert_eq!(
        (output.outcome, output.stderr.text()),
        (Outcome::Exited(0), String::new())
    );
    for path in output.stdout.text().lines() {
        assert!(path.contains("/greenlight-") && !PathBuf::from(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn what_is_on_disk_is_counted_wherever_it_lies() {
    let Some(lab) = Lab::on(Backend::Landlock).await else {
        return;
    };
    let lab = lab.limit(|limits| limits.disk = 16 << 20);
    let script = "i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > $TMPDIR/file$i; done";
    assert_eq!(lab.sh(script).await.outcome, Outcome::DiskLimit);
}

#[tokio::test]
async fn of_what_is_read_only_but_pipes_only_pipes_are_written_to() {
    let Some(lab) = Lab::on(Backend::Landlock).await else {
        return;
    };
    let (given, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let pipes = [given.path(), outside.path()].map(|directory| directory.join("pipe"));
    for pipe in &pipes {
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe, 0o666.into()).unwrap();
        fs::set_permissions(pipe, fs::Permissions::from_mode(0o666)).unwrap();
    }
    fs::write(given.path().join("file"), "content").unwrap();
    fs::set_permissions(given.path().join("file"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(given.path(), fs::Permissions::from_mode(0o777)).unwrap();
    symlink(&pipes[1], given.path().join("link")).unwrap();
    let script = format!(
        "
os.chdir({:?})
os.open('pipe', os.O_RDWR)
assert open('file').read() == 'content'
for path in ['file', 'link', {:?}]:
    refused(path, lambda: os.open(path, os.O_RDWR | os.O_NONBLOCK), errno.EACCES)
refused('shorten', lambda: os.truncate('file', 0), errno.EACCES)
refused('make', lambda: write('new'), errno.EACCES)
refused('make a pipe', lambda: os.mkfifo('new'), errno.EACCES)
refused('remove', lambda: os.unlink('pipe'), errno.EACCES)
refused('rename', lambda: os.rename('pipe', 'new'), errno.EACCES)
refused('replace', lambda: os.rename('file', 'pipe'), errno.EACCES)
",
        given.path(),
        pipes[1]
    );
    for access in [Access::ReadOnlyButPipes, Access::ReadOnly] {
        let mut command = lab.command(["/usr/bin/python3", "-c", &format!("{}\n{script}", super::PRELUDE)]);
        command.mounts.push(Mount {
            source: given.path().into(),
            target: given.path().into(),
            access,
        });
        let output = lab.exec(&command).await;
        let error = output.stderr.text();
        match access {
            Access::ReadOnlyButPipes => assert_eq!(
                (output.outcome, output.stdout.text(), error),
                (Outcome::Exited(0), String::new(), String::new())
            ),
            _ => assert!(error.contains("Permission denied: 'pipe'"), "{error}"),
        }
    }
    assert_eq!(fs::read_to_string(given.path().join("file")).unwrap(), "content");
}

//! Changing what is out of bounds for the code under test: files of the host, tools, kernel settings, devices.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use greenlight::sandbox::{Access, Command, Mount, Outcome};

use super::Lab;

super::each_backend! {
    writing_outside_the_workspace_fails,
    core_pattern_is_not_writable,
    files_made_inside_belong_to_the_owner_of_the_workspace,
    a_second_run_can_change_what_the_first_and_greenlight_made,
    devices_cannot_be_made,
    nobody_outside_waits_for_a_lease,
    set_user_id_files_cannot_be_made,
    a_hard_link_to_another_checkout_is_not_given_away,
    a_mount_is_read_only_unless_said_otherwise,
    a_writable_mount_is_writable_by_every_run,
    a_link_in_place_of_the_directory_leads_nowhere,
}

async fn writing_outside_the_workspace_fails(lab: Lab) {
    let script = "
for path in ['/x', '/usr/x', '/usr/bin/x', '/etc/x', '/etc/passwd', '/lib/x', '/dev/x', '/run/x', '/var/x', '/home/x', '/opt/x', '/root/x', '/proc/x']:
    refused(path, lambda: write(path), errno.EROFS, errno.EACCES, errno.ENOENT, errno.EPERM)
for path in own:
    write(path)
for path in foreign:
    refused(path, lambda: write(path), errno.EACCES)
write(os.environ['TMPDIR'] + '/x'), write(os.environ['HOME'] + '/x')
";
    let shared = "'/tmp/greenlight-x', '/var/tmp/greenlight-x', '/dev/shm/greenlight-x'";
    let (own, foreign) = if lab.is_landlock() { ("", shared) } else { (shared, "") };
    let inside = lab.inside().display();
    lab.attack(&format!("own, foreign = ['{inside}/x', {own}], [{foreign}]\n{script}"))
        .await;
}

async fn core_pattern_is_not_writable(lab: Lab) {
    let script = "
for path in ['/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches', '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger',
             '/proc/sys/net/ipv4/ip_forward', '/proc/sys/user/max_user_namespaces', '/proc/sys/fs/binfmt_misc/register']:
    refused(path, lambda: os.open(path, os.O_WRONLY), errno.EROFS, errno.EACCES, errno.ENOENT, errno.EPERM)
    refused(path, lambda: os.open('/proc/self/root' + path, os.O_WRONLY), errno.EROFS, errno.EACCES, errno.ENOENT, errno.EPERM)
";
    lab.attack(script).await;
}

async fn files_made_inside_belong_to_the_owner_of_the_workspace(lab: Lab) {
    let output = lab.sh("touch a; mkdir b; ln a b/c; id -u").await;
    assert_ne!(output.stdout.text(), "0\n");
    let owner = fs::metadata(lab.path().join("a")).unwrap().uid();
    assert_eq!(owner, fs::metadata(lab.path()).unwrap().uid());
    assert_ne!(owner, 0);
}

async fn a_second_run_can_change_what_the_first_and_greenlight_made(lab: Lab) {
    lab.file("src/made_before", "");
    lab.sh("mkdir dir; echo 1 > dir/made_inside; chmod 700 dir").await;
    lab.file("src/made_between", "");
    let output = lab
        .sh("echo 2 | tee -a src/made_before src/made_between dir/made_inside; rm -r src dir")
        .await;
    assert_eq!(
        (output.outcome, output.stderr.text()),
        (Outcome::Exited(0), String::new())
    );
}

async fn nobody_outside_waits_for_a_lease(lab: Lab) {
    let script = "
import fcntl
F_SETLEASE = 1024
for kind in [fcntl.F_RDLCK, fcntl.F_WRLCK]:
    refused(kind, lambda: fcntl.fcntl(os.open('/bin/sh', os.O_RDONLY), F_SETLEASE, kind), errno.EPERM)
";
    lab.attack(script).await;
}

async fn devices_cannot_be_made(lab: Lab) {
    let script = "
import stat
for directory in [os.getcwd(), os.environ['HOME'], os.environ['TMPDIR'], '/tmp', '/dev/shm']:
    for kind in [stat.S_IFBLK, stat.S_IFCHR]:
        refused('device', lambda: os.mknod(directory + '/device', kind | 0o666, os.makedev(1, 5)), errno.EPERM, errno.EACCES)
refused('disk', lambda: os.open('/dev/vda', os.O_RDONLY))
refused('terminal', lambda: os.open('/dev/tty', os.O_RDWR))
refused('kvm', lambda: os.open('/dev/kvm', os.O_RDWR))
";
    lab.attack(script).await;
}

async fn set_user_id_files_cannot_be_made(lab: Lab) {
    let script = "
write('x')
x = os.open('x', os.O_RDONLY)
for bit in [0o4000, 0o2000]:
    refused('chmod', lambda: os.chmod('x', 0o755 | bit), errno.EPERM)
    refused('fchmod', lambda: os.fchmod(x, 0o755 | bit), errno.EPERM)
    refused('open', lambda: os.open('y', os.O_CREAT | os.O_WRONLY, 0o755 | bit), errno.EPERM)
    refused('temporary', lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o755 | bit), errno.EPERM)
    refused('fchmodat2', lambda: syscall(452, -100, b'x', 0o755 | bit, 0), errno.EPERM)
refused('openat2', lambda: syscall(437, -100, b'z', ctypes.create_string_buffer(24), 24), errno.ENOSYS)
";
    lab.attack(script).await;
    let script = "os.chmod('x', 0o755)";
    if lab.is_landlock() && !rustix::process::geteuid().is_root() {
        // If the kernel cannot distinguish files of the workspace from others, no mode bit can be changed.
        lab.attack(&format!("refused('any', lambda: {script}, errno.EPERM)"))
            .await;
    } else {
        lab.attack(script).await;
    }
}

async fn a_hard_link_to_another_checkout_is_not_given_away(lab: Lab) {
    let other = tempfile::NamedTempFile::new().unwrap();
    let before = fs::metadata(other.path()).unwrap().uid();
    fs::hard_link(other.path(), lab.path().join("shared")).unwrap();
    lab.sh("true").await;
    assert_eq!(fs::metadata(other.path()).unwrap().uid(), before);
}

async fn a_mount_is_read_only_unless_said_otherwise(lab: Lab) {
    let given = tempfile::tempdir().unwrap();
    fs::write(given.path().join("file"), "content").unwrap();
    let target = lab.shown(given.path(), "/given");
    let script = format!(
        "cd {}; cat file; touch x file || rm file || mv file y || ln file y || echo more >> file",
        target.display()
    );
    let mut command = lab.command(["sh", "-c", &script]);
    command.mounts.push(Mount {
        source: given.path().into(),
        target,
        access: Access::ReadOnly,
    });
    let output = lab.exec(&command).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(2), "content".into())
    );
    assert_eq!(fs::read_to_string(given.path().join("file")).unwrap(), "content");
    assert_eq!(fs::read_dir(given.path()).unwrap().count(), 1);
}

async fn a_writable_mount_is_writable_by_every_run(lab: Lab) {
    let cache = tempfile::tempdir().unwrap();
    for workspace in [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()] {
        let target = lab.shown(cache.path(), "/cache");
        let script = format!("cd {} && mkdir -p dir && echo x >> dir/file", target.display());
        let mut command = Command::new(["sh", "-c", &script], workspace.path());
        command.mounts.push(Mount {
            source: cache.path().into(),
            target,
            access: Access::ReadWrite,
        });
        assert_eq!(lab.exec(&command).await.outcome, Outcome::Exited(0));
    }
    assert_eq!(fs::read_to_string(cache.path().join("dir/file")).unwrap(), "x\nx\n");
}

async fn a_link_in_place_of_the_directory_leads_nowhere(lab: Lab) {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("canary"), "secret").unwrap();
    symlink(outside.path(), lab.path().join("sub")).unwrap();
    let mut command = lab.command(["cat", "canary"]);
    command.cwd = "sub".into();
    assert!(matches!(lab.exec(&command).await.outcome, Outcome::DidNotStart(_)));
    command.cwd = "../..".into();
    let cancel = tokio_util::sync::CancellationToken::new();
    assert!(lab.sandbox.exec(&command, &lab.policy, &cancel).await.is_err());
}

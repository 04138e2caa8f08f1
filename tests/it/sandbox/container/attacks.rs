//! Reading, reaching and pretending to be what is none of a command's business, in a container.

use std::fs;

use greenlight::sandbox::{Backend, Network, Outcome};

use super::{TOKEN, double, named_socket};

#[tokio::test]
async fn the_token_is_not_visible_in_a_container() {
    let lab = lab_or_return!();
    let script = "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ | tr '\\0' '\\n'; echo looked";
    let output = double(&lab, script)
        .env("GITHUB_TOKEN", TOKEN)
        .env("OTHER", TOKEN)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("looked") && !text.contains(TOKEN), "{text}");
}

#[tokio::test]
async fn init_of_a_container_hides_itself() {
    let script = "
refused('environment of init', lambda: open('/proc/1/environ').read())
refused('memory of init', lambda: open('/proc/1/mem', 'rb'))
refused('memory map of init', lambda: open('/proc/1/maps').read())
refused('descriptors of init', lambda: os.listdir('/proc/1/fd'))
refused('root of init', lambda: os.listdir('/proc/1/root/'))
refused('trace init', lambda: syscall(101, 16, 1, 0, 0))
refused('score of init', lambda: write('/proc/1/oom_score_adj', '1000'))
for name in os.listdir('/proc/self/fd'):
    path = os.readlink('/proc/self/fd/' + name) if os.path.exists('/proc/self/fd/' + name) else ''
    if 'socket' in path:
        print('ESCAPED', name, path)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn files_of_the_host_are_not_visible_in_a_container() {
    let lab = lab_or_return!();
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    fs::write(&canary, TOKEN).unwrap();
    let script = format!(
        "
refused('canary', lambda: open('{}').read())
refused('shadow', lambda: open('/etc/shadow').read())
for place in ['/tmp', '/var/tmp', '/srv', '/boot', '/mnt', '/media', '/sys', '/dev/shm', '/dev/mqueue', os.environ['HOME']]:
    left = os.listdir(place) if os.path.isdir(place) else []
    if [name for name in left if name != '.cargo']:
        print('ESCAPED', place, left)
assert open('/etc/resolv.conf').read() == ''
for path in ['/usr/x', '/etc/x', '/x', '/dev/x', '/run/x', '/run/greenlight', '/etc/passwd', '/proc/sys/kernel/core_pattern']:
    refused(path, lambda: write(path), errno.EROFS, errno.EACCES, errno.ETXTBSY)
for name in ['kcore', 'keys', 'kallsyms', 'kmsg', 'timer_list']:
    if os.path.exists('/proc/' + name):
        try:
            if open('/proc/' + name, 'rb').read(1):
                print('ESCAPED', name)
        except OSError:
            pass
",
        canary.display()
    );
    lab.attack(&script).await;
}

#[tokio::test]
async fn privileges_are_gone_in_a_container() {
    let script = "
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
assert status['NoNewPrivs'] == '1' and status['Seccomp'] == '2', status
for name in ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']:
    assert int(status[name], 16) == 0, status
assert os.getuid() != 0 and 0 not in os.getgroups(), (os.getuid(), os.getgroups())
refused('namespace', lambda: syscall(272, 0x10000000), errno.EPERM)
refused('mount', lambda: syscall(165, 0, 0, 0, 0, 0), errno.EPERM)
refused('bpf', lambda: syscall(321, 0, 0, 0), errno.EPERM)
refused('keyctl', lambda: syscall(250, 0, 0, 0, 0), errno.EPERM)
refused('set-user-ID', lambda: os.chmod('/workspace', 0o4755), errno.EPERM)
refused('device', lambda: os.mknod('/tmp/device', 0o020666, os.makedev(1, 1)), errno.EPERM)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn no_network_by_any_family_in_a_container() {
    let script = "
for family in range(0, 50):
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET]:
        if family not in {socket.AF_UNIX, socket.AF_NETLINK}:
            refused(f'family {family} type {kind}', lambda: socket.socket(family, kind), errno.EPERM, errno.EAFNOSUPPORT)
for number in [425, 426, 427]:
    refused(number, lambda: syscall(number, 8, ctypes.create_string_buffer(256), 0, 0, 0, 0), errno.EPERM)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn loopback_in_a_container_leads_nowhere_else() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "
for family, address in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    client = socket.create_connection(server.getsockname()[:2], timeout=5)
    server.accept()[0].sendall(b'hello')
    assert client.recv(5) == b'hello'
refused('host', lambda: socket.create_connection(('127.0.0.1', {}), timeout=2), errno.ECONNREFUSED)
refused('elsewhere', lambda: socket.create_connection(('1.1.1.1', 53), timeout=2), errno.ENETUNREACH)
refused('vsock', lambda: socket.socket(40, socket.SOCK_STREAM), errno.EPERM)
",
        listener.local_addr().unwrap().port()
    );
    lab_or_return!().network(Network::Loopback).attack(&script).await;
}

#[tokio::test]
async fn the_socket_of_the_engine_is_not_visible() {
    let named = named_socket(Backend::Docker).unwrap_or_default();
    let script = format!(
        "
for path in ['{}', '/var/run/docker.sock', '/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']:
    refused(path, lambda: socket.socket(socket.AF_UNIX).connect(path), errno.ENOENT)
",
        named.display()
    );
    lab_or_return!().attack(&script).await;
}

#[tokio::test]
async fn a_second_call_to_the_supervisor_is_not_answered() {
    let script = "
assert os.path.exists('/run/greenlight.socket')
refused('call', lambda: socket.socket(socket.AF_UNIX).connect('/run/greenlight.socket'), errno.ECONNREFUSED)
refused('listen', lambda: socket.socket(socket.AF_UNIX).bind('/run/greenlight.socket'), errno.EADDRINUSE, errno.EROFS)
refused('remove', lambda: os.unlink('/run/greenlight.socket'), errno.EBUSY, errno.EACCES, errno.EROFS)
import struct
# What init would say, to whatever is open here.
body = b'{\"Exited\":77}'
for number in range(1, 256):
    for file in [number]:
        try:
            os.write(file, struct.pack('<I', len(body)) + body) if number > 2 else None
        except OSError:
            pass
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn a_forged_init_is_not_heard() {
    let lab = lab_or_return!();
    // A second init finds nobody to call, and the first is not disturbed by it.
    let output = lab
        .sh("printf '\\015\\000\\000\\000{\"Exited\":77}'; /run/greenlight sandbox-init container; echo $?; exit 5")
        .await;
    assert_eq!(output.outcome, Outcome::Exited(5));
    assert!(output.stdout.text().ends_with("70\n"), "{output:?}");
}

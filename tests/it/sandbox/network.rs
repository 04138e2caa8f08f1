//! Reaching other machines, or services of this one.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use greenlight::sandbox::Network;

use super::Lab;

super::each_backend! {
    no_network_by_any_family,
    io_uring_is_refused,
    services_of_the_host_cannot_be_reached,
    loopback_is_there_when_asked_for,
    without_it_there_is_no_loopback_either,
}

async fn no_network_by_any_family(lab: Lab) {
    let inside = if lab.is_landlock() {
        "set()"
    } else {
        "{socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}"
    };
    let script = "
for family in range(0, 50):
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET]:
        if family not in inside:
            refused(f'family {family} type {kind}', lambda: socket.socket(family, kind), errno.EPERM)
        if family != socket.AF_UNIX:
            refused(f'pair {family}', lambda: socket.socketpair(family, kind), errno.EPERM)
# Even where the loopback interface always exists, these sockets must not exist without a network.
no = (errno.EPERM, errno.EAFNOSUPPORT)
for family in [socket.AF_INET, socket.AF_INET6]:
    refused('raw', lambda: socket.socket(family, socket.SOCK_RAW, 255), *no)
    for protocol in [33, 132, 136, 262]:
        refused(f'protocol {protocol}', lambda: socket.socket(family, socket.SOCK_STREAM, protocol), *no)
for protocol in range(1, 23):
    refused(f'netlink {protocol}', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol), errno.EPERM)
def tcp(address):
    return lambda: socket.create_connection(address, timeout=2)
for address in [('127.0.0.1', 22), ('::1', 22), ('1.1.1.1', 53), ('169.254.169.254', 80), ('2606:4700::1111', 53)]:
    refused(address, tcp(address))
def udp(address):
    return lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', address)
for address in [('8.8.8.8', 53), ('127.0.0.1', 53), ('255.255.255.255', 9)]:
    refused(f'udp to {address}', udp(address))
refused('names', lambda: socket.getaddrinfo('example.com', 80))
";
    lab.attack(&format!("inside = {inside}\n{script}")).await;
}

async fn io_uring_is_refused(lab: Lab) {
    let script = "
for number in [425, 426, 427]:
    refused(number, lambda: syscall(number, 8, ctypes.create_string_buffer(256), 0, 0, 0, 0), errno.EPERM)
";
    lab.attack(script).await;
}

async fn services_of_the_host_cannot_be_reached(lab: Lab) {
    let lab = lab.network(Network::Loopback);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let name = format!("greenlight-test-{port}");
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _named = UnixListener::bind(&path).unwrap();
    let script = format!(
        "
refused('tcp', lambda: socket.create_connection(('127.0.0.1', {port}), timeout=2), errno.ECONNREFUSED, errno.EPERM)
for name in ['\\0{name}', '{}', '/run/docker.sock', '/var/run/docker.sock', '/run/dbus/system_bus_socket']:
    refused(name, lambda: socket.socket(socket.AF_UNIX).connect(name), errno.ECONNREFUSED, errno.ENOENT, errno.EPERM)
",
        path.display()
    );
    lab.attack(&script).await;
}

async fn loopback_is_there_when_asked_for(lab: Lab) {
    if lab.is_landlock() {
        return loopback_that_is_not_private_is_no_network(lab).await;
    }
    let script = "
for family, address in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    client = socket.create_connection(server.getsockname()[:2], timeout=5)
    server.accept()[0].sendall(b'hello')
    assert client.recv(5) == b'hello'
assert [name for _, name in socket.if_nameindex() if name.startswith('e')] == []
refused('elsewhere', lambda: socket.create_connection(('1.1.1.1', 53), timeout=2), errno.ENETUNREACH)
";
    // The other backends leave the interface as the kernel made it.
    let names = "
for family in [socket.AF_INET, socket.AF_INET6]:
    assert socket.getaddrinfo('localhost', 80, family, flags=socket.AI_ADDRCONFIG)
found = {found[4][0] for found in socket.getaddrinfo('localhost', 80, flags=socket.AI_ADDRCONFIG)}
assert found == {'127.0.0.1', '::1'}, found
";
    let names = if lab.is_native() { names } else { "" };
    lab.network(Network::Loopback).attack(&format!("{script}{names}")).await;
}

/// Without a network namespace, the only loopback interface is the host's, with all its services.
async fn loopback_that_is_not_private_is_no_network(lab: Lab) {
    let script = "
for family in [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK]:
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET]:
        refused(f'family {family} type {kind}', lambda: socket.socket(family, kind), errno.EPERM)
# Sockets between processes of the command work, and lead nowhere else.
ours, theirs = socket.socketpair()
ours.sendall(b'hello')
assert theirs.recv(5) == b'hello'
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for name in ['\\0greenlight', '/run/docker.sock', '/dev/log', '/run/systemd/journal/socket']:
    refused(f'message to {name!r}', lambda: ours.sendto(b'x', name))
    refused(f'connection to {name!r}', lambda: ours.connect(name))
";
    lab.network(Network::Loopback).attack(script).await;
}

async fn without_it_there_is_no_loopback_either(lab: Lab) {
    let script = "
def connect():
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen()
    return socket.create_connection(server.getsockname(), timeout=2)
refused('loopback', connect)
";
    lab.attack(script).await;
}

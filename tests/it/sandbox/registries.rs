//! The network of an installation: named hosts through a proxy, and how hostile code may try to misuse it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use greenlight::sandbox::proxy::rules::Why;
use greenlight::sandbox::proxy::{Proxy, World};
use greenlight::sandbox::{Network, Outcome, Output};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::{Lab, PATIENCE, PRELUDE};

super::each_backend_with_network! {
    an_allowed_host_is_reached_at_the_address_that_was_judged,
    nothing_else_is_reached_through_it,
    a_name_does_not_lead_to_places_that_are_not_public,
    around_the_proxy_there_is_no_network,
    slow_and_many_connections_keep_nobody_out_for_ever,
    whoever_kills_the_relay_is_alone_without_network,
    an_interrupt_leaves_the_way_out_open,
    connections_end_with_the_run,
    a_proxy_that_is_gone_leaves_nothing,
    hosts_are_asked_for_by_policy_too,
}

/// A public address. Nothing connects to it: all outside connections lead to one listener.
const PUBLIC: &str = "93.184.216.34";

/// Talks to the proxy as tools do.
const CLIENT: &str = "
def proxy():
    return socket.create_connection(('127.0.0.1', 3128), timeout=50)
def say(text):
    with proxy() as connection:
        try:
            connection.sendall(text if isinstance(text, bytes) else text.encode())
            return connection.recv(4096).decode()
        except ConnectionError as error:
            return f'{error}'
def connect(target):
    return say(f'CONNECT {target} HTTP/1.1\\r\\nHost: allowed.example:443\\r\\n\\r\\n')
def denied(text, status='403'):
    answer = say(text)
    if not answer.startswith(f'HTTP/1.1 {status} '):
        print('ODD', text[:80], answer)
";

/// A simulated outside world: one listener that echoes everything, and names that resolve to addresses.
struct Outside {
    listener: TcpListener,
    /// The addresses that the proxy connected to.
    dialled: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Outside {
    /// A proxy that allows one host with a public address.
    fn ordinary_proxy(&self) -> Proxy {
        self.proxy(&["allowed.example"], &[("allowed.example", &[PUBLIC])])
    }

    async fn new() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            dialled: Arc::default(),
        }
    }

    fn proxy(&self, hosts: &[&str], names: &[(&str, &[&str])]) -> Proxy {
        let addresses = |(name, addresses): &(&str, &[&str])| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            ((*name).to_owned(), addresses)
        };
        let names: BTreeMap<String, Vec<IpAddr>> = names.iter().map(addresses).collect();
        let (there, dialled) = (self.listener.local_addr().unwrap(), Arc::clone(&self.dialled));
        let world = World::new(
            move |name| {
                let found = names
                    .get(&name)
                    .cloned()
                    .ok_or_else(|| std::io::ErrorKind::NotFound.into());
                Box::pin(std::future::ready(found))
            },
            move |address| {
                dialled.lock().unwrap().push(address);
                Box::pin(TcpStream::connect(there))
            },
        );
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        Proxy::start(&hosts, world).unwrap()
    }

    /// Echoes everything for as long as the test runs.
    fn echo(self) -> Arc<Mutex<Vec<SocketAddr>>> {
        let Self { listener, dialled } = self;
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        dialled
    }
}

async fn through(lab: &Lab, proxy: &Proxy, script: &str) -> Output {
    let script = format!("{PRELUDE}\n{CLIENT}\n{script}\nprint('done')");
    let command = lab.command(["/usr/bin/python3", "-c", &script]);
    lab.sandbox
        .exec_through(proxy, &command, &lab.policy, &CancellationToken::new())
        .await
        .unwrap()
}

#[track_caller]
fn assert_done(output: &Output) {
    let seen = (output.outcome.clone(), output.stdout.text(), output.stderr.text());
    assert_eq!(seen, (Outcome::Exited(0), "done\n".into(), String::new()));
}

async fn an_allowed_host_is_reached_at_the_address_that_was_judged(lab: Lab) {
    let outside = Outside::new().await;
    let names: &[&str] = &["10.0.0.1", PUBLIC];
    let proxy = outside.proxy(&["allowed.example"], &[("allowed.example", names)]);
    let dialled = outside.echo();
    let script = "
for name in ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'CARGO_HTTP_PROXY', 'npm_config_https_proxy', 'PIP_PROXY']:
    assert os.environ[name] == 'http://127.0.0.1:3128', name
for target in ['allowed.example:443', 'ALLOWED.example:443', 'allowed.example.:443']:
    with proxy() as connection:
        connection.sendall(f'CONNECT {target} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nearly'.encode())
        stream = connection.makefile('rb')
        assert stream.readline() == b'HTTP/1.1 200 Connection established\\r\\n'
        assert stream.readline() == b'\\r\\n'
        assert stream.read(5) == b'early'
        data = os.urandom(1 << 20)
        threading.Thread(target=lambda: (connection.sendall(data), connection.shutdown(socket.SHUT_WR))).start()
        assert stream.read() == data
";
    assert_done(&through(&lab, &proxy, script).await);
    let address = SocketAddr::new(PUBLIC.parse().unwrap(), 443);
    assert_eq!(*dialled.lock().unwrap(), [address; 3]);
    assert!(proxy.refused().is_empty());
}

async fn nothing_else_is_reached_through_it(lab: Lab) {
    let outside = Outside::new().await;
    let hosts = [
        "allowed.example",
        "github.com",
        "api.github.com",
        "ghcr.io",
        "127.0.0.1",
        "[::1]",
    ];
    let proxy = outside.proxy(
        &hosts,
        &[
            "allowed.example",
            "evil.example",
            "github.com",
            "api.github.com",
            "ghcr.io",
        ]
        .map(|name| (name, &[PUBLIC][..])),
    );
    let dialled = outside.echo();
    let script = "
for target in ['evil.example:443', 'allowed.evil.example:443', 'allowed.example.evil.example:443', 'x.allowed.example:443',
               'allowed.example:8443', 'allowed.example:80', 'allowed.example:22', 'allowed.example:0443', 'allowed.example',
               'allowed@evil.example:443', 'allowed.example@evil.example:443', 'allowed.example:443@evil.example:443',
               'evil.example:443#allowed.example:443', 'allowed.example%00:443', 'allowed.example..:443',
               '127.0.0.1:443', '127.0.0.1:22', '2130706433:443', '0x7f000001:443', '0177.0.0.1:443', '127.1:443',
               '[::1]:443', '[::ffff:127.0.0.1]:443', '169.254.169.254:443', '1.1.1.1:443', 'localhost:443', '/run/registries:443',
               'github.com:443', 'api.github.com:443', 'GHCR.io.:443', 'raw.githubusercontent.com:443', 'xn--llowed-rta.example:443']:
    denied(f'CONNECT {target} HTTP/1.1\\r\\nHost: allowed.example:443\\r\\n\\r\\n')
for request in ['GET http://allowed.example/ HTTP/1.1', 'GET / HTTP/1.1', 'GET https://allowed.example/ HTTP/1.1', 'OPTIONS * HTTP/1.1']:
    denied(f'{request}\\r\\nHost: allowed.example\\r\\n\\r\\n', '405')
for request in ['CONNECT', 'CONNECT allowed.example:443', 'CONNECT allowed.example:443 HTTP/2', 'CONNECT  allowed.example:443 HTTP/1.1',
                'CONNECT allowed.example:443 evil.example:443 HTTP/1.1', 'CONNECT allowed.example:443 HTTP/1.1 ']:
    denied(f'{request}\\r\\n\\r\\n', '400')
for request in ['connect allowed.example:443 HTTP/1.1', 'CONNECT\\tallowed.example:443 HTTP/1.1', '\\r\\nCONNECT allowed.example:443 HTTP/1.1', '\\0']:
    denied(f'{request}\\r\\n\\r\\n', '405')
denied(b'CONNECT allowed.example\\xff:443 HTTP/1.1\\r\\n\\r\\n')
assert '200' not in say('CONNECT allowed.example:443 HTTP/1.1\\r\\nX: ' + 'x' * 10000 + '\\r\\n\\r\\n')
# Send only what is read: unread data would make the answer get lost.
denied('CONNECT allowed.example:443 HTTP/1.1\\r\\nX: '.ljust(8192, 'x'), '431')
for family in ['/run/registries', '/proc/1/root/run/registries']:
    direct = socket.socket(socket.AF_UNIX)
    try:
        direct.connect(family)
    except OSError:
        continue
    direct.sendall(b'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n')
    assert direct.recv(100).startswith(b'HTTP/1.1 403')
";
    assert_done(&through(&lab, &proxy, script).await);
    assert!(dialled.lock().unwrap().is_empty());
    let refused = proxy.refused();
    assert_eq!(refused.get("evil.example"), Some(&Why::NotAllowed));
    assert_eq!(refused.get("github.com"), Some(&Why::GitHub));
    assert_eq!(refused.get("allowed.example:8443"), Some(&Why::Port));
    assert!(refused.len() <= 32 && refused.keys().all(|target| target.len() <= 100 && target.is_ascii()));
}

async fn a_name_does_not_lead_to_places_that_are_not_public(lab: Lab) {
    let outside = Outside::new().await;
    let names: [(&str, &[&str]); 7] = [
        ("here.example", &["127.0.0.1", "::1"]),
        ("metadata.example", &["169.254.169.254"]),
        ("mapped.example", &["::ffff:10.0.0.1"]),
        ("private.example", &["192.168.0.1", "10.0.0.1", "fd00::1"]),
        ("carrier.example", &["100.64.0.1"]),
        ("azure.example", &["168.63.129.16"]),
        ("empty.example", &[]),
    ];
    let hosts = names.map(|(name, _)| name);
    let proxy = outside.proxy(&hosts, &names);
    let dialled = outside.echo();
    let script = format!("for host in {hosts:?}: denied(f'CONNECT {{host}}:443 HTTP/1.1\\r\\n\\r\\n')");
    assert_done(&through(&lab, &proxy, &script).await);
    assert!(dialled.lock().unwrap().is_empty());
    assert_eq!(proxy.refused().into_values().collect::<Vec<_>>(), [Why::NotPublic; 7]);
}

async fn around_the_proxy_there_is_no_network(lab: Lab) {
    let outside = Outside::new().await;
    let port = outside.listener.local_addr().unwrap().port();
    let proxy = outside.ordinary_proxy();
    let script = format!(
        "
for address in [('1.1.1.1', 443), ('169.254.169.254', 80), ('127.0.0.1', {port}), ('127.0.0.1', 22), ('::1', 3128)]:
    refused(address, lambda: socket.create_connection(address, timeout=2))
for name in ['allowed.example', 'pypi.org', 'localhost.localdomain']:
    refused(name, lambda: socket.getaddrinfo(name, 443))
refused('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53)))
refused('bind', lambda: socket.create_server(('127.0.0.1', 3128)))
refused('remove', lambda: os.unlink('/run/registries'))
refused('replace', lambda: os.rename('/run/registries', '/tmp/x'))
"
    );
    assert_done(&through(&lab, &proxy, &script).await);
}

async fn slow_and_many_connections_keep_nobody_out_for_ever(lab: Lab) {
    let outside = Outside::new().await;
    let proxy = outside.ordinary_proxy();
    let _dialled = outside.echo();
    let script = "
idle = []
for _ in range(70):
    connection = proxy()
    connection.sendall(b'CONNECT ')
    idle.append(connection)
def one():
    answer = say('CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n')
    if not answer.startswith('HTTP/1.1 403'):
        print('ODD', answer)
def many():
    for _ in range(250):
        one()
for connection in idle[:40]:
    answer = connection.recv(100)
    if not answer.startswith(b'HTTP/1.1 408'):
        print('ODD', answer)
for connection in idle:
    connection.close()
workers = [threading.Thread(target=many) for _ in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
if not connect('allowed.example:443').startswith('HTTP/1.1 200'):
    print('ODD')
";
    assert_done(&through(&lab, &proxy, script).await);
}

async fn whoever_kills_the_relay_is_alone_without_network(lab: Lab) {
    let outside = Outside::new().await;
    let names: &[(&str, &[&str])] = &[("allowed.example", &[PUBLIC])];
    let (mine, other) = (
        outside.proxy(&["allowed.example"], names),
        outside.proxy(&["allowed.example"], names),
    );
    let _dialled = outside.echo();
    let script = "
assert connect('allowed.example:443').startswith('HTTP/1.1 200')
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
for process in range(1, 200):
    if process != os.getpid():
        if libc.ptrace(16, process, None, None) == 0:
            print('TRACED', process)
        for name in ['mem', 'environ', 'fd', 'maps']:
            refused(f'{process} {name}', lambda: os.listdir(f'/proc/{process}/fd') if name == 'fd' else open(f'/proc/{process}/{name}').read(1))
for process in range(2, 200):
    if process != os.getpid():
        try: os.kill(process, signal.SIGKILL)
        except OSError: pass
refused('afterwards', lambda: [connect('allowed.example:443') for _ in range(100)][-1], errno.ECONNREFUSED, errno.ECONNRESET)
";
    assert_done(&through(&lab, &mine, script).await);
    let script = "assert connect('allowed.example:443').startswith('HTTP/1.1 200')";
    assert_done(&through(&lab, &other, script).await);
}

async fn an_interrupt_leaves_the_way_out_open(lab: Lab) {
    let outside = Outside::new().await;
    let proxy = outside.ordinary_proxy();
    let _dialled = outside.echo();
    let script = "
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.kill(-1, signal.SIGINT)
assert connect('allowed.example:443').startswith('HTTP/1.1 200')
";
    assert_done(&through(&lab, &proxy, script).await);
}

async fn connections_end_with_the_run(lab: Lab) {
    let outside = Outside::new().await;
    let proxy = outside.ordinary_proxy();
    let script = "
connection = proxy()
connection.sendall(b'CONNECT allowed.example:443 HTTP/1.1\\r\\n\\r\\n')
assert connection.recv(100).startswith(b'HTTP/1.1 200')
if os.fork() == 0:
    connection.sendall(b'still here')
    time.sleep(1000)
";
    let (output, accepted) = tokio::join!(through(&lab, &proxy, script), outside.listener.accept());
    assert_done(&output);
    let mut stream = accepted.unwrap().0;
    let mut said = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said))
        .await
        .expect("it is still open");
    assert!(read.is_err() || b"still here".starts_with(&said));
}

async fn a_proxy_that_is_gone_leaves_nothing(lab: Lab) {
    let outside = Outside::new().await;
    let proxy = outside.ordinary_proxy();
    let script = "
connection = proxy()
connection.sendall(b'CONNECT allowed.example:443 HTTP/1.1\\r\\n\\r\\n')
assert connection.recv(100).startswith(b'HTTP/1.1 200')
assert connection.recv(1) == b''
";
    let end = async {
        let (mut stream, _) = outside.listener.accept().await.unwrap();
        stream.shutdown().await.unwrap();
    };
    let (output, ()) = tokio::join!(through(&lab, &proxy, script), end);
    assert_done(&output);
}

async fn hosts_are_asked_for_by_policy_too(lab: Lab) {
    // The real internet is not contacted: nothing here is allowed.
    let lab = lab.network(Network::Registries(vec!["github.com".into()]));
    let script = format!("{PRELUDE}\n{CLIENT}\ndenied('CONNECT github.com:443 HTTP/1.1\\r\\n\\r\\n')\nprint('done')");
    let output = lab.exec(&lab.command(["/usr/bin/python3", "-c", &script])).await;
    assert_done(&output);
}

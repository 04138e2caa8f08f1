//! The inner side of an installation: a process that accepts connections on the loopback interface, where every tool
//! can be told to find a proxy, and forwards them to greenlight's own proxy through its Unix socket.
//!
//! It enforces nothing and has no secrets, and the command could use the socket directly. It is a separate process so
//! that a command that floods or kills it only breaks its own installation.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, ensure};
use rustix::process::DumpableBehavior;
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::spec::command::Network;
use crate::wire;
use crate::wire::Spec;

/// The path of the proxy's socket inside.
pub(crate) const SOCKET: &str = "/run/registries";

/// The port where tools find their proxy.
const PORT: u16 = 3128;

/// How many connections are open at a time; the others wait in the kernel's backlog.
const AT_ONCE: usize = 64;

/// Where systems store their trusted certificates in one file.
const CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Adds the variables for the proxy, without replacing those of the command.
pub(crate) fn add_environment(env: &mut BTreeMap<String, String>) {
    for (name, value) in environment() {
        match env.get_mut(&name) {
            // A list of options: those of the command, such as the size of the heap, do not say where the proxy is.
            Some(own) if name == "JAVA_TOOL_OPTIONS" => *own = format!("{value} {own}"),
            Some(_) => {}
            None => drop(env.insert(name, value)),
        }
    }
}

/// Environment variables that tell tools about the proxy and the certificates to trust.
fn environment() -> BTreeMap<String, String> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let java = format!(
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={PORT} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={PORT} \
         -Daether.connector.http.useSystemProperties=true"
    );
    let own = "localhost,127.0.0.1,::1";
    let mut variables = vec![
        ("NO_PROXY", own),
        ("no_proxy", own),
        ("JAVA_TOOL_OPTIONS", &java),
        ("CARGO_NET_OFFLINE", "false"),
    ];
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "npm_config_proxy",
        "npm_config_https_proxy",
        "CARGO_HTTP_PROXY",
        "PIP_PROXY",
        "YARN_HTTP_PROXY",
        "YARN_HTTPS_PROXY",
    ] {
        variables.push((name, &proxy));
    }
    if let Some(bundle) = CERTIFICATES.into_iter().find(|path| Path::new(path).exists()) {
        for name in [
            "SSL_CERT_FILE",
            "NODE_EXTRA_CA_CERTS",
            "PIP_CERT",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "CARGO_HTTP_CAINFO",
            "YARN_HTTPS_CA_FILE_PATH",
            "npm_config_cafile",
        ] {
            variables.push((name, bundle));
        }
    }
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    variables.into_iter().map(owned).collect()
}

/// Starts the relay if the run has a network for it. Init calls this after it has given up all privileges, so the
/// relay has no more than the command will have.
pub(crate) fn start(spec: &Spec) -> anyhow::Result<()> {
    if !matches!(spec.network, Network::Registries(_)) || !spec.backend.has_namespaces() {
        return Ok(());
    }
    // The listener is bound here, so that the command can never find the port free or take it itself.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).context("listen for connections to the proxy")?;
    #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
    let mut relay = std::process::Command::new("/proc/self/exe")
        .args([wire::VERB, wire::RELAY])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("start the relay")?;
    let mut ready = [0];
    let count = relay.stdout.take().map_or(Ok(0), |mut pipe| pipe.read(&mut ready));
    ensure!(count.context("wait for the relay")? == 1, "the relay did not start");
    Ok(())
}

/// Forwards connections until it is killed with the rest of the sandbox.
pub(crate) fn main() -> io::Result<()> {
    close_fds::set_fds_cloexec(3, &[]);
    // The command has the same user and namespace, and must not be able to trace or see this process.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?
        .block_on(relay(listener))
}

async fn relay(listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // Interrupts are meant for the command.
    let _caught = signal(SignalKind::interrupt())?;
    io::stdout().write_all(b"r")?;
    io::stdout().flush()?;
    rustix::stdio::dup2_stdout(std::fs::File::options().write(true).open("/dev/null")?)?;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return Ok(());
        };
        let Ok((mut client, _)) = listener.accept().await else {
            // Descriptors may be used up; the next connection that ends frees some.
            tokio::task::yield_now().await;
            continue;
        };
        tokio::spawn(async move {
            if let Ok(mut proxy) = UnixStream::connect(SOCKET).await {
                // A broken connection is the client's problem.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut proxy).await;
            }
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_learns_of_the_proxy_besides_its_own_options() {
        let mut env = BTreeMap::from([
            ("JAVA_TOOL_OPTIONS".to_owned(), "-XX:MaxRAM=1".to_owned()),
            ("NO_PROXY".to_owned(), "own".to_owned()),
        ]);
        add_environment(&mut env);
        let java = &env["JAVA_TOOL_OPTIONS"];
        assert!(
            java.contains("-Dhttps.proxyPort=") && java.ends_with("-XX:MaxRAM=1"),
            "{java}"
        );
        assert_eq!(env["NO_PROXY"], "own");
        assert!(env.contains_key("HTTPS_PROXY"));
    }
}

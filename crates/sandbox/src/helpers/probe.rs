//! The self-test: runs inside like any command, tries what must not work, and prints what did. It is a smoke test for
//! the current machine, not a proof; this crate's tests are more thorough.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use crate::kernel::namespaces::unshare;
use crate::kernel::raw;

/// A protection that did not hold.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Breach {
    pub(crate) property: Property,
    /// What worked although it should not.
    pub(crate) what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Property {
    FileReads,
    FileWrites,
    Network,
    Processes,
    Secrets,
    SystemCalls,
}

/// Targets outside of the sandbox that the probe tries to reach.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Canaries {
    /// A file of the host that contains a secret.
    pub(crate) file: String,
    /// A listening TCP port on the host's loopback interface.
    pub(crate) port: u16,
    /// A listening abstract Unix socket.
    pub(crate) socket: String,
    /// Files with a secret in places where people unpack software or keep greenlight's own files.
    pub(crate) planted: Vec<String>,
    /// A process of greenlight, if it would have the same id inside.
    pub(crate) process: Option<u32>,
}

/// Prints the breaches as JSON.
pub(crate) fn main(mut arguments: impl Iterator<Item = String>) -> io::Result<()> {
    let canaries: Canaries = serde_json::from_str(&arguments.next().unwrap_or_default())?;
    let mut breaches = Vec::new();
    let mut expect_failure = |property, what: &str, worked: bool| {
        if worked {
            breaches.push(Breach {
                property,
                what: what.to_owned(),
            });
        }
    };
    expect_failure(
        Property::FileReads,
        "read a file of the host",
        fs::read(&canaries.file).is_ok(),
    );
    for path in &canaries.planted {
        expect_failure(Property::FileReads, &format!("read {path}"), fs::read(path).is_ok());
    }
    for path in [
        canaries.file.as_str(),
        "/usr/greenlight-probe",
        "/etc/greenlight-probe",
        "/greenlight-probe",
    ] {
        expect_failure(
            Property::FileWrites,
            path,
            File::options().create(true).append(true).open(path).is_ok(),
        );
    }
    for path in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/1/mem"] {
        expect_failure(
            Property::FileWrites,
            path,
            File::options().write(true).open(path).is_ok(),
        );
    }
    let changed = fs::set_permissions(&canaries.file, fs::Permissions::from_mode(0o600)).is_ok();
    expect_failure(
        Property::FileWrites,
        "change the permissions of a file of the host",
        changed,
    );
    let signalled = canaries.process.is_some_and(may_signal);
    expect_failure(Property::Processes, "send greenlight a signal", signalled);
    let address = SocketAddr::from(([127, 0, 0, 1], canaries.port));
    let connected = TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok();
    expect_failure(Property::Network, "connect to a port of the host", connected);
    let connected = UnixAddr::from_abstract_name(&canaries.socket).and_then(|name| UnixStream::connect_addr(&name));
    expect_failure(
        Property::Network,
        "connect to an abstract socket of the host",
        connected.is_ok(),
    );
    for (family, name) in [
        (17, "packet"),
        (31, "bluetooth"),
        (38, "alg"),
        (40, "vsock"),
        (44, "xdp"),
    ] {
        let socket = rustix::net::socket(AddressFamily::from_raw(family), SocketType::STREAM, None);
        let socket = socket.or_else(|_| rustix::net::socket(AddressFamily::from_raw(family), SocketType::RAW, None));
        expect_failure(Property::Network, &format!("make a {name} socket"), socket.is_ok());
    }
    expect_failure(Property::Network, "see another interface", sees_other_interfaces());
    expect_failure(Property::Processes, "see another process", sees_other_processes());
    expect_failure(
        Property::Secrets,
        "read the environment of another process",
        reads_foreign_environment(),
    );
    expect_failure(Property::SystemCalls, "make a user namespace", makes_user_namespace());
    expect_failure(
        Property::SystemCalls,
        "create contexts for asynchronous I/O (io_setup), whose number is limited for the whole machine",
        raw::takes_asynchronous_io(),
    );
    expect_failure(Property::SystemCalls, "use io_uring", raw::makes_io_uring());
    io::stdout().write_all(&serde_json::to_vec(&breaches)?)
}

fn sees_other_interfaces() -> bool {
    let list = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    // Tunnel interfaces that the kernel adds to every network namespace are down and lead nowhere.
    let mut names = list
        .lines()
        .skip(2)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim());
    names.any(|name| name.starts_with("eth") || name.starts_with("en") || name.starts_with("wl"))
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn may_signal(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok())
}

/// The only visible processes should be init and this one.
fn sees_other_processes() -> bool {
    processes().any(|process| process != 1 && process != std::process::id())
}

fn reads_foreign_environment() -> bool {
    let own: BTreeSet<Vec<u8>> = fs::read("/proc/self/environ")
        .unwrap_or_default()
        .split(|b| *b == 0)
        .map(<[u8]>::to_vec)
        .collect();
    processes().any(|process| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| !own.contains(variable))
    })
}

fn makes_user_namespace() -> bool {
    unshare(UnshareFlags::NEWUSER).is_ok()
}

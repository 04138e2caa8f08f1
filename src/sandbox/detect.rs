//! Finds out what this machine can hold by doing it: one run of the self-test with canaries outside.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::launch::Held;
use super::probe::{Breach, Canaries, Property};
use super::toolchains::Toolchains;
use super::{
    Access, Command, Guarantee, Guarantees, Inner, Limits, Mount, Network, Outcome, Output, Places, Policy, Sandbox,
    Unusable, container, helper,
};

/// Where the self-test finds the greenlight binary.
const BINARY: &str = "/run/greenlight";

/// The first backend that holds what has to be held.
pub(super) async fn best(places: &Places) -> Result<Sandbox, Unusable> {
    let mut first_complaint = None;
    for backend in Backend::ALL.into_iter().filter(|backend| *backend != Backend::None) {
        match try_out(backend, places).await {
            Ok(sandbox) => return Ok(sandbox),
            Err(complaint) => drop(first_complaint.get_or_insert(complaint)),
        }
    }
    // The others are there for machines where the preferred one cannot work.
    Err(first_complaint.unwrap_or_else(|| unusable("there is no sandbox to try")))
}

/// One backend, tried with the whole recipe.
pub(super) async fn try_out(backend: Backend, places: &Places) -> Result<Sandbox, Unusable> {
    let toolchains = match backend {
        Backend::None => Toolchains::outside(),
        _ => Toolchains::inside()?,
    };
    let engine = if backend.is_container() {
        Some(container::Engine::find(backend, places, &toolchains.links).await?)
    } else {
        None
    };
    let mut inner = Inner {
        backend,
        helper: places.helper.clone(),
        toolchains,
        guarantees: Guarantees::none(),
        engine,
    };
    if backend != Backend::None {
        inner.guarantees = guarantees(&inner).await.map_err(|unusable| match backend {
            Backend::Docker | Backend::Podman => container::explain(unusable),
            _ => unusable,
        })?;
    }
    if inner.engine.as_ref().is_some_and(|engine| !engine.limits_swap()) {
        inner.guarantees.memory = Guarantee::Partial;
    }
    Ok(Sandbox(Arc::new(inner)))
}

/// What was seen to hold.
async fn guarantees(inner: &Inner) -> Result<Guarantees, Unusable> {
    let (output, held) = try_it(inner).await.map_err(unusable)?;
    if output.outcome != Outcome::Exited(0) {
        let reason = match output.outcome {
            Outcome::DidNotStart(reason) => reason,
            outcome => format!("the self-test ended with {outcome:?}: {}", output.stderr.text()),
        };
        return Err(unusable(reason));
    }
    let breaches: Vec<Breach> = serde_json::from_slice(&output.stdout.head).map_err(unusable)?;
    judge(&breaches, held)
}

async fn try_it(inner: &Inner) -> Result<(Output, Held), super::Error> {
    let outside = tempfile::tempdir()?;
    let canary = outside.path().join("canary");
    fs::write(&canary, "a secret")?;
    let port = TcpListener::bind("127.0.0.1:0")?;
    let name = format!("greenlight-{}", ulid::Ulid::new());
    let _socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let canaries = Canaries {
        file: canary.display().to_string(),
        port: port.local_addr()?.port(),
        socket: name,
    };

    let workspace = tempfile::tempdir()?;
    let canaries = serde_json::to_string(&canaries).map_err(io::Error::from)?;
    let mut command = Command::new([BINARY, helper::VERB, helper::PROBE, &canaries], workspace.path());
    command.mounts.push(Mount {
        source: inner.helper.clone(),
        target: BINARY.into(),
        access: Access::ReadOnly,
    });
    let limits = Limits {
        wall: Duration::from_secs(20),
        ..Limits::default()
    };
    inner
        .exec(
            &command,
            &Policy {
                limits,
                network: Network::None,
            },
            &CancellationToken::new(),
        )
        .await
}

fn judge(breaches: &[Breach], held: Held) -> Result<Guarantees, Unusable> {
    let without_breach = |property| {
        if breaches.iter().any(|breach| breach.property == property) {
            Guarantee::None
        } else {
            Guarantee::Enforced
        }
    };
    // A user namespace counts the processes in it; without one, runs of the same lent user share their limit.
    let process_count = if held.counted || !held.lent {
        Guarantee::Enforced
    } else {
        Guarantee::Partial
    };
    let guarantees = Guarantees {
        file_reads: without_breach(Property::FileReads),
        file_writes: without_breach(Property::FileWrites),
        network: without_breach(Property::Network),
        processes: without_breach(Property::Processes),
        secrets: without_breach(Property::Secrets),
        separate_user: if held.lent {
            Guarantee::Enforced
        } else {
            Guarantee::None
        },
        memory: if held.counted {
            Guarantee::Enforced
        } else {
            Guarantee::Partial
        },
        process_count,
        disk: Guarantee::Partial,
        system_calls: without_breach(Property::SystemCalls),
        // The kernel ends a process namespace with its first process.
        tree_kill: Guarantee::Enforced,
    };
    match breaches.iter().find(|breach| breach.property != Property::SystemCalls) {
        Some(breach) => Err(unusable(format!("the self-test could {}", breach.what))),
        None => Ok(guarantees),
    }
}

fn unusable(reason: impl ToString) -> Unusable {
    Unusable {
        reason: reason.to_string(),
        remedy: remedy().to_owned(),
    }
}

/// Looks at the usual suspects.
fn remedy() -> &'static str {
    let setting = |path: &str| {
        fs::read_to_string(path)
            .map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    let is_container = ["/.dockerenv", "/run/.containerenv"]
        .iter()
        .any(|path| Path::new(path).exists());
    if is_container {
        "run greenlight on the host or in a virtual machine, or start its container with `--privileged`"
    } else if rustix::process::geteuid().is_root() {
        "run greenlight as root on the host or in a virtual machine with Linux 5.14 or newer"
    } else if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        "run greenlight as root, or `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    } else if setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
        "run greenlight as root, or `sudo sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if setting("/proc/sys/user/max_user_namespaces") == "0" {
        "run greenlight as root, or `sudo sysctl -w user.max_user_namespaces=10000`"
    } else {
        "run greenlight as root, or on a machine with Linux 5.14 or newer that allows user namespaces"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breach_makes_the_machine_unusable() {
        let held = Held {
            counted: true,
            lent: true,
        };
        assert_eq!(judge(&[], held).unwrap().network, Guarantee::Enforced);
        let breach = Breach {
            property: Property::Network,
            what: "connect to a port of the host".into(),
        };
        assert!(
            judge(&[breach], held)
                .unwrap_err()
                .to_string()
                .contains("connect to a port of the host")
        );
    }

    #[test]
    fn without_a_control_group_memory_is_only_watched() {
        let guarantees = judge(
            &[],
            Held {
                counted: false,
                lent: false,
            },
        )
        .unwrap();
        assert_eq!(
            (guarantees.memory, guarantees.separate_user),
            (Guarantee::Partial, Guarantee::None)
        );
    }
}

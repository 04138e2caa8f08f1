//! Finds out which properties a backend enforces on this machine: runs the self-test once, with canaries outside.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use tokio_util::sync::CancellationToken;

use crate::helpers::probe::{Breach, Canaries, Property};
use crate::host::fix_hint::{self, Machine};
use crate::host::launch::{Held, run_name};
use crate::host::toolchains::Toolchains;
use crate::kernel::scratch::Scratch;
use crate::spec::backend::Backend;
use crate::spec::choice::Places;
use crate::spec::command::{Access, Command, Limits, Mount, Network, Policy};
use crate::spec::error::Unusable;
use crate::spec::guarantees::{Guarantee, Guarantees};
use crate::spec::output::{Outcome, Output};
use crate::wire::Counted;
use crate::{Inner, Sandbox, container, wire};

/// The path of the greenlight binary during the self-test.
const BINARY: &str = "/run/greenlight";

/// The first backend that enforces all mandatory properties.
pub(crate) async fn best(places: &Places) -> Result<Sandbox, Unusable> {
    let mut first_complaint = None;
    for backend in Backend::ALL.into_iter().filter(|backend| *backend != Backend::None) {
        match try_out(backend, places).await {
            Ok(sandbox) => return Ok(sandbox),
            Err(complaint) => {
                tracing::info!(%backend, reason = %complaint.reason, remedy = %complaint.remedy, "this sandbox cannot be used here");
                first_complaint.get_or_insert(complaint);
            }
        }
    }
    // The other backends are for machines where the preferred one cannot work.
    Err(first_complaint.unwrap_or_else(|| unusable(Backend::Native, "there is no sandbox to try")))
}

/// One backend, tested with all its mechanisms.
pub(crate) async fn try_out(backend: Backend, places: &Places) -> Result<Sandbox, Unusable> {
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
        reachable: reachable(backend).map_err(|error| unusable(backend, &error.to_string()))?,
    };
    if backend != Backend::None {
        inner.guarantees = guarantees(&inner).await.map_err(|reason| unusable(backend, &reason))?;
    }
    if inner.engine.as_ref().is_some_and(|engine| !engine.limits_swap()) {
        inner.guarantees.memory = Guarantee::Partial;
    }
    Ok(Sandbox {
        inner: Arc::new(inner),
        watch: None,
    })
}

/// A directory for copies. Root's own directories are closed to the user that root runs commands as, unless they are
/// mounted elsewhere.
fn reachable(backend: Backend) -> io::Result<Option<Scratch>> {
    if backend == Backend::Landlock && rustix::process::geteuid().is_root() {
        Scratch::make(&run_name()).map(Some)
    } else {
        Ok(None)
    }
}

/// The properties that were found to hold, or why they are not sufficient.
async fn guarantees(inner: &Inner) -> Result<Guarantees, String> {
    let (breaches, held) = attack(inner, &[]).await?;
    judge(inner.backend, &breaches, held)
}

/// One run of the self-test, with additional files of the host that must not be readable inside.
///
/// # Errors
/// The self-test's message if it did not complete.
pub(crate) async fn attack(inner: &Inner, planted: &[PathBuf]) -> Result<(Vec<Breach>, Held), String> {
    let (output, held) = try_it(inner, planted).await.map_err(|error| error.to_string())?;
    if output.outcome != Outcome::Exited(0) {
        let said = output.stderr.text();
        return Err(match output.outcome {
            Outcome::DidNotStart(reason) if said.is_empty() => reason,
            Outcome::DidNotStart(reason) => format!("{reason}: {}", said.trim()),
            outcome => format!("the self-test {outcome}: {}", said.trim()),
        });
    }
    let breaches = serde_json::from_slice(&output.stdout.head).map_err(|error| error.to_string())?;
    Ok((breaches, held))
}

async fn try_it(inner: &Inner, planted: &[PathBuf]) -> Result<(Output, Held), crate::spec::error::Error> {
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
        planted: planted.iter().map(|path| path.display().to_string()).collect(),
        process: (!inner.backend.has_namespaces()).then(std::process::id),
    };

    let workspace = tempfile::tempdir()?;
    let canaries = serde_json::to_string(&canaries).map_err(io::Error::from)?;
    let binary = if inner.backend.has_namespaces() {
        BINARY.into()
    } else {
        inner.helper.clone()
    };
    let program = binary.display().to_string();
    let mut command = Command::new([&program, wire::VERB, wire::PROBE, &canaries], workspace.path());
    command.mounts.push(Mount {
        source: inner.helper.clone(),
        target: binary,
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

fn judge(backend: Backend, breaches: &[Breach], held: Held) -> Result<Guarantees, String> {
    let without_breach = |property| {
        if breaches.iter().any(|breach| breach.property == property) {
            Guarantee::None
        } else {
            Guarantee::Enforced
        }
    };
    // A user namespace counts its own processes. Without one, runs with the same user share their limit.
    let process_count = if held.counted != Counted::Nothing
        || (!held.lent && backend.has_namespaces())
        || backend == Backend::Bubblewrap
    {
        Guarantee::Enforced
    } else {
        Guarantee::Partial
    };
    let guarantees = Guarantees {
        file_reads: without_breach(Property::FileReads),
        file_writes: without_breach(Property::FileWrites),
        network: without_breach(Property::Network),
        processes: match backend {
            // `kill` reveals whether a process id exists.
            Backend::Landlock => without_breach(Property::Processes).min(Guarantee::Partial),
            _ => without_breach(Property::Processes),
        },
        secrets: without_breach(Property::Secrets),
        separate_user: if held.lent {
            Guarantee::Enforced
        } else {
            Guarantee::None
        },
        memory: if held.counted == Counted::Everything {
            Guarantee::Enforced
        } else {
            Guarantee::Partial
        },
        process_count,
        disk: Guarantee::Partial,
        system_calls: without_breach(Property::SystemCalls),
        // The kernel ends a process namespace with its first process. Without one, every process of the run remains a
        // descendant of a process that it can neither signal nor escape.
        tree_kill: Guarantee::Enforced,
    };
    match breaches.iter().find(|breach| breach.property != Property::SystemCalls) {
        Some(breach) => Err(format!("the self-test could {}", breach.what)),
        None => Ok(guarantees),
    }
}

fn unusable(backend: Backend, reason: &str) -> Unusable {
    Unusable {
        reason: reason.to_owned(),
        remedy: fix_hint::of(backend, &Machine::look()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breach_makes_the_machine_unusable() {
        let held = Held {
            counted: Counted::Everything,
            lent: true,
        };
        assert_eq!(judge(Backend::Native, &[], held).unwrap().network, Guarantee::Enforced);
        let breach = Breach {
            property: Property::Network,
            what: "connect to a port of the host".into(),
        };
        assert!(
            judge(Backend::Native, &[breach], held)
                .unwrap_err()
                .to_string()
                .contains("connect to a port of the host")
        );
    }

    #[test]
    fn without_a_control_group_memory_is_only_watched() {
        let guarantees = judge(
            Backend::Native,
            &[],
            Held {
                counted: Counted::Nothing,
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

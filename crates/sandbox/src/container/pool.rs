//! A pool of containers. A container is created for a run, kept for the next run with the same workspace and policy,
//! and ended when dropped.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::query_parameters::{CreateContainerOptions, RemoveContainerOptions};
use tokio::net::UnixListener;
use tokio::time::timeout;

use super::mounts::{self, Prepared};
use super::{create, io_error, supervision};
use crate::spec::command::{Limits, Mount, Network};
use crate::wire::{Identity, Spec};

/// How long a container waits for its next command.
const IDLE: Duration = Duration::from_secs(5);

/// How many containers may wait at the same time.
const MOST_IDLE: usize = 4;

/// How long init of a started container may take to connect.
const CALL: Duration = Duration::from_secs(10);

/// A container used by one run. Dropping it ends the container.
pub(crate) struct Lease {
    container: Container,
    idle: Arc<Mutex<Vec<Idle>>>,
}

/// A container that waits for a command.
#[derive(Debug)]
struct Idle {
    container: Container,
    since: Instant,
}

/// A running container with init in it. It ends with the connection.
#[derive(Debug)]
struct Container {
    connection: UnixStream,
    key: Key,
    name: String,
    docker: Docker,
}

/// What must be equal for two runs to share a container.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    workspace: PathBuf,
    mounts: Vec<Mount>,
    limits: Limits,
    network: Network,
    /// The device, inode and owner of each mount's source.
    inodes: Vec<(u64, u64, u32)>,
}

/// Containers that wait for their next command.
#[derive(Debug, Default)]
pub(super) struct Pool(Arc<Mutex<Vec<Idle>>>);

impl Pool {
    /// A container for a run, with init waiting in it.
    ///
    /// # Errors
    /// When the engine cannot create one, or init does not connect.
    pub(super) async fn take(&self, (docker, image): (&Docker, &str), spec: &Spec, helper: &Path) -> io::Result<Lease> {
        let lease = |container| Lease {
            container,
            idle: Arc::clone(&self.0),
        };
        if let Some(container) = self.waiting(&Key::of(spec)?) {
            return Ok(lease(container));
        }
        let (docker, image) = (docker.clone(), image.to_owned());
        let (spec, helper) = (spec.clone(), helper.to_owned());
        // A separate task always completes, so that the container can be ended even if nobody waits for it any more.
        let making = tokio::spawn(async move { make(docker, image, spec, helper).await });
        Ok(lease(making.await.map_err(io::Error::other)??))
    }

    fn waiting(&self, key: &Key) -> Option<Container> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|idle| idle.container.key == *key)?;
        Some(idle.swap_remove(place).container)
    }
}

impl Lease {
    /// Returns the container to the pool. It must be in its initial state.
    pub(crate) fn give_back(self) {
        // A relay to the network may keep state.
        if matches!(self.container.key.network, Network::Registries(_)) {
            return;
        }
        let waiting = Arc::downgrade(&self.idle);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MOST_IDLE {
            drop(idle.remove(0));
        }
        idle.push(Idle {
            container: self.container,
            since: Instant::now(),
        });
        drop(idle);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            if let Some(idle) = waiting.upgrade() {
                let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
                idle.retain(|idle| idle.since.elapsed() < IDLE);
            }
        });
    }
}

impl AsFd for Lease {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.container.connection.as_fd()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Shuts down every copy of the socket. Init then exits, and the engine removes the stopped container.
        let _ = self.connection.shutdown(Shutdown::Both);
        let (docker, name) = (self.docker.clone(), std::mem::take(&mut self.name));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&docker, &name).await });
        }
    }
}

impl Key {
    fn of(spec: &Spec) -> io::Result<Self> {
        Ok(Self {
            workspace: spec.workspace.clone(),
            mounts: spec.mounts.clone(),
            limits: Limits {
                // The supervisor enforces these limits from outside.
                wall: Duration::ZERO,
                disk: 0,
                output: 0,
                ..spec.limits.clone()
            },
            network: spec.network.clone(),
            inodes: mounts::inodes(spec)?,
        })
    }
}

async fn make(docker: Docker, image: String, spec: Spec, helper: PathBuf) -> io::Result<Container> {
    let (spec, key, user, prepared) = tokio::task::spawn_blocking(move || prepare(spec, &helper))
        .await
        .map_err(io::Error::other)??;
    let body = create::body(&spec, &prepared.mounts, user, &image, &prepared.seccomp);
    let name = spec.name;
    let options = CreateContainerOptions {
        name: Some(name.clone()),
        ..CreateContainerOptions::default()
    };
    let called = async {
        let id = docker
            .create_container(Some(options), body)
            .await
            .map_err(|error| io_error(&error))?
            .id;
        docker
            .start_container(&id, None)
            .await
            .map_err(|error| io_error(&error))?;
        answer(&prepared, &id).await
    };
    match called.await {
        Ok(connection) => {
            // The socket accepts no further connection from here on, not even through a copy of its descriptor in a
            // process that is about to be started.
            rustix::net::shutdown(&prepared.listener, rustix::net::Shutdown::Both)?;
            prepared.remove()?;
            Ok(Container {
                connection,
                key,
                name,
                docker,
            })
        }
        Err(error) => {
            remove(&docker, &name).await;
            Err(error)
        }
    }
}

fn prepare(spec: Spec, helper: &Path) -> io::Result<(Spec, Key, (u32, u32), Prepared)> {
    static CONTAINERS: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id().wrapping_add(CONTAINERS.fetch_add(1, Ordering::Relaxed));
    let identity = Identity::choose_by(&spec, number).map_err(|error| io::Error::other(format!("{error:#}")))?;
    let user = supervision::user(identity);
    if user.0 == 0 {
        return Err(io::Error::other(
            "there is no user to run a container as; run greenlight as an ordinary user, or as root of the whole machine",
        ));
    }
    let key = Key::of(&spec)?;
    let prepared = Prepared::new(&spec, helper, user)?;
    Ok((spec, key, user, prepared))
}

/// Accepts init's connection, and checks that it comes from this container.
async fn answer(prepared: &Prepared, id: &str) -> io::Result<UnixStream> {
    let listener = prepared.listener.try_clone()?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let late = |_| io::Error::other("the container's first process does not connect; is the engine on this machine?");
    let (connection, _) = timeout(CALL, listener.accept()).await.map_err(late)??;
    let connection = connection.into_std()?;
    connection.set_nonblocking(false)?;
    let caller = rustix::net::sockopt::socket_peercred(&connection)?.pid;
    let groups = std::fs::read_to_string(format!("/proc/{}/cgroup", caller.as_raw_pid()))?;
    if groups.contains(id) {
        Ok(connection)
    } else {
        Err(io::Error::other(
            "another process connected instead of the container's first process",
        ))
    }
}

/// Ends and removes a container, which may already be gone.
pub(super) async fn remove(docker: &Docker, id: &str) {
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        link: false,
    };
    if let Err(error) = docker.remove_container(id, Some(options)).await {
        tracing::debug!(id, %error, "a container was not removed");
    }
}

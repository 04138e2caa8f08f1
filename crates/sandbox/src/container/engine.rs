//! Finds a container engine, and checks whether it supports what is needed.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::models::SystemInfo;
use bollard::query_parameters::{CreateImageOptions, ListContainersOptions};
use bollard::{API_DEFAULT_VERSION, Docker};
use futures::TryStreamExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::create;
use super::image::Image;
use super::pool::{self, Lease, Pool};
use crate::kernel::cgroup;
use crate::spec::backend::Backend;
use crate::spec::choice::Places;
use crate::spec::error::Unusable;
use crate::wire::Spec;

/// How long an engine may take to answer one request.
const PATIENCE: Duration = Duration::from_secs(30);

/// A container engine on this machine.
#[derive(Debug)]
pub(crate) struct Engine {
    docker: Docker,
    /// The empty image that all containers start from.
    image: String,
    limits_swap: bool,
    pool: Pool,
}

impl Engine {
    /// Finds the engine, refuses one that lacks a required feature, removes containers of a killed greenlight, and
    /// imports the empty image.
    pub(crate) async fn find(
        backend: Backend,
        places: &Places,
        links: &BTreeMap<PathBuf, PathBuf>,
    ) -> Result<Self, Unusable> {
        let docker = connect(backend, places.container_socket.as_deref()).await?;
        let info = docker.info().await.map_err(|error| broken(backend, &error))?;
        check(backend, &info)?;
        remove_orphans(&docker).await.map_err(|error| broken(backend, &error))?;
        let image = import(&docker, links).await.map_err(|error| broken(backend, &error))?;
        Ok(Self {
            docker,
            image,
            limits_swap: info.swap_limit == Some(true),
            pool: Pool::default(),
        })
    }

    /// A container for a run, with init waiting in it.
    ///
    /// # Errors
    /// When the engine cannot create one, or init does not call back.
    pub(crate) async fn take(&self, spec: &Spec, helper: &Path) -> io::Result<Lease> {
        self.pool.take((&self.docker, &self.image), spec, helper).await
    }

    /// Whether swapped memory counts as memory, too.
    pub(crate) fn limits_swap(&self) -> bool {
        self.limits_swap
    }
}

fn usual_sockets(backend: Backend) -> Vec<PathBuf> {
    let own = PathBuf::from(format!("/run/user/{}", rustix::process::getuid().as_raw()));
    match backend {
        Backend::Podman => vec!["/run/podman/podman.sock".into(), own.join("podman/podman.sock")],
        _ => vec!["/var/run/docker.sock".into(), own.join("docker.sock")],
    }
}

async fn connect(backend: Backend, named: Option<&Path>) -> Result<Docker, Unusable> {
    let sockets = named.map_or_else(|| usual_sockets(backend), |socket| vec![socket.to_owned()]);
    let mut complaint = Unusable {
        reason: format!("no {backend} engine is running here"),
        remedy: match backend {
            Backend::Podman => "install Podman and run `podman system service --time=0`, or name its socket".into(),
            _ => "install Docker (on Debian `apt-get install docker.io`) and start it, or name its socket".into(),
        },
    };
    for socket in &sockets {
        match UnixStream::connect(socket).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => continue,
            Err(error) => {
                complaint = Unusable {
                    reason: format!("cannot connect to {}: {error}", socket.display()),
                    remedy: if error.kind() == io::ErrorKind::PermissionDenied {
                        "add this user to the group that owns the socket, which makes it as powerful as root".into()
                    } else {
                        "start the engine, or name another socket".into()
                    },
                };
                continue;
            }
        }
        match greet(socket, backend).await {
            Ok(docker) => return Ok(docker),
            Err(error) => complaint = error,
        }
    }
    Err(complaint)
}

/// Negotiates an API version, and checks which engine it is.
async fn greet(socket: &Path, backend: Backend) -> Result<Docker, Unusable> {
    let greeting = async {
        let path = socket.display().to_string();
        let docker = Docker::connect_with_unix(&path, PATIENCE.as_secs(), API_DEFAULT_VERSION)?;
        let docker = docker.negotiate_version().await?;
        let version = docker.version().await?;
        Ok((docker, version))
    };
    let (docker, version) = greeting
        .await
        .map_err(|error: bollard::errors::Error| broken(backend, &error))?;
    let is_podman = version
        .components
        .iter()
        .flatten()
        .any(|component| component.name.starts_with("Podman"));
    if is_podman == (backend == Backend::Podman) {
        Ok(docker)
    } else {
        let other = if is_podman { Backend::Podman } else { Backend::Docker };
        Err(Unusable {
            reason: format!("{} belongs to {other}", socket.display()),
            remedy: format!("choose {other}, or name another socket"),
        })
    }
}

/// Checks for features that no self-test inside can detect.
fn check(backend: Backend, info: &SystemInfo) -> Result<(), Unusable> {
    let security = info.security_options.as_deref().unwrap_or_default();
    let has = |name: &str| {
        security.iter().any(|option| {
            option
                .split(',')
                .any(|part| part == name || part == format!("name={name}"))
        })
    };
    let system = info.os_type.as_deref().unwrap_or_default();
    let missing = if system != "linux" {
        Some((format!("runs containers of {system}"), "use an engine on Linux"))
    } else if !has("seccomp") {
        Some((
            "cannot filter system calls".into(),
            "use an engine that was built with seccomp, on a kernel with CONFIG_SECCOMP",
        ))
    } else if info.memory_limit != Some(true) {
        Some((
            "cannot limit memory".into(),
            "give it the cgroup controller `memory`; without root that takes cgroup 2 and delegation by systemd",
        ))
    } else if info.pids_limit != Some(true) {
        Some((
            "cannot limit processes".into(),
            "give it the cgroup controller `pids`; without root that takes cgroup 2 and delegation by systemd",
        ))
    } else if has("userns") || (has("rootless") && backend == Backend::Docker) {
        Some((
            "maps user ids, so that nobody inside would own the workspace".into(),
            "use an engine without `userns-remap` that runs as root",
        ))
    } else {
        None
    };
    match missing {
        Some((reason, remedy)) => Err(Unusable {
            reason: format!("{backend} {reason}"),
            remedy: remedy.to_owned(),
        }),
        None => Ok(()),
    }
}

/// Removes containers whose greenlight is dead. Normally they ended with it.
async fn remove_orphans(docker: &Docker) -> Result<(), bollard::errors::Error> {
    let filters = HashMap::from([(
        "label".to_owned(),
        vec![format!("{}={}", create::NAMESPACE, create::namespace())],
    )]);
    let options = ListContainersOptions {
        all: true,
        filters: Some(filters),
        ..ListContainersOptions::default()
    };
    for container in docker.list_containers(Some(options)).await? {
        let run = container.labels.as_ref().and_then(|labels| labels.get(create::RUN));
        if let Some(id) = container.id.filter(|_| run.is_some_and(|run| cgroup::is_orphan(run))) {
            pool::remove(docker, &id).await;
        }
    }
    Ok(())
}

/// Imports the empty image unless it already exists.
async fn import(docker: &Docker, links: &BTreeMap<PathBuf, PathBuf>) -> io::Result<String> {
    let image = Image::with(links)?;
    let name = image.name;
    if docker.inspect_image(&name).await.is_ok() {
        return Ok(name);
    }
    let options = CreateImageOptions {
        from_src: Some("-".into()),
        // Podman ignores a tag without a repository.
        repo: Some(name.clone()),
        ..CreateImageOptions::default()
    };
    let body = bollard::body_full(image.archive.into());
    let progress = docker.create_image(Some(options), Some(body), None);
    let imported = timeout(PATIENCE, progress.try_for_each(|_| async { Ok(()) })).await?;
    imported.map_err(io::Error::other)?;
    Ok(name)
}

fn broken(backend: Backend, error: &dyn std::error::Error) -> Unusable {
    let mut reason = format!("{backend} says: {error}");
    let mut source = error.source();
    while let Some(deeper) = source {
        reason = format!("{reason}: {deeper}");
        source = deeper.source();
    }
    Unusable {
        reason,
        remedy: "check the engine's log, and whether `docker info` works".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lacks(change: impl FnOnce(&mut SystemInfo), expected: Option<&str>) {
        let mut info = SystemInfo {
            os_type: Some("linux".into()),
            security_options: Some(vec!["name=seccomp,profile=default".into()]),
            memory_limit: Some(true),
            pids_limit: Some(true),
            ..SystemInfo::default()
        };
        change(&mut info);
        let complaint = check(Backend::Docker, &info).err().map(|unusable| unusable.reason);
        match (&complaint, expected) {
            (None, None) => {}
            (Some(complaint), Some(expected)) if complaint.contains(expected) => {}
            _ => panic!("{complaint:?}"),
        }
    }

    #[test]
    fn an_engine_that_lacks_something_is_refused() {
        lacks(|_| {}, None);
        lacks(|info| info.os_type = Some("windows".into()), Some("windows"));
        lacks(|info| info.security_options = None, Some("system calls"));
        lacks(|info| info.memory_limit = Some(false), Some("memory"));
        lacks(|info| info.pids_limit = None, Some("processes"));
        for option in ["name=userns", "name=rootless"] {
            let add = |info: &mut SystemInfo| info.security_options.as_mut().unwrap().push(option.into());
            lacks(add, Some("maps user ids"));
        }
    }
}

//! Runs untrusted commands on Linux, confined and within limits.
//!
//! A run consists of three processes. The host program starts itself again as the **supervisor**
//! (`helpers/supervisor.rs`). It has an empty environment and no inherited descriptors, enforces the time limit and
//! other limits, and never shares a process or mount namespace with the command. The supervisor starts **init**
//! (`helpers/init.rs`), process 1 of fresh namespaces, which builds the file system, gives up all privileges, and
//! starts the **command**. If any of the three or the host program dies, the command dies, with everything it
//! started.
//!
//! So `main` of every program that uses a [`Sandbox`] must begin with [`helpers::is_wanted`].
//!
//! The path of a file shows on which side of the wall it runs: `spec/` is what a caller says, `host/` the caller's
//! side, `helpers/` the started processes, `kernel/` mechanisms for any of them, and `wire.rs` the messages between
//! them. `container/`, `session/` and `proxy` have parts on both sides, as their docs explain.
//!
//! The caller decides what to run and whether it may run, and interprets the output.

#![warn(missing_docs)]

mod container;
pub mod helpers;
mod host;
mod kernel;
pub mod proxy;
mod session;
mod spec;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use helpers::relay;
pub use host::open::open_link;
pub use host::seal::take_back;
use host::toolchains::Toolchains;
use host::{detect, toolchains};
use kernel::scratch::Scratch;
use kernel::{cgroup, scratch};
use proxy::{Proxy, World};
pub use session::{Cell, CellCall, CellOutcome, Language, LostReason, Session, SessionPaths, Spent};
pub use spec::backend::Backend;
pub use spec::choice::{Choice, Places};
pub use spec::command::{Access, Changes, Command, Limits, Mount, Network, Policy, WORKSPACE};
pub use spec::error::{Error, Unusable};
pub use spec::guarantees::{Guarantee, Guarantees, Property};
pub use spec::output::{Captured, Outcome, Output};
pub use spec::trust::Code;
pub use spec::watch::{EndOfUse, Ended, Use, UseWatch};
use tokio_util::sync::CancellationToken;

/// Runs commands on this machine; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
    watch: Option<UseWatch>,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    /// The path of the greenlight binary.
    helper: PathBuf,
    toolchains: Toolchains,
    guarantees: Guarantees,
    /// The container engine, if the backend uses one.
    engine: Option<container::Engine>,
    /// Where copies are made that another user must be able to reach by path.
    reachable: Option<Scratch>,
}

impl Sandbox {
    /// Runs the self-test once with all mechanisms, and records which properties hold.
    ///
    /// Also removes what a killed greenlight left behind. The path of the greenlight binary suffices for `places`.
    ///
    /// # Errors
    /// When the machine cannot confine commands in this way, with a remedy. Nothing weaker than the choice is used
    /// instead.
    pub async fn detect(choice: Choice, places: impl Into<Places>) -> Result<Self, Unusable> {
        let places = places.into();
        cgroup::remove_orphans();
        scratch::remove_orphans();
        match choice {
            Choice::Auto => detect::best(&places).await,
            Choice::Only(backend) => detect::try_out(backend, &places).await,
        }
    }

    /// Tries every backend, and reports its guarantees here, or why it cannot be used.
    pub async fn survey(places: impl Into<Places>) -> Vec<(Backend, Result<Self, Unusable>)> {
        let places = places.into();
        let mut found = Vec::new();
        for backend in Backend::ALL {
            found.push((backend, detect::try_out(backend, &places).await));
        }
        found
    }

    /// The same sandbox, whose every use is shown to `watch`.
    #[must_use]
    pub fn watched(self, watch: UseWatch) -> Self {
        Self {
            watch: Some(watch),
            ..self
        }
    }

    /// Repeats the attacks from inside, and lists those that succeeded. It also tries to read the `planted` files,
    /// which must have existed before this sandbox was detected.
    ///
    /// # Errors
    /// When the self-test did not complete, with its message.
    pub async fn attack(&self, planted: &[PathBuf]) -> Result<Vec<String>, String> {
        let (breaches, _) = detect::attack(&self.inner, planted).await?;
        Ok(breaches.into_iter().map(|breach| breach.what).collect())
    }

    /// How commands are confined.
    pub fn backend(&self) -> Backend {
        self.inner.backend
    }

    /// The properties that were found to hold on this machine.
    pub fn guarantees(&self) -> &Guarantees {
        &self.inner.guarantees
    }

    /// The directory for copies of a tree that this sandbox works in: `preferred`, unless its commands could not
    /// reach it.
    pub fn workspaces(&self, preferred: &Path) -> PathBuf {
        let reachable = self.inner.reachable.as_ref();
        reachable.map_or_else(|| preferred.to_owned(), |scratch| scratch.path().to_owned())
    }

    /// Whether untrusted code can read this file or directory of the host. Keys must not be stored in one.
    pub fn shows(&self, path: &Path) -> bool {
        self.inner.backend == Backend::None || self.inner.toolchains.shows(path)
    }

    /// The directories in which the sandbox looks up programs, in the format of `PATH`.
    pub fn search_path(&self) -> &str {
        self.inner.toolchains.env.get("PATH").map_or("", String::as_str)
    }

    /// The configuration files of package tools for this machine and user, and where the tools look for them inside.
    /// A sandbox does not show them by default, because they may contain credentials.
    pub fn settings_of_tools(&self) -> Vec<(PathBuf, PathBuf)> {
        toolchains::settings(&self.inner.toolchains.home)
    }

    /// Runs one command to its end. When this returns, none of its processes is left.
    ///
    /// A limit that is reached, a cancellation, and a command that cannot be started are outcomes, not errors.
    /// Dropping the future cancels the run.
    ///
    /// # Errors
    /// When the request is invalid, or greenlight's own processes fail.
    pub async fn exec(&self, command: &Command, policy: &Policy, cancel: &CancellationToken) -> Result<Output, Error> {
        if let Network::Registries(hosts) = &policy.network {
            let proxy = Proxy::start(hosts, World::internet())?;
            return self.exec_through(&proxy, command, policy, cancel).await;
        }
        self.run(command, policy, cancel).await
    }

    /// The same with network access through a proxy, no matter what the policy says about the network. Environment
    /// variables tell tools where the proxy is and which certificates to trust. A tool that ignores them has no
    /// network.
    ///
    /// # Errors
    /// Those of [`exec`](Self::exec), and when the sandbox has no separate network that could contain a proxy.
    pub async fn exec_through(
        &self,
        proxy: &Proxy,
        command: &Command,
        policy: &Policy,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        let (mut command, mut policy) = (command.clone(), policy.clone());
        policy.network = Network::Registries(proxy.hosts());
        match self.backend() {
            Backend::Landlock => {
                let why = "the landlock sandbox has no separate network, so nothing can be downloaded in it; use \
                           another one";
                return Err(Error::InvalidCommand(why.into()));
            }
            // Without confinement, the command has the network of this machine anyway.
            Backend::None => {}
            _ => {
                relay::add_environment(&mut command.env);
                command.mounts.push(Mount {
                    source: proxy.socket(),
                    target: relay::SOCKET.into(),
                    access: Access::ReadOnly,
                });
            }
        }
        self.run(&command, &policy, cancel).await
    }

    async fn run(&self, command: &Command, policy: &Policy, cancel: &CancellationToken) -> Result<Output, Error> {
        let in_use = self.watch.as_ref().map(|watch| watch.begin(Use::Command));
        let ran = self.inner.exec(command, policy, cancel).await;
        if let Some(in_use) = in_use {
            in_use(
                ran.as_ref()
                    .map_or(EndOfUse::Failed, |(output, _)| EndOfUse::Command(output)),
            );
        }
        Ok(ran?.0)
    }
}

/// Makes greenlight's memory and environment unreadable for other processes of the same user.
///
/// # Errors
/// When the kernel refuses, which should never happen.
pub fn harden_self() -> std::io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::NotDumpable,
    )?)
}

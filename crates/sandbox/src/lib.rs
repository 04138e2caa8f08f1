//! Runs untrusted commands on Linux, confined and bounded.
//!
//! A run is three processes. The host program starts itself again as the **supervisor** (`helpers/supervisor.rs`), which
//! has an empty environment and no inherited descriptors, holds the clock and the other limits, and never shares a
//! namespace of processes or files with the command. The supervisor starts **init** (`helpers/init.rs`), process 1 of
//! fresh namespaces, which builds the file system, gives up every right, and starts the **command**. The death of any
//! of the three, or of the host program, is the death of the command and all it started.
//!
//! So `main` of every program that uses a [`Sandbox`] has to begin with [`helpers::is_wanted`].
//!
//! The path of a file tells on which side of the wall it runs: `spec/` has what a caller says, `host/` the caller's side,
//! `helpers/` the processes that are started, `kernel/` mechanisms for any of them, and `wire.rs` what they say to each
//! other. `container/`, `session/` and `proxy` have parts on both sides, and say so.
//!
//! Not in here: what to run, what its output means, and whether it may run at all.

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
use tokio_util::sync::CancellationToken;

/// How to run commands on this machine; a handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    backend: Backend,
    /// The greenlight binary.
    helper: PathBuf,
    toolchains: Toolchains,
    guarantees: Guarantees,
    /// The engine of containers, where they confine.
    engine: Option<container::Engine>,
    /// Where copies go that another user has to reach by name.
    reachable: Option<Scratch>,
}

impl Sandbox {
    /// Tries the full recipe once, with canaries, and remembers what it was seen to hold.
    ///
    /// Also removes what a killed greenlight left behind. The path of the greenlight binary alone will do for places.
    ///
    /// # Errors
    /// When the machine cannot confine so, with the remedy. Nothing weaker than what was chosen is tried instead.
    pub async fn detect(choice: Choice, places: impl Into<Places>) -> Result<Self, Unusable> {
        let places = places.into();
        cgroup::remove_orphans();
        scratch::remove_orphans();
        match choice {
            Choice::Auto => detect::best(&places).await,
            Choice::Only(backend) => detect::try_out(backend, &places).await,
        }
    }

    /// Tries every backend, and says what each holds here or why it cannot be used.
    pub async fn survey(places: impl Into<Places>) -> Vec<(Backend, Result<Self, Unusable>)> {
        let places = places.into();
        let mut found = Vec::new();
        for backend in Backend::ALL {
            found.push((backend, detect::try_out(backend, &places).await));
        }
        found
    }

    /// Attacks once more from inside, and says what worked that should not. It also tries to read these files, which
    /// must have been there before this sandbox was found.
    ///
    /// # Errors
    /// When the self-test did not get to its end, in its words.
    pub async fn attack(&self, planted: &[PathBuf]) -> Result<Vec<String>, String> {
        let (breaches, _) = detect::attack(&self.0, planted).await?;
        Ok(breaches.into_iter().map(|breach| breach.what).collect())
    }

    /// How commands are confined.
    pub fn backend(&self) -> Backend {
        self.0.backend
    }

    /// What was seen to hold on this machine.
    pub fn guarantees(&self) -> &Guarantees {
        &self.0.guarantees
    }

    /// Where copies of a tree are made for this sandbox to work in: there, unless its commands could not reach them.
    pub fn workspaces(&self, preferred: &Path) -> PathBuf {
        let reachable = self.0.reachable.as_ref();
        reachable.map_or_else(|| preferred.to_owned(), |scratch| scratch.path().to_owned())
    }

    /// Whether untrusted code can read this file or directory of the host, so that no key is kept there.
    pub fn shows(&self, path: &Path) -> bool {
        self.0.backend == Backend::None || self.0.toolchains.shows(path)
    }

    /// The directories in which programs are looked up inside, as `PATH` lists them.
    pub fn search_path(&self) -> &str {
        self.0.toolchains.env.get("PATH").map_or("", String::as_str)
    }

    /// Files of this machine and user in which package tools are configured, and where they look for them inside. A
    /// sandbox never shows them alone: they may hold credentials.
    pub fn settings_of_tools(&self) -> Vec<(PathBuf, PathBuf)> {
        toolchains::settings(&self.0.toolchains.home)
    }

    /// Runs one command to its end and returns what came of it; when it returns, none of its processes is left.
    ///
    /// A limit that is reached, a cancellation, and a command that cannot be started are outcomes, not errors.
    /// Dropping the future cancels the run.
    ///
    /// # Errors
    /// When the request makes no sense, or greenlight's own processes fail.
    pub async fn exec(&self, command: &Command, policy: &Policy, cancel: &CancellationToken) -> Result<Output, Error> {
        if let Network::Registries(hosts) = &policy.network {
            let proxy = Proxy::start(hosts, World::internet())?;
            return self.exec_through(&proxy, command, policy, cancel).await;
        }
        Ok(self.0.exec(command, policy, cancel).await?.0)
    }

    /// The same with the network that a proxy gives, no matter what the policy says of it. Tools are told by their
    /// environment where the proxy is and which certificates to trust; anyone who does not listen finds no network.
    ///
    /// # Errors
    /// As of [`exec`](Self::exec), and when the sandbox has no separate network that a proxy could be put in.
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
            // Anyone who asked for no confinement has the network of this machine.
            Backend::None => {}
            _ => {
                for (name, value) in relay::environment() {
                    command.env.entry(name).or_insert(value);
                }
                command.mounts.push(Mount {
                    source: proxy.socket(),
                    target: relay::SOCKET.into(),
                    access: Access::ReadOnly,
                });
            }
        }
        Ok(self.0.exec(&command, &policy, cancel).await?.0)
    }
}

/// Makes greenlight's memory and environment unreadable for other processes of the same user.
///
/// # Errors
/// When the kernel refuses, which it has no reason to.
pub fn harden_self() -> std::io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::NotDumpable,
    )?)
}

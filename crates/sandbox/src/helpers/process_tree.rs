//! The processes of one run, from the supervisor's side: starts the first of them in its namespaces, and ends all of
//! them. What the first process does is defined in `init`.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use anyhow::Context;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::thread::UnshareFlags;

use crate::helpers::init;
use crate::kernel::namespaces::unshare;
use crate::kernel::{fd_passing, raw, subreaper};
use crate::spec::backend::Backend;
use crate::wire::{Identity, Spec, SupervisorMessage, write_frame};
use crate::{container, wire};

/// Everything that a run started.
pub(crate) struct Tree {
    backend: Backend,
    init: Init,
}

/// Process 1 of the run.
enum Init {
    /// A fork of this process.
    Copy(Pid),
    Child(Child),
    /// A process started by the container engine.
    Contained(container::ContainerProcess),
}

/// Prepares what must be done before the orders are written.
pub(crate) fn prepare(spec: &Spec, identity: Identity) -> anyhow::Result<()> {
    if let (Backend::Native, Identity::Own { uid, gid }) = (spec.backend, identity) {
        // This lets an ordinary user make the other namespaces.
        unshare(UnshareFlags::NEWUSER).context("make a user namespace")?;
        // Without this, the kernel does not let an ordinary user map a group.
        fs::write("/proc/self/setgroups", "deny").context("give up supplementary groups")?;
        fs::write("/proc/self/gid_map", format!("0 {gid} 1")).context("map the group")?;
        fs::write("/proc/self/uid_map", format!("0 {uid} 1")).context("map the user")?;
    }
    Ok(())
}

impl Tree {
    /// Starts init with this process's output streams; it reads its orders from this socket. Then closes the streams
    /// here, so that their end can be seen.
    pub(crate) fn start(spec: &Spec, control: UnixStream) -> anyhow::Result<Self> {
        if spec.backend == Backend::Native {
            // Leaves the namespaces of the host, except those that init makes itself.
            let flags = UnshareFlags::NEWPID | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
            unshare(flags).context("make namespaces")?;
            let Some(init) = raw::fork().context("start init")? else {
                become_init(&control);
            };
            close_output()?;
            return Ok(Self {
                backend: spec.backend,
                init: Init::Copy(init),
            });
        }
        subreaper::adopt()?;
        let stage = match spec.backend {
            Backend::Bubblewrap => wire::LAUNCH,
            _ => wire::INIT,
        };
        #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
        let init = std::process::Command::new("/proc/self/exe")
            .args([wire::VERB, stage])
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(control)))
            .spawn()
            .context("start init")?;
        close_output()?;
        Ok(Self {
            backend: spec.backend,
            init: Init::Child(init),
        })
    }

    /// Takes over the container at the other end of a socket, and sends it this process's output streams.
    pub(crate) fn join(spec: &Spec, control: &UnixStream) -> anyhow::Result<Self> {
        let hold = container::ContainerProcess::of(control)?;
        write_frame(control, &SupervisorMessage::Next).context("call the container")?;
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        fd_passing::send(control, &[stdout, stderr]).context("hand over the output streams")?;
        close_output()?;
        Ok(Self {
            backend: spec.backend,
            init: Init::Contained(hold),
        })
    }

    /// The process id of the run's first process, as this process sees it; of the one inside, once it exists.
    pub(crate) fn first(&self) -> u32 {
        match &self.init {
            Init::Child(init) if self.backend == Backend::Bubblewrap => {
                subreaper::child_of(init.id()).unwrap_or(init.id())
            }
            Init::Child(init) => init.id(),
            Init::Copy(init) => init.as_raw_pid().cast_unsigned(),
            Init::Contained(hold) => hold.process(),
        }
    }

    /// Ends every process of the tree, and returns when the last one is dead.
    pub(crate) fn end(&mut self) -> anyhow::Result<()> {
        if self.backend == Backend::Bubblewrap
            && let Some(inside) = i32::try_from(self.first()).ok().and_then(Pid::from_raw)
        {
            // This process comes before its parent, which would leave it an orphan. That would be found too, but
            // later.
            let _ = kill_process(inside, Signal::KILL);
        }
        // Killing process 1 of a namespace kills everything in it, and it dies last.
        match &mut self.init {
            Init::Copy(init) => {
                kill_process(*init, Signal::KILL).context("end the sandbox")?;
                waitpid(Some(*init), WaitOptions::empty()).context("wait for the end of the sandbox")?;
            }
            Init::Child(init) => {
                init.kill().context("end the sandbox")?;
                init.wait().context("wait for the end of the sandbox")?;
            }
            Init::Contained(hold) => return hold.end(),
        }
        if self.backend != Backend::Native {
            subreaper::end();
        }
        Ok(())
    }
}

/// Acts as init in the fork of this process until it ends. It keeps nothing of the supervisor.
fn become_init(control: &UnixStream) -> ! {
    let played = rustix::stdio::dup2_stdin(control).map_err(Into::into).and_then(|()| {
        raw::close_from(3);
        init::main()
    });
    #[expect(clippy::exit, reason = "the calling code belongs to the supervisor")]
    std::process::exit(if played.is_ok() { 0 } else { 70 })
}

fn close_output() -> anyhow::Result<()> {
    let nowhere = File::options()
        .write(true)
        .open("/dev/null")
        .context("open /dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere).context("close standard output")?;
    rustix::stdio::dup2_stderr(&nowhere).context("close standard error")
}

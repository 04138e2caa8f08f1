//! Interpreters whose state lasts from one piece of code to the next, each in a sandbox like those of other commands.
//!
//! A driver in the interpreter's own language runs the cells. It receives them and answers through two named pipes
//! (`channel.rs`), so that output of cells cannot be mistaken for an answer. No matter what the code in a session
//! does to its driver, its pipes or its output, an execution ends within its limit, and reports truthfully whether
//! the state was kept.
//!
//! The caller decides what to execute, and interprets the values.

mod channel;
mod interpreter;
mod keeper;
mod language;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use channel::Status;
use interpreter::{CellRequest, Exchange, Interpreter, InterpreterExit};
use keeper::Ending;
pub use language::Language;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::spec::command::{Changes, Command, Mount, Policy};
use crate::spec::error::Error;
use crate::spec::output::Captured;
use crate::spec::watch::{EndOfUse, Ended, Use};
use crate::{Inner, Sandbox};

/// The longest code of one cell, in bytes.
const MAX_CODE: usize = 1 << 20;

/// The maximum number of cells in one session.
const MAX_CELLS: u32 = 10_000;

/// How often the interpreter of one session may be restarted.
const MAX_RESTARTS: u32 = 16;

/// How long a session may keep a sandbox without using it, by default.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// The files of a session; as in [`Command`].
#[derive(Debug, Clone)]
pub struct SessionPaths {
    /// The directory that code may write to.
    pub workspace: PathBuf,
    /// What happens to changes of it.
    pub changes: Changes,
    /// Where the interpreter starts, relative to the workspace.
    pub cwd: PathBuf,
    /// The whole environment, except for variables that the sandbox sets itself.
    pub env: BTreeMap<String, String>,
    /// Other files and directories that are visible inside.
    pub mounts: Vec<Mount>,
    /// How long the session may be idle before its sandbox is ended.
    pub idle: Duration,
}

impl SessionPaths {
    /// The root of a workspace, with nothing added.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            changes: Changes::Kept,
            cwd: PathBuf::new(),
            env: BTreeMap::new(),
            mounts: Vec::new(),
            idle: IDLE,
        }
    }

    fn command(&self, argv: Vec<OsString>) -> Command {
        Command {
            changes: self.changes,
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            mounts: self.mounts.clone(),
            ..Command::new(argv, &self.workspace)
        }
    }
}

/// A call made by a cell's code, which waits for the answer. Its text is untrusted, and at most 64 KiB long.
#[derive(Debug)]
pub struct CellCall {
    /// The request in the code's own format.
    pub text: String,
    /// The answer to the code. If it is dropped, the code is told that nothing was done.
    pub answer: oneshot::Sender<String>,
}

/// The result of one execution. All of it is a claim of untrusted code, except that state was lost.
#[derive(Debug, Clone)]
pub struct Cell {
    /// How it ended.
    pub outcome: CellOutcome,
    /// The value of the last expression as its language displays it, the error, or the exit code for bash; at most 64
    /// KiB. Empty if there is none.
    pub value: String,
    /// The output since the previous execution.
    pub stdout: Captured,
    /// The output on standard error.
    pub stderr: Captured,
    /// The time since the interpreter received the code.
    pub wall: Duration,
    /// Why the state of earlier executions was lost and this one ran in a new interpreter. Reported once.
    pub restarted: Option<LostReason>,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellOutcome {
    /// It ran to its end.
    Ok,
    /// The code failed; state is kept.
    Error,
    /// The code reached its time limit and was interrupted; state is kept.
    Interrupted,
    /// The interpreter is dead, and all state is lost. The next execution starts a new one.
    StateLost(LostReason),
}

/// Why an interpreter is dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostReason {
    /// The code did not end after an interrupt, or the session's time was up.
    TimedOut,
    /// The interpreter exited with this code.
    Exited(i32),
    /// This signal killed the interpreter.
    Signalled(i32),
    /// It used more memory than its limit.
    OutOfMemory,
    /// It wrote more to the workspace than its limit.
    DiskLimit,
    /// The caller cancelled.
    Cancelled,
    /// The session was not used for too long.
    Idle,
    /// The code interfered between greenlight and the driver; the text is for people.
    ChannelBroken(String),
    /// The interpreter did not start; the reason is for people.
    DidNotStart(String),
}

/// The resources that a session used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// CPU time of all processes together.
    pub cpu: Duration,
    /// Peak memory in bytes, of the interpreter with the highest.
    pub peak_memory: u64,
    /// Time of all interpreters, from start to death.
    pub wall: Duration,
    /// How many cells were executed.
    pub cells: u32,
    /// How often the interpreter was restarted.
    pub restarts: u32,
}

/// An interpreter that keeps its state between executions. Dropping it ends its sandbox.
pub struct Session {
    inner: Arc<Inner>,
    language: Language,
    place: SessionPaths,
    policy: Policy,
    started: Instant,
    interpreter: Option<Interpreter>,
    /// Why there is no interpreter, until the next execution has reported it.
    lost: Option<LostReason>,
    spent: Spent,
    in_use: Option<Ended>,
}

impl Sandbox {
    /// Starts an interpreter whose state lasts from one execution to the next, until the policy's time limit. If it
    /// cannot be started, the first execution reports that.
    ///
    /// # Errors
    /// When the request is invalid, or greenlight's own processes fail.
    pub async fn session(&self, language: Language, place: &SessionPaths, policy: &Policy) -> Result<Session, Error> {
        place.command(language.argv("/".as_ref())).check()?;
        let mut session = Session {
            inner: Arc::clone(&self.inner),
            language,
            place: place.clone(),
            policy: policy.clone(),
            started: Instant::now(),
            interpreter: None,
            lost: None,
            spent: Spent::default(),
            in_use: self.watch.as_ref().map(|watch| watch.begin(Use::Session)),
        };
        session.interpreter = Some(session.start(policy).await?);
        Ok(session)
    }
}

impl Session {
    /// Executes code with the state of earlier executions. Code that exceeds the limit is interrupted, and killed
    /// with the whole session if it ignores that. A cancellation, or dropping the future, kills at once.
    ///
    /// # Errors
    /// When the code is too long, when the session has used up its time, cells or restarts, or when greenlight's own
    /// processes fail.
    pub async fn execute(&mut self, code: &str, limit: Duration, cancel: &CancellationToken) -> Result<Cell, Error> {
        self.execute_with(code, limit, None, cancel).await
    }

    /// The same for Python code that may make calls: `_call_tool(name, arguments)` sends both as JSON and returns the
    /// answer. The time until then does not count. At most two hundred calls of one execution are answered.
    ///
    /// # Errors
    /// Those of [`execute`](Self::execute).
    pub async fn execute_with(
        &mut self,
        code: &str,
        limit: Duration,
        calls: Option<&mpsc::Sender<CellCall>>,
        cancel: &CancellationToken,
    ) -> Result<Cell, Error> {
        self.admit(code)?;
        self.check_liveness().await?;
        let interpreter = match self.interpreter.take() {
            Some(interpreter) => interpreter,
            None => self.restart().await?,
        };
        let restarted = self.lost.take();
        self.spent.cells += 1;
        // In case this future is dropped.
        self.lost = Some(LostReason::Cancelled);
        let request = CellRequest {
            code,
            limit,
            cancel,
            keep: self.policy.limits.output,
            calls,
        };
        let Exchange {
            fate,
            stdout,
            stderr,
            wall,
        } = interpreter.run(&request).await?;
        let (outcome, value) = match fate {
            InterpreterExit::Answered {
                answer,
                late,
                interpreter,
            } => {
                interpreter.rest(self.place.idle).await;
                self.interpreter = Some(*interpreter);
                self.lost = None;
                let outcome = match answer.status {
                    _ if late => CellOutcome::Interrupted,
                    Status::Ok => CellOutcome::Ok,
                    Status::Error => CellOutcome::Error,
                    Status::Interrupted => CellOutcome::Interrupted,
                };
                (outcome, answer.value)
            }
            InterpreterExit::Lost { why, ending } => {
                self.count(&ending);
                self.lost = Some(why.clone());
                (CellOutcome::StateLost(why), String::new())
            }
        };
        Ok(Cell {
            outcome,
            value,
            stdout,
            stderr,
            wall,
            restarted,
        })
    }

    /// Ends the session, and returns what it used.
    ///
    /// # Errors
    /// When greenlight's own processes fail.
    pub async fn end(mut self) -> Result<Spent, Error> {
        if let Some(interpreter) = self.interpreter.take() {
            let ending = interpreter.end().await?;
            self.count(&ending);
        }
        if let Some(in_use) = self.in_use.take() {
            in_use(EndOfUse::Session(self.spent.cpu));
        }
        Ok(self.spent)
    }

    fn admit(&self, code: &str) -> Result<(), Error> {
        let refuse = |what: &str| Err(Error::InvalidCommand(what.to_owned()));
        if code.len() > MAX_CODE {
            refuse("shorten the code of the cell to 1 MiB")
        } else if self.language == Language::Bash && code.contains('\0') {
            refuse("remove the NUL character, which bash cannot hold")
        } else if self.spent.cells >= MAX_CELLS {
            refuse("open a new session: this one has executed its maximum of cells")
        } else {
            Ok(())
        }
    }

    /// Checks whether the interpreter died since the previous execution.
    async fn check_liveness(&mut self) -> Result<(), Error> {
        if let Some(dead) = self.interpreter.take_if(|interpreter| interpreter.is_dead()) {
            self.lost = Some(LostReason::Cancelled);
            let ending = dead.end().await?;
            self.count(&ending);
            self.lost = Some(ending.why);
        }
        Ok(())
    }

    async fn restart(&mut self) -> Result<Interpreter, Error> {
        if self.spent.restarts >= MAX_RESTARTS {
            let what = "open a new session: the interpreter of this one died too often";
            return Err(Error::InvalidCommand(what.into()));
        }
        let mut policy = self.policy.clone();
        policy.limits.wall = policy.limits.wall.saturating_sub(self.started.elapsed());
        if policy.limits.wall.is_zero() {
            let what = "open a new session: this one has run out of time";
            return Err(Error::InvalidCommand(what.into()));
        }
        self.spent.restarts += 1;
        self.start(&policy).await
    }

    async fn start(&self, policy: &Policy) -> Result<Interpreter, Error> {
        let interpreter = Interpreter::start(&self.inner, self.language, &self.place, policy).await?;
        interpreter.rest(self.place.idle).await;
        Ok(interpreter)
    }

    fn count(&mut self, ending: &Ending) {
        self.spent.cpu += ending.cpu;
        self.spent.peak_memory = self.spent.peak_memory.max(ending.peak_memory);
        self.spent.wall += ending.wall;
    }
}

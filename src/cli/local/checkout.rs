//! A run on a checkout: its steps are stored in a file on this machine, the person at the terminal is asked, and what
//! they approve is written to the working tree.

mod shown;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use jiff::Timestamp;
use shown::AlreadyShown;
use tokio_util::sync::CancellationToken;

use super::super::answer::TypedAnswer as Typed;
use super::super::pace::Pace;
use super::super::progress::{LongWork, SearchProgress};
use super::super::{Exit, live, terminal};
use super::base::{self, Compared};
use super::next_suite::NextSuite;
use super::open::RunJournal;
use super::question::{self, Manner, What};
use super::report::Leftover;
use super::request::{self, Approver};
use super::write::{self, NotWritten};
use super::{Common, ending};
use crate::agent::Live;
use crate::config::flags::EnginePart;
use crate::domain::budget::Left;
use crate::domain::gate::{Answer, GateKind};
use crate::domain::id::{Account, RunId};
use crate::domain::model::Who;
use crate::domain::permission::Permission;
use crate::domain::run::{End, GateNeeded, JobReading, Next, Run, Step};
use crate::engine::work::{self, Engine, Scope};
use crate::engine::worktree::Worktree;
use crate::engine::{Activity, Broken, Door, Turn, Waiting, budget, bundle, gate};
use crate::openai::OpenAi;
use crate::repair;
use crate::suite::Suite;

/// The parts that a run on a checkout needs.
pub(super) struct Parts<'a> {
    pub(super) journal: RunJournal,
    pub(super) worktree: Worktree,
    /// The first suite, ready to run.
    pub(super) suite: Suite,
    /// The active virtual environment.
    pub(super) active: Option<PathBuf>,
    pub(super) compared: Option<Compared>,
    /// A folder that only this process uses.
    pub(super) own: PathBuf,
    pub(super) model: Option<(OpenAi, String)>,
    pub(super) who: Who,
    pub(super) approver: Approver,
    pub(super) manner: Manner,
    pub(super) arguments: &'a Common,
    /// Whether the checkout equals its last commit.
    pub(super) is_committed: bool,
    pub(super) cancel: CancellationToken,
}

pub(super) struct OnCheckout<'a> {
    parts: Parts<'a>,
    voice: Arc<live::Voice>,
    search: Mutex<Option<SearchProgress>>,
    suites: NextSuite,
    shown: Mutex<AlreadyShown>,
    recorded: Mutex<Option<Result<(), Exit>>>,
    exit: Option<Exit>,
}

impl<'a> OnCheckout<'a> {
    pub(super) fn new(mut parts: Parts<'a>) -> Self {
        parts.manner.has_model = parts.model.is_some();
        let is_watched = parts.arguments.is_watched();
        Self {
            parts,
            voice: Arc::new(live::Voice::new(is_watched)),
            search: Mutex::default(),
            suites: NextSuite::default(),
            shown: Mutex::default(),
            recorded: Mutex::new(None),
            exit: None,
        }
    }

    /// Writes the requested recording, unless it was written before the fix, and puts the journal of a run that is over
    /// into this folder.
    pub(super) async fn close(self, run: &Run, ended: &Path) -> (Leftover, Result<(), Exit>) {
        self.record(run).await;
        let recorded = self.recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
        let steps = self.parts.journal.steps().unwrap_or_default();
        let parts = steps.iter().filter_map(|step| match step {
            Step::Searched(part) => Some(part.told()),
            _ => None,
        });
        let search = parts.reduce(|mut whole, part| {
            whole.join(part);
            whole
        });
        let (page, put_away) = self.parts.journal.end(run, ended);
        if let Err(error) = put_away {
            terminal::tell(&format!("note: the journal of this run cannot be put away: {error}"));
        }
        let (exit, proposes) = (self.exit, self.parts.arguments.only_proposes);
        let left = Leftover {
            search,
            exit,
            proposes,
            page,
        };
        (left, recorded.unwrap_or(Ok(())))
    }

    /// Writes the run to the requested file, with the tree it began on, which must not have been changed yet.
    async fn record(&self, run: &Run) {
        let Parts {
            arguments,
            worktree,
            model,
            ..
        } = &self.parts;
        let Some(file) = &arguments.record else { return };
        if lock(&self.recorded).is_some() {
            return;
        }
        let shown = file.display();
        let written = async {
            let steps = self.parts.journal.steps()?;
            let mut manifest = bundle::manifest(run, worktree, model.as_ref(), &worktree.memory).await?;
            manifest.asks_nobody = run.started.asks_nobody;
            bundle::write(file, &manifest, &steps, &worktree.checkout)?;
            anyhow::Ok(())
        };
        let written = written
            .await
            .map_err(|error| Exit::Usage(format!("{shown} cannot be written: {error}; name another file")));
        if written.is_ok() {
            terminal::tell(&format!("recorded in {shown}; `greenlight replay {shown}` replays it"));
        }
        *lock(&self.recorded) = Some(written);
    }

    /// Asks the person at the terminal. Returns an exit if that ends the command.
    async fn ask(&self, run: &Run, kind: &GateKind) -> Result<Option<Typed>, Exit> {
        let Parts {
            worktree,
            approver,
            manner,
            cancel,
            ..
        } = &self.parts;
        let what = match kind {
            GateKind::Execute(execution) => return request::ask((run, worktree), execution, *approver, cancel).await,
            GateKind::Tests { .. } => What::TestsFirst,
            GateKind::Search { .. }
            | GateKind::VerifyAndLand { .. }
            | GateKind::Land { .. }
            | GateKind::ChangeTests { .. } => match &run.proposal {
                Some(proposal) => What::Result(proposal.claim()),
                None => return Err(Exit::Fault("there is no proposal".into())),
            },
        };
        let typed = question::ask(*manner, what, cancel).await?;
        if let Typed::Because(_) = typed {
            terminal::mention(&match what {
                What::TestsFirst => "writing other tests".into(),
                What::Result(_) => format!("looking for another {}", ending::made(&run.started.mode)),
            });
        }
        Ok(Some(typed))
    }
}

impl Door for OnCheckout<'_> {
    async fn append(&self, run: &mut Run, step: Step) -> Result<(), Broken> {
        if let Step::Said(item) = &step {
            self.voice.item(item);
        }
        Ok(self.parts.journal.append(run, step)?)
    }

    fn has_reader(&self, _run: &Run) -> bool {
        self.parts.model.is_some()
    }

    async fn turn(&mut self, _run: &mut Run, next: Next) -> Result<Turn, Broken> {
        // The same command resumes the run later.
        Ok(match self.parts.cancel.is_cancelled() {
            true => Turn::Leave,
            false => Turn::Take(next),
        })
    }

    async fn announce(&self, run: &Run) -> Result<(), Broken> {
        if !ending::says_it_all(run) {
            self.show_failures(run);
        }
        if self.is_shown() {
            self.show_work(run);
        }
        Ok(())
    }

    async fn set_up(&self, _run: &Run) -> Result<Result<Worktree, End>, Broken> {
        Ok(Ok(self.parts.worktree.clone()))
    }

    fn still_fits(&self, _worktree: &Worktree, _run: &Run) -> bool {
        true
    }

    fn cancel(&self) -> CancellationToken {
        self.parts.cancel.clone()
    }

    async fn left(&self, run: &Run, worktree: &Worktree) -> Result<Left, Broken> {
        Ok(budget::of_run(run, &worktree.config.limits))
    }

    async fn suite(&self, worktree: &Worktree) -> Result<Result<Option<Suite>, End>, Broken> {
        let supplies = (self.parts.arguments.install, self.parts.active.as_deref());
        let of_run = self
            .suites
            .of((worktree, &self.parts.suite), supplies, &self.parts.cancel);
        Ok(of_run.await.map(Some))
    }

    async fn read_log(&self, _run: &Run) -> Result<JobReading, Broken> {
        Ok(JobReading::default())
    }

    async fn reproduce(&self, _run: &Run, worktree: &Worktree, suite: &Suite) -> Result<Step, Broken> {
        let Parts {
            compared,
            own,
            arguments,
            cancel,
            ..
        } = &self.parts;
        let mut base = || {
            let compared = compared.as_ref();
            base::lay_out(compared, (worktree, suite), own.clone(), arguments.install, cancel).boxed()
        };
        let reproducing = work::reproduce(worktree, suite, (&mut base, Scope::ItsOwnElseOld), cancel);
        let pace = Pace::of(&worktree.stores.repository, &suite.command.to_string());
        let (before, triage) = LongWork::tests(suite, pace.last()).telling(reproducing).await?;
        pace.note(before.duration_ms);
        Ok(Step::Reproduced { before, triage })
    }

    async fn verify(&self, _run: &mut Run, _worktree: &Worktree, _suite: &Suite) -> Result<Step, Broken> {
        Err(Broken::Bug("a proposal on a checkout was already tested".into()))
    }

    fn engine(&self, run: &Run, worktree: &Worktree, may_execute: bool) -> Result<Engine<'_>, End> {
        let model = self.parts.model.as_ref().map(|(model, name)| (model, name.as_str()));
        let engine = Engine::choose(model, self.parts.who, (run, &worktree.left), may_execute)?;
        let tried = match worktree.without.contains(&EnginePart::Search) {
            true => "trying known fixes",
            false => "searching small edits",
        };
        terminal::mention(&match engine {
            Engine::BuiltIn if !run.started.mode.is_debug() => return Ok(engine),
            Engine::BuiltIn => format!("{tried} (built-in engine, no model)"),
            Engine::Auto { .. } if run.started.mode.is_debug() && !run.search.is_over => {
                format!("{tried} (built-in engine); the model continues if nothing is found")
            }
            Engine::Auto { .. } | Engine::Model { .. } | Engine::Recorded { .. } => "the model is working".to_owned(),
        });
        Ok(engine)
    }

    fn live(&self, _run: &Run) -> Box<Live> {
        let voice = Arc::clone(&self.voice);
        Box::new(move |delta| voice.delta(delta))
    }

    fn progress(&self, progress: &repair::Progress) {
        let config = &self.parts.worktree.config;
        let limit = config.repair.wall.min(config.limits.wall);
        let mut search = lock(&self.search);
        let search = search.get_or_insert_with(|| SearchProgress::new(limit));
        search.report(progress.tried, progress.total_estimate);
    }

    fn begins(&self, activity: Activity) {
        self.parts.journal.begins(activity);
    }

    async fn watched<T: Send>(&self, work: impl Future<Output = T> + Send) -> T {
        let done = LongWork::beside(&self.parts.suite, self.parts.worktree.config.limits.wall)
            .telling(work)
            .await;
        *lock(&self.search) = None;
        self.voice.pause();
        done
    }

    async fn post_review(&self, _run: &Run) -> Result<Step, Broken> {
        Err(Broken::Bug("a checkout has no reviews".into()))
    }

    async fn open_gate(&self, run: &Run, needed: GateNeeded, worktree: Option<&Worktree>) -> Result<Step, Broken> {
        Ok(Step::GateOpened(gate::open(run, needed, None, worktree, self.now())?))
    }

    async fn wait(&mut self, run: &Run) -> Result<Waiting, Broken> {
        let Some(gate) = run.open_gates().into_iter().next_back() else {
            return Ok(Waiting::Leave);
        };
        let answer = match self.ask(run, &gate.kind).await {
            Ok(Some(Typed::Yes)) => Answer::Approved { by: me() },
            Ok(Some(Typed::No)) => Answer::Rejected { by: me(), reason: None },
            Ok(Some(Typed::Because(reason))) => Answer::Rejected {
                by: me(),
                reason: Some(reason),
            },
            Ok(None) => Answer::Expired,
            Err(Exit::Stopped) => return Ok(Waiting::Leave),
            Err(exit) => {
                // Nobody can answer, so the run is over.
                self.exit = Some(exit);
                Answer::Expired
            }
        };
        Ok(Waiting::Answered(Step::Answered {
            gate: gate.id,
            answer,
            comment: None,
            at: Some(Timestamp::now()),
        }))
    }

    async fn land(&self, run: &Run) -> Result<Step, Broken> {
        self.record(run).await;
        let refused = |reason: String| Ok(Step::Ended(End::Refused { reason }));
        if let Some(Err(exit)) = &*lock(&self.recorded) {
            let why = exit.reason().unwrap_or("the run could not be recorded");
            return refused(format!("{why}. Nothing was written"));
        }
        let approved = match run.approved(&[(me(), Permission::Admin)]) {
            Ok(approved) => approved,
            Err(reason) => return refused(reason.to_string()),
        };
        match write::write(self.parts.worktree.checkout.root(), &approved) {
            Ok(()) => Ok(Step::Ended(End::Written)),
            Err(NotWritten::Refused(reason)) => refused(reason),
            Err(NotWritten::Broken(error)) => Err(Broken::Disk(RunId::clone(run.id()).0, std::io::Error::other(error))),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The account of the person at this terminal.
fn me() -> Account {
    Account::new("local")
}

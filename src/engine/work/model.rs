//! Lets a model work out a patch. The mode's rule, which is code, judges what the model submits.

use futures::FutureExt as _;

use super::super::worktree::Worktree;
use super::judge::{Judge, Judged, Submission};
use super::{Brief, Broken, Keep, Stage, Watch, WorkOutcome, debug, history, limit, limits, on_head, refactor, tdd};
use crate::agent::mode::ModePart;
use crate::agent::prompt::Background;
use crate::agent::{self, Exit, Item, Model, Shell, Speech, Transcript};
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Author, Claim};
use crate::domain::redact::{redact, visible};
use crate::suite::Suite;

/// How many submissions may follow a rejected one.
const MAX_SUBMISSIONS: usize = 4;

/// How much of a refusal is repeated to people, in characters.
const MAX_REFUSAL: usize = 1_000;

/// How many reasons from earlier runs the model is told.
const MAX_EARLIER: usize = 3;

impl Judge<'_> {
    /// Applies the rule of the mode.
    pub(super) async fn judge(&self, submission: Submission) -> Result<Judged, Broken> {
        if submission.claim == Claim::TestMayBeWrong && !self.brief.mode.is_debug() {
            return Ok(Err(
                "`test_may_be_wrong` is for failing tests alone; here no test may change".into(),
            ));
        }
        match (self.brief.mode, self.brief.tests_first) {
            (Mode::Tdd { specification }, None) => tdd::judge_tests(self, specification, submission).await,
            (Mode::Tdd { .. }, Some(first)) => tdd::judge_code(self, first, submission).await,
            (Mode::Refactor { goal, path }, _) => refactor::judge(self, (goal, path.as_ref()), submission).await,
            (Mode::Debug | Mode::Explain, _) => debug::judge(self, submission).await,
        }
    }
}

/// Lets a model work until a submission is accepted.
pub(super) async fn work(
    worktree: &Worktree,
    suite: Option<&Suite>,
    (model, name): (&impl Model, &str),
    brief: &Brief<'_>,
    watch: Watch<'_, '_>,
) -> Result<WorkOutcome, Broken> {
    let Watch { keep, cancel, live, .. } = watch;
    let bench = Judge {
        worktree,
        suite,
        brief,
        name,
        cancel,
    };
    if let Some(unready) = unready(&bench) {
        return Ok(unready);
    }
    let part = brief.stage().part();
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let inputs = worktree.inputs(brief.before);
    let weakenings = |patch: &Patch| worktree.weakenings(patch, &inputs);
    let leave_alone = |path: &RepoPath| part.leaves_alone(path);
    let limits = limits::limits(worktree, brief.said);
    let bounds = worktree.bounds(&is_protected, &weakenings);
    let mut shell = Shell::new(brief.stage().tree(worktree), suite.cloned(), bounds, limits);
    shell.live = live;
    shell.history = history::history(worktree);
    shell.speech = speech(model, brief)?;
    shell.may_ask = brief.may_ask;
    shell.grantable = worktree.grantable();
    shell.without = part.without();
    shell.leave_alone = &leave_alone;
    let mut transcript = transcript(&bench, (&part, &shell), keep).await?;
    let mut refused = None;
    // One more iteration for a model that turns out to act by code.
    for _ in 0..=MAX_SUBMISSIONS {
        let mut journal = |item: Item| match serde_json::to_value(item) {
            Ok(value) => keep(value),
            Err(error) => async move { Err(error.into()) }.boxed(),
        };
        let (summary, claim) = match agent::run(model, &mut shell, &mut transcript, &mut journal, cancel).await? {
            Exit::Submitted {
                summary,
                test_may_be_wrong,
            } => (summary, Claim::of(test_may_be_wrong)),
            Exit::GaveUp { reason } => return Ok(gave_up(reason, refused, &transcript)),
            Exit::Explained(explanation) => return Ok(WorkOutcome::Explained(explanation)),
            Exit::Deferred(deferred) => return Ok(WorkOutcome::Deferred(deferred)),
            Exit::NoTools if suite.is_none() => return Ok(WorkOutcome::ActsByCode),
            Exit::NoTools => {
                shell.speech = Speech::Code;
                let note = Item::Note(agent::how_to_act(&shell, &transcript));
                append(&note, keep).await?;
                transcript.push(note);
                continue;
            }
            Exit::Cancelled => return Ok(WorkOutcome::Interrupted),
            Exit::Limit(kind) => {
                let reason = limits::reached(worktree, kind);
                let patch = (shell.proposal_patch(), refused);
                let outcome = limit::reached(&bench, patch, &transcript, reason).await?;
                return Ok(credited(outcome, &transcript));
            }
        };
        let patch = shell.proposal_patch();
        let digest = patch.digest();
        let submission = Submission { patch, summary, claim };
        let unaccepted = match bench.judge(submission).await? {
            _ if cancel.is_cancelled() => return Ok(WorkOutcome::Interrupted),
            Ok(outcome) => return Ok(credited(outcome, &transcript)),
            Err(unaccepted) => unaccepted,
        };
        let note = agent::prompt::not_good_enough(&unaccepted.why, unaccepted.run.as_deref());
        let note = Item::Note(note);
        append(&note, keep).await?;
        transcript.push(note);
        refused = Some((digest, unaccepted.why));
    }
    let reason = format!("{MAX_SUBMISSIONS} submissions were not accepted");
    Ok(gave_up(reason, refused, &transcript))
}

/// The end without a fix. A person may know better than the rule, so the reason says what it refused last.
fn gave_up(reason: String, refused: Option<(String, String)>, transcript: &Transcript) -> WorkOutcome {
    let Some(why) = refused.map(|(_, why)| why).or_else(|| refusal(transcript)) else {
        return WorkOutcome::GaveUp { reason };
    };
    let reason = reason.trim_end().trim_end_matches('.');
    let why: String = redact(&visible(&why)).chars().take(MAX_REFUSAL).collect();
    WorkOutcome::GaveUp {
        reason: format!("{reason}. The last submission was not accepted: {why}"),
    }
}

/// Why the last submission was refused before it ran, as the model was told.
fn refusal(transcript: &Transcript) -> Option<String> {
    transcript.items().iter().rev().find_map(|item| match item {
        Item::Result { text, .. } => agent::refusal(text).map(String::from),
        _ => None,
    })
}

impl<'a> Stage<'a> {
    /// The model's task.
    pub(super) fn part(self) -> ModePart<'a> {
        let first = self.tests_first.map(|first| (first.names.as_slice(), &first.red));
        ModePart::of(self.mode, first)
    }

    /// The tree that the model begins with: the head with the tests that were written first.
    pub(super) fn tree(self, worktree: &Worktree) -> Checkout {
        let mut checkout = worktree.checkout.clone();
        if let Some(first) = self.tests_first {
            checkout.apply(&first.patch);
        }
        checkout
    }
}

/// Names the model that answered last, if it was a fallback.
fn credited(mut outcome: WorkOutcome, transcript: &Transcript) -> WorkOutcome {
    let last = transcript.items().iter().rev().find_map(|item| match item {
        Item::Reply(reply) => reply.model.clone(),
        _ => None,
    });
    if let (WorkOutcome::Proposed(proposal), Some(name)) = (&mut outcome, last) {
        proposal.author = Author::Model(name);
    }
    outcome
}

/// How the model calls tools: as instructed in the interrupted transcript, or as far as is known.
fn speech(model: &impl Model, brief: &Brief<'_>) -> Result<Speech, Broken> {
    let said: Transcript = serde_json::from_value(serde_json::Value::Array(brief.said.to_vec()))
        .map_err(|error| Broken::Bug(format!("a transcript cannot be read: {error}")))?;
    Ok(if agent::acts_by_code(&said) {
        Speech::Code
    } else {
        model.speech()
    })
}

/// Why asking a model would be pointless. `None` if it would not be.
fn unready(bench: &Judge<'_>) -> Option<WorkOutcome> {
    match bench.brief.mode {
        Mode::Debug => None,
        Mode::Tdd { .. } => tdd::unready(bench),
        Mode::Refactor { path, .. } => refactor::unready(bench, path.as_ref()),
        Mode::Explain => {
            let is_red = bench.brief.before.is_some_and(|run| run.outcome.is_red());
            let was_red = bench.brief.reading.is_some_and(|reading| !reading.excerpt.is_empty());
            let reason = "The tests are green here and I know of no failed check, so there is nothing to explain";
            (!is_red && !was_red).then(|| WorkOutcome::NothingToDo { reason: reason.into() })
        }
    }
}

/// The interrupted transcript, or a new one with the task, which is appended to the journal.
async fn transcript(
    bench: &Judge<'_>,
    (part, shell): (&ModePart<'_>, &Shell<'_>),
    keep: &mut Keep<'_>,
) -> Result<Transcript, Broken> {
    let brief = bench.brief;
    let files: Vec<RepoPath> = bench.worktree.changed.keys().cloned().collect();
    let reasons = brief.turned_down.iter().map(|down| down.reason.clone());
    let reasons = reasons.filter(|reason| !reason.is_empty());
    let earlier = brief
        .before
        .into_iter()
        .flat_map(|before| brief.memory.turned_down(before));
    let earlier = earlier
        .map(|down| down.reason.clone())
        .filter(|reason| !reason.is_empty());
    let earlier = earlier.take(MAX_EARLIER);
    let remarks: Vec<String> = on_head::remark(bench.worktree, brief)
        .into_iter()
        .chain(earlier)
        .chain(brief.turned_down_tests.iter().cloned())
        .chain(reasons)
        .collect();
    let known = Background {
        before: brief.before,
        log_excerpt: brief.reading.map(|reading| reading.excerpt.as_str()),
        files: &files,
        remarks: &remarks,
        search: Some(brief.search),
        may_execute: bench.suite.is_some(),
    };
    let begun = part.begin(&known, Some(shell));
    if brief.said.len() >= begun.items().len() {
        let items = serde_json::Value::Array(brief.said.to_vec());
        return serde_json::from_value(items)
            .map_err(|error| Broken::Bug(format!("a transcript cannot be read: {error}")));
    }
    for item in begun.items().iter().skip(brief.said.len()) {
        append(item, keep).await?;
    }
    Ok(begun)
}

async fn append(item: &Item, keep: &mut Keep<'_>) -> Result<(), Broken> {
    let value = serde_json::to_value(item).map_err(|error| Broken::Bug(error.to_string()))?;
    Ok(keep(value).await.map_err(agent::Error::Journal)?)
}

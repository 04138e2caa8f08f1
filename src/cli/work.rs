//! The work of a local verb, with the person at this terminal: who reads along, and is asked for what the model may
//! not do by itself. What comes of the work is for the verb to judge.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, Question};
use super::progress::SoFar;
use super::recorder::Recorder;
use super::{Exit, elapsed, live, terminal};
use crate::agent::Delta;
use crate::domain::clock::in_words;
use crate::domain::execution::{Deferred, Execution, Resolution, What};
use crate::domain::redact;
use crate::domain::reply::MAX_EDITS;
use crate::domain::run::{MAX_REQUESTS, Step};
use crate::domain::search::Search;
use crate::domain::spend::Spend;
use crate::engine::desk::Desk;
use crate::engine::work::{self, Brief, Engine, Outcome, Stage, Watch};
use crate::suite::Suite;

/// Who gives the approvals of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approver {
    /// The person who started it, of everything, up front.
    UpFront,
    /// The person at the terminal, one by one.
    Terminal,
    Nobody,
}

impl Approver {
    /// Where nobody can be asked, and nothing was approved up front, nothing is.
    #[expect(clippy::fn_params_excessive_bools, reason = "each is a flag of the command line")]
    pub(super) fn of(yes: bool, as_json: bool) -> Self {
        match (yes, as_json) {
            (true, _) => Self::UpFront,
            (false, false) if terminal::somebody_is_there() => Self::Terminal,
            (false, _) => Self::Nobody,
        }
    }
}

/// Who is there, and what is kept of it.
#[derive(Clone, Copy)]
pub(super) struct Present<'a> {
    pub(super) approver: Approver,
    /// Whether what the model says and does is shown.
    pub(super) is_shown: bool,
    pub(super) recorder: &'a Recorder,
}

/// Works, and asks for the model's requests one by one, until there is an outcome that is none of them.
///
/// # Errors
/// When the sandbox or the model cannot be used, or the work was stopped.
pub(super) async fn work_until_done(
    (desk, suite): (&Desk, Option<&Suite>),
    engine: Engine<'_>,
    brief: &Brief<'_>,
    Present {
        approver,
        is_shown,
        recorder,
    }: Present<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, Exit> {
    let limit = desk.config.repair.wall.min(desk.config.limits.wall);
    let mut said: Vec<Value> = brief.said.to_vec();
    let mut asked = 0;
    let voice = Arc::new(live::Voice::new(is_shown));
    let heard = Arc::clone(&voice);
    let live = move |delta: Delta<'_>| heard.delta(delta);
    loop {
        let left = MAX_REQUESTS.saturating_sub(asked);
        let may_ask = match approver {
            Approver::Nobody => 0,
            _ => u32::try_from(left).unwrap_or(0),
        };
        let outcome = {
            let brief = Brief {
                said: &said.clone(),
                may_ask,
                uncounted: recorder.spend(),
                ..*brief
            };
            let kept = Mutex::new(&mut said);
            let mut keep = |item: Value| {
                voice.item(&item);
                recorder.take(Step::Said(item.clone()));
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(item);
                async { Ok(()) }.boxed()
            };
            let mut so_far = SoFar::default();
            let mut progress = |now: crate::repair::Progress| {
                if let Some(line) = so_far.line((now.tried, now.total_estimate), limit, Instant::now()) {
                    terminal::tell(&format!("  {line}"));
                }
            };
            let mut searched = |part: Search| {
                recorder.take(Step::Searched(Box::new(part)));
                async { Ok(()) }.boxed()
            };
            let watch = Watch {
                keep: &mut keep,
                progress: &mut progress,
                searched: &mut searched,
                live: &live,
                cancel,
            };
            elapsed::telling("at work", work::work(desk, suite, engine, &brief, watch)).await
        };
        voice.pause();
        let mut outcome = outcome?;
        if let Outcome::Proposed(proposal) = &mut outcome
            && let Some(evidence) = &mut proposal.evidence
        {
            let spent: Spend = said.iter().map(Spend::of_item).sum();
            evidence.spent = Some(spent).filter(|spent| spent.turns > 0);
        }
        recorder.outcome(&outcome);
        let Outcome::Deferred(deferred) = outcome else {
            return Ok(outcome);
        };
        // One more than may be asked is answered without asking; a second one would be a fault.
        if asked > MAX_REQUESTS {
            return Err(Exit::Fault("a model asks for more than it may".into()));
        }
        asked += 1;
        let resolution = match left {
            0 => Resolution::NoAnswer,
            _ => ask((desk, brief.stage(), &said), &deferred, approver, cancel).await?,
        };
        let item = work::resolve((desk, suite), (brief.stage(), &said, &deferred), &resolution, cancel).await?;
        recorder.take(Step::Resolved(item.clone()));
        said.push(item);
        if cancel.is_cancelled() {
            return Err(Exit::Stopped);
        }
    }
}

/// Shows what would run, all of it, and asks.
async fn ask(
    (desk, stage, said): (&Desk, Stage<'_>, &[Value]),
    deferred: &Deferred,
    approver: Approver,
    cancel: &CancellationToken,
) -> Result<Resolution, Exit> {
    let execution = &deferred.execution;
    if let Some(why) = execution.unfit() {
        let reason = Some(format!("nobody was asked: {why}"));
        return Ok(Resolution::Rejected { reason });
    }
    if approver == Approver::Nobody {
        return Ok(Resolution::NoAnswer);
    }
    show(desk, execution);
    let edits = work::edits(desk, stage, said)?;
    if !edits.is_empty() {
        terminal::tell("\nits edits so far:\n");
        indented(&redact::bounded(&edits.unified(), MAX_EDITS));
    }
    if approver == Approver::UpFront {
        terminal::tell("allowed up front (--yes)");
        return Ok(Resolution::Approved);
    }
    let question = Question {
        text: "Allow exactly this, once?",
        word: None,
        wants_reasons: true,
        another: None,
    };
    Ok(match question.ask(cancel).await? {
        None => Resolution::NoAnswer,
        Some(Answer::Yes) => Resolution::Approved,
        Some(Answer::No) => Resolution::Rejected { reason: None },
        Some(Answer::Because(reason)) => Resolution::Rejected { reason: Some(reason) },
    })
}

fn show(desk: &Desk, execution: &Execution) {
    let (what, text) = match &execution.what {
        What::Command(command) => ("run this command".to_string(), command.clone()),
        What::Code { language, code, .. } => (format!("run this {}", language.name()), code.clone()),
        What::Tests(names) if names.is_empty() => ("run tests".into(), "all of them".into()),
        What::Tests(names) => ("run these tests".into(), names.join("\n")),
        What::Edit { path, difference } => (
            format!("change the protected {path} in its own copy; no fix will have that"),
            difference.clone(),
        ),
    };
    terminal::tell(&format!("\nthe model asks to {what}:\n"));
    indented(&text);
    if let What::Code { packages, .. } = &execution.what
        && !packages.is_empty()
    {
        terminal::tell("\nafter installing these packages:\n");
        indented(&packages.join("\n"));
    }
    if let Some(command) = desk.executes_for(&execution.what) {
        terminal::tell("\nas part of, or after:\n");
        indented(&command);
    }
    if execution.runs_code() {
        let network = match execution.network.join(", ").as_str() {
            "" => "no network".to_string(),
            hosts => format!("network: {hosts}"),
        };
        let files = match execution.files {
            0 => "an unchanged copy".to_string(),
            1 => "a copy with its edits of 1 file".to_string(),
            files => format!("a copy with its edits of {files} files"),
        };
        terminal::tell(&format!(
            "\nin the sandbox, on {files}; {network}; at most {}",
            in_words(Duration::from_secs(execution.seconds))
        ));
    }
    terminal::tell("its reason, which nobody checked:\n");
    indented(&execution.why);
}

/// A text of somebody else's, line by line: nothing in it looks like a line of greenlight's own.
fn indented(text: &str) {
    for line in text.lines() {
        terminal::tell_code(&format!("  | {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approved_up_front_needs_nobody() {
        assert_eq!(Approver::of(true, true), Approver::UpFront);
        assert_eq!(Approver::of(false, true), Approver::Nobody);
    }
}

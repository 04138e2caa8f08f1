//! A model works it out; what it submits is proved like everything else.

use std::sync::Arc;

use futures::FutureExt as _;

use crate::agent::{self, Exit, Item, LimitKind, Model as _, Question, Shell, Transcript};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Author, Claim, Evidence, Proposal};
use crate::domain::reply;
use crate::domain::weakening::Weakening;
use crate::git;
use crate::guard;
use crate::openai::OpenAi;
use crate::suite::Suite;

use super::super::desk::Desk;
use super::minimize::minimize;
use super::{Brief, Broken, Keep, Outcome, Red, Watch, prove};

/// How often a submission that does not prove itself may be followed by another one.
const MAX_SUBMISSIONS: usize = 4;

/// Lets a model work until a submission proves itself.
pub(super) async fn work(
    desk: &Desk,
    suite: Option<&Suite>,
    (model, name): (&OpenAi, &str),
    brief: &Brief<'_>,
    watch: Watch<'_, '_>,
) -> Result<Outcome, Broken> {
    let Watch { keep, cancel, live, .. } = watch;
    let is_protected = |path: &RepoPath| desk.config.protect.paths.covers(path);
    let inputs = desk.inputs(brief.before);
    let weakenings = |patch: &Patch| guard::weakenings(patch, &inputs);
    let bounds = desk.bounds(&is_protected, &weakenings);
    let limits = limits(desk);
    let mut shell = Shell::new(desk.checkout.clone(), suite.cloned(), bounds, limits);
    shell.live = live;
    shell.history = history(desk);
    shell.speech = model.speech(cancel).await.map_err(agent::Error::from)?;
    shell.may_ask = brief.may_ask;
    shell.grantable.clone_from(&desk.config.sandbox.network);
    let mut transcript = transcript(desk, &shell, brief, keep).await?;
    for _ in 0..MAX_SUBMISSIONS {
        let mut journal = |item: Item| match serde_json::to_value(item) {
            Ok(value) => keep(value),
            Err(error) => async move { Err(error.into()) }.boxed(),
        };
        let (summary, claim) = match agent::run(model, &mut shell, &mut transcript, &mut journal, cancel).await? {
            Exit::Submitted {
                summary,
                test_may_be_wrong,
            } => (summary, Claim::of(test_may_be_wrong)),
            Exit::GaveUp { reason } => return Ok(Outcome::GaveUp { reason }),
            Exit::Explained { text } => return Ok(Outcome::Explained { text }),
            Exit::Deferred(deferred) => return Ok(Outcome::Deferred(deferred)),
            Exit::Cancelled => return Ok(Outcome::Interrupted),
            Exit::Limit(limit) => {
                return Ok(Outcome::LimitReached {
                    reason: limit_reached(limit, &limits),
                });
            }
        };
        let patch = shell.proposal_patch();
        let unfit = match (suite, brief.before) {
            (Some(suite), Some(before)) => {
                let (head, triage) = (brief.head, brief.triage);
                let red = Red { head, before, triage };
                match prove(desk, suite, (&patch, claim), &red, cancel).await? {
                    Ok(evidence) if claim == Claim::TestMayBeWrong => {
                        let weakens = weakenings(&patch);
                        return Ok(proposed(brief, name, (patch, weakens), (summary, Some(evidence))));
                    }
                    Ok(evidence) => {
                        let (patch, evidence) = minimize(desk, suite, (patch, evidence), &red, cancel).await?;
                        if cancel.is_cancelled() {
                            return Ok(Outcome::Interrupted);
                        }
                        let left_out = evidence.left_out.and_then(reply::left_out);
                        let summary = [summary].into_iter().chain(left_out).collect::<Vec<_>>().join("\n\n");
                        return Ok(proposed(brief, name, (patch, Vec::new()), (summary, Some(evidence))));
                    }
                    Err(unfit) => unfit,
                }
            }
            _ => match proposal::check(&patch, Claim::Fix, &bounds) {
                Ok(_) => return Ok(proposed(brief, name, (patch, Vec::new()), (summary, None))),
                Err(unfit) => unfit,
            },
        };
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        let note = Item::Note(agent::prompt::not_good_enough(&unfit.to_string(), None));
        write_down(&note, keep).await?;
        transcript.push(note);
    }
    Ok(Outcome::GaveUp {
        reason: format!("{MAX_SUBMISSIONS} submissions did not prove themselves"),
    })
}

/// Answers questions about how the head came about.
fn history(desk: &Desk) -> Option<agent::History> {
    let (objects, head) = desk.repository.clone()?;
    Some(Arc::new(move |question: &Question| {
        let answer = match question {
            Question::Log { path, limit } => git::history::log(&objects, &head, path.as_ref(), *limit),
            Question::Blame { path, from, to } => git::history::blame(&objects, &head, path, (*from, *to)),
            Question::Show { commit, path } => git::history::show(&objects, &head, commit, path.as_ref()),
        };
        answer.unwrap_or_else(|error| error.to_string())
    }))
}

/// The limits of the base branch.
pub(super) fn limits(desk: &Desk) -> agent::Limits {
    let limits = &desk.config.limits;
    agent::Limits {
        turns: limits.turns,
        tokens: limits.tokens,
        cost_micros: None,
        wall: limits.wall,
    }
}

fn proposed(
    brief: &Brief<'_>,
    name: &str,
    (patch, weakens): (Patch, Vec<Weakening>),
    (summary, evidence): (String, Option<Evidence>),
) -> Outcome {
    let author = Author::Model(name.to_string());
    Outcome::Proposed(Box::new(Proposal {
        head: brief.head.clone(),
        patch,
        summary,
        author,
        evidence,
        weakens,
    }))
}

fn limit_reached(limit: LimitKind, limits: &agent::Limits) -> String {
    match limit {
        LimitKind::Turns => format!("The limit of {} turns was reached", limits.turns),
        LimitKind::Tokens => format!("The limit of {} tokens was reached", limits.tokens),
        LimitKind::Money => "The limit of money was reached".into(),
        LimitKind::Wall => format!(
            "The time limit of {} was reached",
            humantime::format_duration(limits.wall)
        ),
    }
}

/// The transcript as it was cut off, or a new one with the task, written down.
async fn transcript(
    desk: &Desk,
    shell: &Shell<'_>,
    brief: &Brief<'_>,
    keep: &mut Keep<'_>,
) -> Result<Transcript, Broken> {
    let files: Vec<RepoPath> = desk.changed.keys().cloned().collect();
    let remarks: Vec<String> = brief.turned_down.iter().map(|down| down.reason.clone()).collect();
    let excerpt = brief.reading.map(|reading| reading.excerpt.as_str());
    let task = agent::prompt::debug_task(brief.before, excerpt, &files, &remarks, shell.tests.is_some());
    let begun = Transcript::new(agent::instructions(agent::prompt::DEBUG, shell, None), task);
    if brief.said.len() >= begun.items().len() {
        let items = serde_json::Value::Array(brief.said.to_vec());
        return serde_json::from_value(items)
            .map_err(|error| Broken::Bug(format!("a transcript cannot be read: {error}")));
    }
    for item in begun.items().iter().skip(brief.said.len()) {
        write_down(item, keep).await?;
    }
    Ok(begun)
}

async fn write_down(item: &Item, keep: &mut Keep<'_>) -> Result<(), Broken> {
    let value = serde_json::to_value(item).map_err(|error| Broken::Bug(error.to_string()))?;
    Ok(keep(value).await.map_err(agent::Error::Journal)?)
}

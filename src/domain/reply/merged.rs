//! Texts for a head that fails only together with its base branch, and for what CI's log says.

use super::super::gate::GateKind;
use super::super::proposal::Evidence;
use super::super::redact;
use super::super::run::{End, Log, Run};
use super::super::triage::{Merged, Verdict};

/// What the test runs of a proposal's evidence tested.
pub(super) fn tested(evidence: &Evidence) -> String {
    match &evidence.merged {
        None => "the head".into(),
        Some(with) => format!(
            "the merge of the head with {} at {}",
            redact::inline(&with.branch, 80),
            with.tip.short()
        ),
    }
}

/// Which trees prove a proposal, if it is not the head alone.
pub(super) fn proved(evidence: &Evidence) -> Option<String> {
    let with = evidence.merged.as_ref()?;
    let (branch, tip) = (redact::inline(&with.branch, 80), with.tip.short());
    Some(format!(
        "The head is red only when merged with {branch}, so both runs used its merge with {branch} at {tip}, as in \
         CI. The head alone, with the change: {}.",
        with.alone
    ))
}

/// A warning that the base branch moved after the tests ran. `None` if it did not.
pub(super) fn moved(run: &Run) -> Option<String> {
    let now = run.base_moved.as_ref()?;
    let with = run.evidence.as_ref()?.merged.as_ref()?;
    let branch = redact::inline(&with.branch, 80);
    Some(format!(
        "⚠️ {branch} moved from {} to {} after the tests ran. The merge with its new commits was not tested.",
        with.tip.short(),
        now.short()
    ))
}

/// `The head alone is green, but its merge with main is red since 1234567`. `None` if that is not so, or the run has
/// ended without a proposal.
pub(super) fn only_together(run: &Run) -> Option<String> {
    let (_, triage) = run.reproduced.as_ref()?;
    let is_under_way = run.end.is_none() || run.proposal.is_some();
    let merged: &Merged = triage.red_merge().filter(|_| triage.has_regression() && is_under_way)?;
    Some(format!(
        "The head alone is green, but its merge with {} is red {}. A fix has to make the merge green without making \
         the head red.",
        redact::inline(&merged.branch, 80),
        merged.when()
    ))
}

/// Advice for when no change of the head makes the merge green.
pub(super) fn advice(run: &Run) -> Option<String> {
    let no_fix = matches!(
        run.end,
        Some(End::GaveUp { .. } | End::NotFound { .. } | End::LimitReached { .. })
    );
    let (_, triage) = run.reproduced.as_ref().filter(|_| no_fix && run.proposal.is_none())?;
    let merged = triage.red_merge()?;
    let branch = redact::inline(&merged.branch, 80);
    Some(format!(
        "The head alone is green, but its merge with {branch} is red {}. Merge {branch} into this branch, or rebase: \
         then `/greenlight fix` can also change what comes from {branch}.",
        merged.when()
    ))
}

/// The title of a run that had nothing to work on.
pub(super) fn nothing(run: &Run) -> String {
    let Some((_, triage)) = &run.reproduced else {
        return "⚪ **Nothing to fix.**".into();
    };
    let title = match (triage.verdict, triage.red_merge(), &triage.base) {
        (Verdict::BrokenOnBase, Some(merged), _) => {
            let branch = redact::inline(&merged.branch, 80);
            return format!("⚪ **Broken on {branch} at {}.**", merged.tip.short());
        }
        (Verdict::BrokenOnBase, None, Some(base)) => {
            return format!("⚪ **Broken on the base branch already**, at {}.", base.short());
        }
        (Verdict::BrokenOnBase, None, None) => "⚪ **Broken on the base branch already.**",
        (Verdict::Environment, ..) => super::setup::NOT_JUDGED,
        (Verdict::Green, ..) if run.is_ci_red() => "🟡 **CI is red, but I cannot reproduce the failure.**",
        (Verdict::Flaky, ..) => "⚪ **Flaky.**",
        (Verdict::Mixed, ..) => "⚪ **This pull request did not cause these failures.**",
        (Verdict::Green | Verdict::Deterministic, ..) => "⚪ **Nothing to fix.**",
    };
    title.into()
}

/// Why greenlight does not know what CI says about a head: GitHub does not tell.
pub(super) fn not_read(run: &Run) -> Option<String> {
    let is_said = run
        .open_gates()
        .first()
        .is_some_and(|gate| matches!(gate.kind, GateKind::Search { .. }));
    match run.reading.as_ref().map(|reading| &reading.log) {
        Some(Log::Refused { why }) if !is_said => Some(format!(
            "I could not read what CI says. GitHub says: {}",
            redact::prose(why, 500)
        )),
        _ => None,
    }
}

/// What greenlight read about failed CI before anything ran, as a sentence.
pub(super) fn was_read(run: &Run) -> String {
    let reading = run.reading.clone().unwrap_or_default();
    let nothing_ran = "nothing was executed";
    match &reading.log {
        Log::Read => format!("I read the job's log; {nothing_ran}."),
        Log::None => format!("The job has no log that I can read; {nothing_ran}."),
        Log::Gone => format!("GitHub no longer has the job's log; {nothing_ran}."),
        Log::Refused { why } => format!(
            "I could not read the job's log; {nothing_ran}. GitHub says: {}",
            redact::prose(why, 500)
        ),
    }
}

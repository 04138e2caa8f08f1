//! The state of a run, as the sticky comment and the check run show it.

use super::super::execution::What;
use super::super::gate::GateKind;
use super::super::proposal::TestsFirst;
use super::super::redact;
use super::super::run::{Consent, End, Run};
use super::blocks::{failures, folded, sentence};
use super::{MAX_BODY, gate_request, merged, modes, not_taken, search, setup};

/// A diff of tests longer than this, in bytes, is cut.
const MAX_TESTS: usize = 16 << 10;
/// How many bytes the marker and other lines around a comment's text may take.
const FRAME: usize = 1_000;

/// The text of the check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckText {
    pub title: String,
    pub summary: String,
    pub state: CheckState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    Working,
    Waiting,
    Green,
    NothingDone,
    NoFix,
    Stopped,
}

/// The sticky comment of a run, without its marker.
pub fn sticky(run: &Run, branch: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.push(headline(run));
    parts.extend(unvouched(run));
    let of_the_merge = [merged::only_together(run), merged::advice(run), merged::moved(run)];
    parts.extend(of_the_merge.into_iter().flatten());
    parts.extend(super::suggestion_states::fates(run));
    if let Some(open) = run.open_gates().first() {
        parts.push(gate_request(open, branch));
        if let (GateKind::Tests { .. }, Some(tests)) = (&open.kind, &run.tests_first) {
            parts.push(tests_first(tests));
        }
    }
    let end = format!(
        "<sub>greenlight · run `{}` · {}</sub>",
        run.id(),
        run.started.head.short()
    );
    // The request is never cut; details are dropped instead.
    let mut length = parts.iter().map(|part| part.len() + 2).sum::<usize>() + end.len();
    for detail in details(run) {
        length += detail.len() + 2;
        if length > MAX_BODY - FRAME {
            break;
        }
        parts.push(detail);
    }
    parts.push(end);
    parts.join("\n\n")
}

/// Approvals of the current request that do not count.
fn unvouched(run: &Run) -> Option<String> {
    let asked = run.gates.last().filter(|asked| !asked.unvouched.is_empty())?;
    let lines: Vec<String> = asked
        .unvouched
        .iter()
        .map(|one| {
            let by = redact::inline(one.by.as_str(), 60);
            format!("The approval of {by} does not count: {}", sentence(&one.why))
        })
        .collect();
    Some(lines.join("\n"))
}

/// Useful details beyond the state and the request, the most telling first.
fn details(run: &Run) -> Vec<String> {
    let mut parts: Vec<String> = verdicts(run).into_iter().collect();
    parts.extend(merged::not_read(run));
    parts.extend(search::unverified(run));
    if let Some(Some(evidence)) = run
        .proposal
        .as_ref()
        .map(|proposal| proposal.evidence.as_ref().or(run.evidence.as_ref()))
    {
        parts.push(super::evidence::evidence(evidence));
    } else if let Some((before, _)) = run
        .reproduced
        .as_ref()
        .filter(|(before, _)| !before.failures.is_empty())
    {
        parts.push(format!(
            "Failing tests:\n\n{}",
            failures(&before.failures, before.failed)
        ));
    } else if let Some(reading) = run.reading.as_ref().filter(|reading| !reading.excerpt.is_empty()) {
        let shown = if reading.failures.is_empty() {
            folded(
                "From the log of the failed job",
                &redact::fenced("text", &reading.excerpt, 4_000),
            )
        } else {
            let shown = failures(&reading.failures, 0);
            format!("From the log of the failed job:\n\n{shown}")
        };
        parts.push(shown);
    }
    // The evidence of a proposal has them, too.
    let triage = run.reproduced.as_ref().map(|(_, triage)| triage);
    let notes = triage.filter(|_| run.proposal.is_none()).and_then(setup::notes);
    parts.extend(notes.map(|notes| folded("Notes on the installation", &notes)));
    if let Some(first) = run.tests_first.as_ref().filter(|_| run.proposal.is_none()) {
        parts.push(modes::tests(first));
    }
    if !run.turned_down.is_empty() {
        let reasons: Vec<_> = run
            .turned_down
            .iter()
            .map(|down| format!("- {}", redact::prose(&down.reason, 300)))
            .collect();
        parts.push(folded("Rejected so far", &reasons.join("\n")));
    }
    parts
}

/// The tests of a specification, and how they fail.
fn tests_first(tests: &TestsFirst) -> String {
    let diff = tests.patch.unified();
    let whole = redact::code("diff", &diff);
    let shown = if whole.len() <= MAX_TESTS {
        whole
    } else {
        let part = redact::fenced("diff", &diff, MAX_TESTS / 2);
        format!("{part}\n\nThe diff is too long to be shown in full here.")
    };
    let files = super::changed_files(tests.patch.paths().count());
    [
        format!(
            "What they demand, according to the model: {}",
            redact::prose(&tests.summary, 1_000)
        ),
        folded(&format!("The tests: {files}"), &shown),
        folded("How they fail", &failures(&tests.red.failures, tests.red.failed)),
    ]
    .join("\n\n")
}

/// The verdict of each test, if the verdicts are why some or all of them are not worked on.
fn verdicts(run: &Run) -> Option<String> {
    let (_, triage) = run.reproduced.as_ref()?;
    let is_said = run.end.is_none()
        || matches!(
            run.end,
            Some(
                End::NothingToFix { .. }
                    | End::NotJudged { .. }
                    | End::GaveUp { .. }
                    | End::NotFound { .. }
                    | End::LimitReached { found: None, .. }
            )
        );
    let differ = triage.tests.len() > 1 && triage.excused().next().is_some();
    // The evidence of a proposal names the excused tests.
    if !is_said || !differ || run.proposal.is_some() {
        return None;
    }
    super::evidence::verdicts(triage.lines(triage.tests.iter()), triage.tests.len())
}

/// Offers to re-run the failed CI jobs if the code did not make them fail.
pub fn offer_retry(run: &Run) -> Option<String> {
    let (_, triage) = run.reproduced.as_ref()?;
    let may_pass =
        matches!(run.end, Some(End::NothingToFix { .. } | End::NotJudged { .. })) && !triage.has_regression();
    may_pass.then(|| "`/greenlight retry` re-runs the failed jobs on GitHub.".into())
}

#[expect(clippy::too_many_lines, reason = "one arm for each end of a run")]
fn headline(run: &Run) -> String {
    let head = run.started.head.short();
    if let (Some(undone), Some(End::Landed { commit })) = (&run.undone, &run.end) {
        return format!(
            "⚪ **Reverted** with {}: the fix that landed as {}.",
            undone.short(),
            commit.short()
        );
    }
    if run.is_all_accepted() && !matches!(run.end, Some(End::Landed { .. })) {
        let what = match run.parts {
            1 => "The suggestion was committed".into(),
            parts => format!("All {parts} suggestions were committed"),
        };
        let moved = match &run.end {
            Some(End::Superseded { head: new }) => format!("the head moved from {head} to {}, and ", new.short()),
            _ => String::new(),
        };
        return format!("🟢 **{what}:** {moved}nothing is left to commit.");
    }
    match &run.end {
        None => open_headline(run, head),
        Some(End::Landed { commit }) => {
            let passed = run
                .evidence
                .as_ref()
                .map_or_else(String::new, |evidence| format!(": {}", evidence.after.summary()));
            format!("🟢 **Landed as {}**{passed}.", commit.short())
        }
        Some(End::Written) => "🟢 **Written to the working tree.**".into(),
        Some(End::Suggested) if run.proposal.as_ref().is_some_and(|proposal| !proposal.weakens.is_empty()) => {
            "🟠 **The test may be wrong:** this is a change to a test, not a fix of the code. greenlight cannot push to this branch, so its author decides.".into()
        }
        Some(End::Suggested) if run.evidence.is_none() => {
            "🟡 **A fix is suggested, not executed.** greenlight cannot push to this branch, so its author reviews and \
             commits the suggestions."
                .into()
        }
        Some(End::Suggested) => {
            format!(
                "🟡 **A tested {} is suggested.** greenlight cannot push to this branch, so its author commits the \
                     suggestions.",
                modes::made(run)
            )
        }
        Some(End::NotTaken { reason }) => not_taken::headline(run, reason),
        Some(End::Rejected { by, reason }) => {
            let reason = reason
                .as_ref()
                .map_or_else(String::new, |reason| format!(": {}", redact::prose(reason, 300)));
            format!("⚪ **Rejected** by {}{reason}", redact::inline(by.as_str(), 60))
        }
        Some(End::Refused { reason }) => format!("🔴 **Refused.** {}", redact::prose(reason, 1_500)),
        Some(End::Explained(explanation)) => {
            format!(
                "🔵 **Why it fails** on {head}\n\n{}",
                modes::explained(explanation, &run.started.head, None)
            )
        }
        Some(End::PassedMeanwhile) => "⚪ **CI has passed in the meantime.**".into(),
        Some(End::NothingToFix { reason }) => format!("{} {}", merged::nothing(run), sentence(reason)),
        Some(End::NotJudged { reason }) => setup::not_judged(reason),
        Some(End::GaveUp { reason }) if run.proposal.is_some() => {
            let became = if run.is_landing_approved() {
                "did not land"
            } else if run.review.is_none() {
                "could not be posted"
            } else {
                "was suggested, but not committed"
            };
            format!(
                "🔴 **The {} {became}** on {head}. {}",
                modes::made(run),
                sentence(reason)
            )
        }
        Some(End::GaveUp { reason }) => format!("🔴 **{}** for {head}. {}", modes::none_found(run), sentence(reason)),
        Some(End::NotFound { reason, .. }) => {
            format!("🔴 **{}** for {head}. {}", modes::none_found(run), sentence(reason))
        }
        Some(End::LimitReached { reason, found }) => {
            let found = found.as_ref().map_or_else(String::new, |found| format!("\n\n{}", modes::finding(found)));
            format!("🔴 **{}** for {head}. {}{found}", modes::none_found(run), sentence(reason))
        }
        Some(End::Superseded { head: new }) => format!("⚪ **Stopped:** the head moved from {head} to {}. Open requests are void.", new.short()),
        Some(End::Retargeted { from, to }) => format!(
            "⚪ **Stopped:** the base branch changed from {} to {}, where other rules apply. Open requests are void; \
             `/greenlight fix` starts again.",
            redact::inline(from, 100),
            redact::inline(to, 100)
        ),
        Some(End::Cancelled { by }) => {
            format!(
                "⚪ **Cancelled**{}.",
                by.as_ref()
                    .map_or_else(String::new, |by| format!(" by {}", redact::inline(by.as_str(), 60)))
            )
        }
        Some(End::Expired) => "⚪ **Expired:** nobody answered in time. `/greenlight fix` starts again.".into(),
    }
}

fn open_headline(run: &Run, head: &str) -> String {
    let open = run.open_gates();
    match open.first().map(|gate| &gate.kind) {
        Some(GateKind::Search { .. }) => format!("🔴 **CI is red on {head}.** {}", merged::was_read(run)),
        Some(GateKind::VerifyAndLand { .. }) => format!("🟡 **A fix for {head} is suggested, not executed yet.**"),
        Some(GateKind::ChangeTests { .. }) => {
            format!("🟠 **The test may be wrong** on {head}: a change to a test is suggested, not a fix of the code.")
        }
        Some(GateKind::Execute(execution)) => {
            let what = match &execution.what {
                What::Command(_) => "run a command",
                What::Code { .. } => "run its own code",
                What::Tests(_) => "run tests",
                What::Edit { .. } => "change a protected file in its own copy",
            };
            format!("🟡 **The model asks to {what}** while it works on {head}, and waits for an answer.")
        }
        Some(GateKind::Tests { .. }) => format!("🟡 **New tests for {head} are written, and fail as they should.**"),
        Some(GateKind::Land { .. }) => format!("🟡 **A tested {} for {head} is suggested.**", modes::made(run)),
        None if run.started.consent == Consent::None && !run.may_execute() => {
            format!("⏳ Reading what went wrong on {head}.")
        }
        None => format!("⏳ Working on {head}."),
    }
}

/// Why the checks fail, for `/greenlight explain`: what the newest run observed, without guessing.
pub fn explanation(run: Option<&Run>) -> String {
    let Some(run) = run else {
        return "I have not looked yet: no failed check and no `/greenlight fix` on this head.".into();
    };
    if let Some((before, _)) = &run.reproduced {
        return format!(
            "{} on {}: {}.\n\n{}",
            redact::inline(&before.command, 200),
            run.started.head.short(),
            before.summary(),
            failures(&before.failures, before.failed)
        );
    }
    match &run.reading {
        Some(reading) if !reading.failures.is_empty() => failures(&reading.failures, 0),
        Some(reading) => redact::fenced("text", &reading.excerpt, 6_000),
        None => "Nothing was read or run yet on this head.".into(),
    }
}

/// All states of runs, as [`state`] has them.
pub const STATES: [&str; 15] = [
    "working",
    "waiting",
    "landed",
    "written",
    "suggested",
    "explained",
    "rejected",
    "refused",
    "nothing-to-fix",
    "not-reproduced",
    "not-judged",
    "gave-up",
    "superseded",
    "cancelled",
    "expired",
];

/// The state of a run in one word, for machines.
pub fn state(run: &Run) -> &'static str {
    match &run.end {
        None if run.open_gates().is_empty() => "working",
        None => "waiting",
        Some(End::NothingToFix { .. }) if run.is_not_reproduced() => "not-reproduced",
        Some(end) => end.name(),
    }
}

/// The check run of a run's head.
pub fn check(run: &Run, branch: &str) -> CheckText {
    let state = match &run.end {
        None if run.open_gates().is_empty() => CheckState::Working,
        None => CheckState::Waiting,
        Some(End::Landed { .. } | End::Written) => CheckState::Green,
        Some(_) if run.is_all_accepted() => CheckState::NothingDone,
        Some(
            End::Explained(_) | End::NothingToFix { .. } | End::PassedMeanwhile | End::Suggested | End::NotTaken { .. },
        ) => CheckState::NothingDone,
        Some(
            End::GaveUp { .. }
            | End::NotJudged { .. }
            | End::NotFound { .. }
            | End::LimitReached { .. }
            | End::Refused { .. },
        ) => CheckState::NoFix,
        Some(
            End::Rejected { .. }
            | End::Superseded { .. }
            | End::Retargeted { .. }
            | End::Cancelled { .. }
            | End::Expired,
        ) => CheckState::Stopped,
    };
    let title: String = headline(run)
        .replace(['*', '`'], "")
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(120)
        .collect();
    CheckText {
        title,
        summary: redact::bounded(&sticky(run, branch), super::MAX_BODY),
        state,
    }
}

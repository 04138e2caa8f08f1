//! Shows the state of a run in the sticky comment and the check run, by editing them in place.

use super::{Broken, Context, propose, retry};
use crate::domain::gate::GateKind;
use crate::domain::id::{Account, CommitSha, RepoPath};
use crate::domain::mode::Mode;
use crate::domain::reply::{self, CheckState};
use crate::domain::run::{End, Run};
use crate::github::{Annotation, Button, CheckOnHead, CheckRun, Conclusion, Error, MAX_ANNOTATIONS, PostedComment};

/// What was shown while this process works on a run. It is updated without looking for it again.
#[derive(Default)]
pub(super) struct Shown {
    comment: Option<PostedComment>,
    check: CheckOnHead,
    /// The title of the check run while it is in progress.
    progress: Option<String>,
}

impl Shown {
    /// Where no check run of greenlight's can exist yet.
    pub(super) fn nothing_on(head: &CommitSha) -> Self {
        Self {
            check: CheckOnHead::None(head.clone()),
            ..Self::default()
        }
    }
}

/// Brings the sticky comment and the check run up to date. Calling it twice changes nothing the second time.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn announce(context: &Context<'_>, run: &Run, shown: &mut Shown) -> Result<(), Broken> {
    let branch = &context.pull_request.head_branch;
    if run.started.mode == Mode::Explain {
        return answer(context, run).await;
    }
    let mut runs = context.app.journal.runs_of(context.id()).await?;
    // Explanations answer separately and do not replace the comment of another run.
    runs.retain(|run| run.started.mode != Mode::Explain);
    let newer: Vec<&Run> = runs.iter().rev().take_while(|other| other.id() != run.id()).collect();
    // The comment belongs to the newest run, and a check run to the newest run of its head. An older run that ends
    // late does not overwrite them.
    if newer.iter().any(|other| other.started.head == run.started.head) {
        return Ok(());
    }
    let ends_in_words = run.end.as_ref().is_some_and(|end| *end != End::PassedMeanwhile);
    let has_something_to_say = (!run.gates.is_empty() || ends_in_words) && newer.is_empty();
    if has_something_to_say {
        // An approval means what the review shows, so the review must be visible first. Nothing more is asked about
        // an old head.
        let lands = run.open_gates().first().is_some_and(|gate| gate.kind.lands());
        if lands && !propose::is_shown(context, run).await? {
            return Ok(());
        }
    }
    let text = reply::check(run, branch);
    let check = CheckRun {
        head: run.started.head.clone(),
        conclusion: conclusion(text.state),
        title: text.title,
        summary: text.summary,
        annotations: annotations(run),
        // No workflow starts when a button is pressed, and a press leaves nothing that could be read and verified
        // later.
        buttons: if context.app.journal.is_own() {
            buttons(run, &runs)
        } else {
            Vec::new()
        },
    };
    let (client, repository) = (&context.client, &context.id().repository);
    let Shown {
        comment,
        check: of_head,
        progress,
    } = shown;
    let stuck = async {
        match has_something_to_say {
            true => stick(context, (run, &runs), comment).await,
            false => Ok(()),
        }
    };
    let checked = async {
        // The details follow with the result.
        let now = check.conclusion.is_none().then(|| check.title.clone());
        if now.is_none() || *progress != now {
            map_result(client.check(repository, &check, of_head).await)?;
            *progress = now;
        }
        Ok(())
    };
    let landed = async {
        let Some(End::Landed { commit }) = &run.end else {
            return Ok(());
        };
        // The landed tree is the one that was tested, so the new head is green, too.
        let check = CheckRun {
            head: commit.clone(),
            annotations: Vec::new(),
            buttons: Vec::new(),
            ..check.clone()
        };
        map_result(client.check(repository, &check, &mut CheckOnHead::default()).await)
    };
    // Each is completed, even if another fails: a change that was cut off would have an unclear result.
    let (stuck, checked, landed) = tokio::join!(stuck, checked, landed);
    let all: Result<(), Error> = stuck.and(checked).and(landed);
    Ok(all?)
}

/// Posts the sticky comment, or edits it.
async fn stick(
    context: &Context<'_>,
    (run, runs): (&Run, &[Run]),
    known: &mut Option<PostedComment>,
) -> Result<(), Error> {
    let offer = retry::failed_on(runs, &run.started.head).and_then(|_| reply::offer_retry(run));
    let sticky = reply::sticky(run, &context.pull_request.head_branch);
    let parts: Vec<String> = [Some(sticky), offer].into_iter().flatten().collect();
    let marker = match run.open_gates().first() {
        Some(gate) => format!("{}\n{}", reply::STICKY_MARKER, reply::gate_marker(gate)),
        None => reply::STICKY_MARKER.into(),
    };
    let body = reply::marked(&marker, &parts.join("\n\n"));
    let accounts = runs.iter().filter_map(|run| run.started.writes_as.as_ref());
    let accounts: Vec<Account> = accounts.map(|login| Account::new(login.as_str())).collect();
    let (accounts, text) = (
        (&context.me, accounts.as_slice()),
        (reply::STICKY_MARKER, body.as_str()),
    );
    map_result(context.client.stick(context.id(), accounts, text, known).await)
}

/// Answers the comment that asked for an explanation, once. Nothing else is posted or changed.
async fn answer(context: &Context<'_>, run: &Run) -> Result<(), Broken> {
    let text = match &run.end {
        None | Some(End::PassedMeanwhile) => return Ok(()),
        Some(End::Explained(explanation)) => {
            let url = context.app.github.clone_url(&context.id().repository);
            let blobs = format!("{}/blob", url.as_str().trim_end_matches(".git"));
            let head = &run.started.head;
            let explained = reply::explained(explanation, head, Some(&blobs));
            format!("**Why it fails** on {}\n\n{explained}", head.short())
        }
        Some(_) => reply::sticky(run, &context.pull_request.head_branch),
    };
    let marker = reply::explained_marker(run);
    let body = reply::marked(&marker, &text);
    context
        .client
        .comment_once(context.id(), &context.me, &marker, &body)
        .await?;
    Ok(())
}

/// Logs, but does not return, a refusal by GitHub: a plain token may not write check runs, and a locked conversation
/// takes no comments.
fn map_result(result: Result<u64, Error>) -> Result<(), Error> {
    match result {
        Ok(_) => Ok(()),
        Err(error @ Error::Refused { .. }) => {
            tracing::warn!(%error, "GitHub rejected an announcement");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn conclusion(state: CheckState) -> Option<Conclusion> {
    match state {
        CheckState::Working => None,
        CheckState::Waiting => Some(Conclusion::ActionRequired),
        CheckState::Green => Some(Conclusion::Success),
        CheckState::NothingDone => Some(Conclusion::Neutral),
        CheckState::NoFix => Some(Conclusion::Failure),
        CheckState::Stopped => Some(Conclusion::Cancelled),
    }
}

/// Annotates failing tests on their lines, if the path is in the repository and the line is the head's.
fn annotations(run: &Run) -> Vec<Annotation> {
    let is_of_head = |path: &RepoPath| {
        run.red_merge()
            .is_none_or(|merged| merged.has_lines_of_head(path.as_str()))
    };
    let reproduced = run.reproduced.as_ref().map(|(before, _)| &before.failures);
    let failures = reproduced.or(run.reading.as_ref().map(|reading| &reading.failures));
    failures
        .into_iter()
        .flatten()
        .filter_map(|failure| {
            let at = failure.location.as_ref()?;
            let path = at.path.parse().ok().filter(is_of_head)?;
            // The test claims this path as well, so a path that redaction would change is dropped.
            (crate::domain::redact::redact(&crate::domain::redact::visible(path.as_str())) == path.as_str())
                .then_some(())?;
            let message = crate::domain::redact::bounded(
                &crate::domain::redact::redact(&crate::domain::redact::visible(&failure.message)),
                2_000,
            );
            let message = if message.trim().is_empty() {
                "fails".into()
            } else {
                message
            };
            Some(Annotation {
                path: path.to_string(),
                line: at.line.max(1),
                message,
            })
        })
        .take(MAX_ANNOTATIONS)
        .collect()
}

/// The buttons of the check run: approve and reject for an open gate, and a re-run where GitHub Actions is known to
/// have failed.
fn buttons(run: &Run, runs: &[Run]) -> Vec<Button> {
    let mut buttons = run.open_gates().first().map_or_else(Vec::new, |gate| {
        let does = match gate.kind {
            GateKind::Search { .. } => "Run the tests and search for a fix",
            GateKind::VerifyAndLand { .. } => "Run the tests and commit if green",
            GateKind::Land { .. } => "Commit exactly what was tested",
            GateKind::ChangeTests { .. } => "Commit a change to tests",
            GateKind::Execute(_) => "Do exactly what the request says",
            GateKind::Tests { .. } => "Write the code for these tests",
        };
        // The label says what it does, so that nobody mistakes it for a fix.
        let approve = if gate.kind.wants_its_name() {
            "Change the tests"
        } else {
            "Approve"
        };
        vec![
            Button {
                label: approve,
                description: does,
                identifier: format!("approve:{}", gate.id),
            },
            Button {
                label: "Reject",
                description: "Turn this down",
                identifier: format!("reject:{}", gate.id),
            },
        ]
    });
    if retry::failed_on(runs, &run.started.head).is_some() {
        buttons.push(Button {
            label: "Re-run failed jobs",
            description: "Have GitHub re-run the failed CI jobs",
            identifier: retry::BUTTON.into(),
        });
    }
    buttons
}

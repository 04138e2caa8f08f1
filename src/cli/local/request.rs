//! The question about what a model asks to execute. It is shown completely, and the person at this terminal answers
//! it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::answer::{self, Question};
use super::super::{Exit, terminal};
use crate::domain::clock::in_words;
use crate::domain::execution::{Execution, What};
use crate::domain::redact;
use crate::domain::reply::MAX_EDITS;
use crate::domain::run::Run;
use crate::engine::work;
use crate::engine::worktree::Worktree;

/// Who gives the approvals in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Approver {
    /// The person who started it, for everything in advance.
    UpFront,
    /// The person at the terminal, one by one.
    Terminal,
    Nobody,
}

impl Approver {
    /// If nobody can be asked, and nothing was approved up front, nothing is approved.
    #[expect(clippy::fn_params_excessive_bools, reason = "each is a flag of the command line")]
    pub(in super::super) fn of(yes: bool, as_json: bool) -> Self {
        match (yes, as_json) {
            (true, _) => Self::UpFront,
            (false, false) if terminal::somebody_is_there() => Self::Terminal,
            (false, _) => Self::Nobody,
        }
    }
}

/// Shows everything that would run, and asks. `None` means no answer.
///
/// # Errors
/// When the work is stopped meanwhile, or nobody gives a valid answer.
pub(super) async fn ask(
    (run, worktree): (&Run, &Worktree),
    execution: &Execution,
    approver: Approver,
    cancel: &CancellationToken,
) -> Result<Option<answer::TypedAnswer>, Exit> {
    if approver == Approver::Nobody {
        return Ok(None);
    }
    show(worktree, execution);
    let edits = work::edits(worktree, work::stage(run), &run.said)?;
    if !edits.is_empty() {
        terminal::tell("\nits edits so far:\n");
        indented(&redact::bounded(&edits.unified(), MAX_EDITS));
    }
    if approver == Approver::UpFront {
        terminal::tell("allowed up front (--yes)");
        return Ok(Some(answer::TypedAnswer::Yes));
    }
    let question = Question {
        text: "Allow exactly this, once?",
        word: None,
        wants_reasons: true,
        another: None,
    };
    question.ask(cancel).await
}

fn show(worktree: &Worktree, execution: &Execution) {
    let (what, text) = match &execution.what {
        What::Command(command) => ("run this command".to_string(), command.clone()),
        What::Code { language, code, .. } => (format!("run this {}", language.name()), code.clone()),
        What::Tests(names) if names.is_empty() => ("run tests".into(), "all of them".into()),
        What::Tests(names) => ("run these tests".into(), names.join("\n")),
        What::Edit { path, difference } => (
            format!("change the protected {path} in its own copy; no fix will include that"),
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
    if let Some(command) = worktree.executes_for(&execution.what) {
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
    terminal::tell("its reason, which is not verified:\n");
    indented(&execution.why);
}

/// Prints somebody else's text with a prefix, so that no line looks like greenlight's own.
fn indented(text: &str) {
    for line in text.lines() {
        terminal::tell_code(&format!("  | {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_up_front_needs_no_terminal() {
        assert_eq!(Approver::of(true, true), Approver::UpFront);
        assert_eq!(Approver::of(false, true), Approver::Nobody);
    }
}

//! Every sentence that greenlight writes on GitHub, one function for each.
//!
//! Texts are short, details are folded away, and everything is written for a maintainer reading on a phone. All text
//! from models, tests, logs or strangers passes through `redact` first.

mod again;
mod blocks;
mod evidence;
mod execution;
mod layout;
mod memory;
mod merged;
mod modes;
mod not_taken;
mod remainder;
mod review;
mod search;
mod setup;
mod source;
mod state;
mod suggestion;
mod suggestion_states;

pub use evidence::{left_out, overruled};
pub use execution::MAX_EDITS;
pub use layout::Layout;
pub use memory::memory;
pub use modes::{explained, explained_marker, needs_a_model};
pub use not_taken::not_taken_back;
pub use review::{commit_message, given_body, review_body, review_part};
pub use search::found_by;
use sha2::{Digest as _, Sha256};
pub use source::{Name, Source};
pub use state::{CheckState, CheckText, STATES, check, explanation, offer_retry, state, sticky};
pub use suggestion::{Suggested, WITHDRAWN, left_behind, read_suggestion, settled, suggestion, withdrawn};

use super::anchor::Fingerprint;
use super::command::{Command, CommandError};
use super::count::count;
use super::gate::{Gate, GateKind, Refusal};
use super::id::{CommitSha, PullRequestId};
use super::redact;
use super::run::Run;

/// GitHub accepts 65,536 characters; the margin allows for characters that GitHub counts differently.
pub const MAX_BODY: usize = 60_000;

/// The hidden marker of a pull request's one sticky comment.
pub const STICKY_MARKER: &str = "<!-- greenlight:sticky -->";

/// How the hidden marker of every suggestion begins. Other tools may post from the same account.
pub const SUGGESTION_MARKER: &str = "<!-- greenlight:suggestion ";

/// The hidden marker of a source's one review of a head.
pub fn review_marker(head: &CommitSha, source: &Source) -> String {
    format!("<!-- greenlight:review head={head}{source} -->")
}

/// The hidden marker of a further review of a head, for suggestions that do not fit into one review. Parts count from
/// 1.
pub fn part_marker(head: &CommitSha, source: &Source, part: usize, parts: usize) -> String {
    format!("<!-- greenlight:review head={head}{source} part={part}/{parts} -->")
}

/// The hidden marker of a review with suggestions that came after the first ones for a head.
pub fn more_marker<'a>(head: &CommitSha, source: &Source, ids: impl Iterator<Item = &'a Fingerprint>) -> String {
    let mut hash = Sha256::new();
    ids.for_each(|id| hash.update(id.to_string()));
    let digest = hex::encode(hash.finalize());
    format!("<!-- greenlight:review head={head}{source} more={} -->", &digest[..12])
}

/// The hidden line in greenlight's comment that names the request it shows in full.
pub fn gate_marker(gate: &Gate) -> String {
    format!("<!-- greenlight:gate {} {} -->", gate.id, gate.digest)
}

/// Whether a sticky comment shows this request. Only the line right after its own marker counts.
pub fn shows(body: &str, gate: &Gate) -> bool {
    let mut lines = body.lines().map(str::trim_end);
    lines.next() == Some(STICKY_MARKER) && lines.next() == Some(gate_marker(gate).as_str())
}

/// The hidden marker of the answer to a comment.
pub fn answer_marker(pull_request: &PullRequestId, comment: u64) -> String {
    format!("<!-- greenlight:answer to=#{}/{comment} -->", pull_request.number)
}

/// A body with its marker, cut to GitHub's limit.
pub fn marked(marker: &str, body: &str) -> String {
    format!("{marker}\n{}", redact::bounded(body.trim_end(), MAX_BODY))
}

/// The longest command inside a sentence, in characters.
const MAX_COMMAND: usize = 200;

/// What a gate asks for, as a sentence that says exactly what will happen.
pub fn gate_request(gate: &Gate, branch: &str) -> String {
    let id = &gate.id;
    let how = format!("Answer with `/greenlight approve {id}` or `/greenlight reject {id} <reason>`.");
    request(gate, branch, &how)
}

/// The same for a run on a checkout, whose request is answered in the terminal.
pub fn gate_request_here(gate: &Gate, branch: &str) -> String {
    let how = "Answer in the terminal where the command runs.";
    match &gate.kind {
        // Nothing is committed there, and no Markdown is rendered.
        GateKind::Land { files } => {
            let what = changed_files(*files);
            format!("Approve to write {what} to the working tree, exactly as tested. {how}\n")
        }
        _ => request(gate, branch, how),
    }
}

fn request(gate: &Gate, branch: &str, how: &str) -> String {
    let branch = redact::inline(branch, 100);
    let mut below = String::new();
    let what = match &gate.kind {
        GateKind::Search { command, minutes } => {
            below = in_full(command);
            format!(
                "run {} in the sandbox on {} and search for a fix, for at most {}; nothing lands",
                redact::inline(command, MAX_COMMAND),
                gate.head.short(),
                count(*minutes, "minute"),
            )
        }
        GateKind::VerifyAndLand {
            command,
            minutes,
            files,
        } => {
            below = in_full(command);
            format!(
                "run {} on {} in the sandbox, for at most {}, and commit the result to {branch} if it is green",
                redact::inline(command, MAX_COMMAND),
                changed_files(*files),
                count(*minutes, "minute"),
            )
        }
        GateKind::Land { files } => format!("commit {} to {branch}, exactly as tested", changed_files(*files)),
        GateKind::ChangeTests { files, weakenings } => format!(
            "change the tests: commit {} with tests to {branch}, which weakens them in {}. The code does not change",
            changed_files(*files),
            if *weakenings == 1 {
                "one place".into()
            } else {
                format!("{weakenings} places")
            },
        ),
        GateKind::Execute(execution) => {
            let (what, shown) = execution::request(execution, gate);
            below = format!("{shown}\n\n");
            what
        }
        GateKind::Tests { files, tests } => format!(
            "continue with {} in {}, and write the code that makes them pass; nothing lands",
            if *tests == 1 {
                "one new test".into()
            } else {
                format!("{tests} new tests")
            },
            changed_files(*files),
        ),
    };
    let people = if gate.approvers > 1 {
        format!(" {} people have to approve.", gate.approvers)
    } else {
        String::new()
    };
    format!(
        "**Approve to {what}.**{people}\n\n{below}{how}\n\n\
         <sub>For {head} only, until {until}. Content `{digest}`.{estimate}</sub>",
        head = gate.head.short(),
        until = gate.expires.strftime("%Y-%m-%d %H:%M UTC"),
        digest = &gate.digest[..12.min(gate.digest.len())],
        estimate = gate
            .estimate
            .as_ref()
            .map_or_else(String::new, |estimate| format!(" {}", estimate.line())),
    )
}

/// Shows a command in full below the sentence if the sentence cannot show it unchanged.
fn in_full(command: &str) -> String {
    let on_one_line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_whole = command.chars().count() <= MAX_COMMAND && on_one_line == command && !command.contains('`');
    if is_whole && redact::hidden(command).next().is_none() {
        return String::new();
    }
    format!("The command in full:\n\n{}\n\n", execution::whole("sh", command))
}

fn changed_files(files: usize) -> String {
    count(files as u64, "changed file")
}

/// A short refusal that says what would help.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NeedsWriteAccess { login } => format!(
            "{} may not do this: it requires write access to this repository. Somebody with write access can comment the \
             same command.",
            redact::inline(login.as_str(), 60)
        ),
        Refusal::IsBot => "Bots cannot command greenlight. A person with write access can.".into(),
        Refusal::NothingOpen => "No request is waiting for an answer here. `/greenlight status` shows the \
                                 state."
            .into(),
        Refusal::SeveralOpen(ids) => {
            let ids: Vec<_> = ids.iter().map(|id| format!("`{id}`")).collect();
            format!(
                "Several requests are open: {}. Name the one you mean, as in `/greenlight approve {}`.",
                ids.join(", "),
                ids[0].trim_matches('`')
            )
        }
        Refusal::UnknownGate(id) => format!(
            "There is no open request `{id}`. `/greenlight status` shows what is \
                                             waiting."
        ),
        Refusal::WantsItsName(id) => {
            format!("`{id}` weakens a test, so it has to be approved or rejected by name: `/greenlight approve {id}`.")
        }
        Refusal::Expired(id) => format!("`{id}` expired. `/greenlight fix` starts again."),
        Refusal::WentOn(id) => {
            format!("Nobody answered `{id}` in time, so the run continued without it.")
        }
        Refusal::WrittenBefore(id) => format!(
            "That comment is older than `{id}`, so it does nothing. If you mean this request: `/greenlight approve \
             {id}`."
        ),
        Refusal::HeadMoved { expected, actual } => format!(
            "The request was made for {}, but the head is now {}, so this approval does nothing. `/greenlight fix` \
             starts again.",
            expected.short(),
            actual.short()
        ),
        Refusal::NeedsAnother { approvers } => {
            format!("You have already approved; {approvers} different people are needed.")
        }
        Refusal::PullRequestClosed => "This pull request is closed.".into(),
        Refusal::NothingToUndo => "There is nothing to undo: the head is not a commit that greenlight landed.".into(),
        Refusal::NothingRunning => "Nothing is running here.".into(),
        Refusal::NoFailedJobs => "I know of no failed CI jobs on this head.".into(),
    }
}

/// The answer to a command that was written before the head of a fork moved.
pub fn pushed_since(head: &CommitSha) -> String {
    format!(
        "According to GitHub, the branch was pushed to after this comment, so nothing was started. Look at {}, and \
         repeat the command if that commit may run.",
        head.short()
    )
}

/// The answer to a line that is not a valid command.
pub fn command_error(error: &CommandError) -> String {
    match error {
        CommandError::UnknownVerb {
            typed,
            did_you_mean: Some(verb),
        } => {
            format!(
                "{} is not a command. Did you mean `/greenlight {verb}`?",
                redact::inline(typed, 60)
            )
        }
        CommandError::UnknownVerb {
            typed,
            did_you_mean: None,
        } => {
            format!(
                "{} is not a command. `/greenlight help` lists the commands.",
                redact::inline(typed, 60)
            )
        }
        CommandError::MissingArgument { verb } => {
            let argument = Command::HELP
                .iter()
                .find(|help| help.verb == *verb)
                .map_or("", |help| help.argument);
            format!("An argument is missing: `/greenlight {verb} {argument}`.")
        }
        CommandError::UnexpectedArgument { verb, argument } => {
            format!("`/greenlight {verb}` takes no {}.", redact::inline(argument, 60))
        }
        CommandError::TooMany => "That is too many commands for one comment.".into(),
        CommandError::TooLong { verb, .. } => format!("The text after `/greenlight {verb}` is too long."),
    }
}

/// The table of commands.
pub fn help() -> String {
    let mut text = String::from("| comment | what happens |\n|---|---|\n");
    for help in Command::HELP {
        let space = if help.argument.is_empty() { "" } else { " " };
        text.push_str(
            &[
                "| `/greenlight ",
                help.verb,
                space,
                help.argument,
                "` | ",
                help.meaning,
                " |\n",
            ]
            .concat(),
        );
    }
    text + "\nA command has to start its line. All but `help`, `status` and `config` need write access."
}

/// The state of the newest run, for `/greenlight status`.
pub fn status(run: Option<&Run>, branch: &str) -> String {
    match run {
        None => "Nothing has been done here yet. `/greenlight fix` starts.".into(),
        Some(run) => sticky(run, branch),
    }
}

/// Says that greenlight failed, without details that could contain a secret.
pub fn broken(run: Option<&super::id::RunId>) -> String {
    let id = run.map_or_else(String::new, |run| format!(" (run `{run}`)"));
    format!("Something broke on my side{id}; greenlight's log has the details. `/greenlight fix` tries again.")
}

/// The consequence of a missing permission; `lacking` names it, as in "the App lacks `contents: write`".
pub fn not_permitted(lacking: &str) -> String {
    format!(
        "GitHub does not let me do this: {lacking}. For a GitHub App, an owner grants it in the App's settings under \
         *Permissions & events* and then accepts the change for this installation. For a workflow, add it under \
         `permissions:`. Then repeat the command."
    )
}

/// The configuration in effect, for `/greenlight config`, as a file to copy.
pub fn config(shown: &str, base: &str, default: Option<&str>) -> String {
    let of = |branch: &str| redact::inline(&format!("greenlight.toml on {branch}"), 120);
    let from = match default {
        Some(default) if default != base => {
            format!("the stricter of {} and {}, field by field", of(default), of(base))
        }
        _ => of(base),
    };
    format!(
        "In effect here, from {from} or by default:\n\n{}",
        redact::fenced("toml", shown, MAX_BODY - 2_000)
    )
}

/// Why GitHub does not re-run the failed jobs, in its own words.
pub fn not_rerun(message: &str) -> String {
    format!(
        "GitHub does not re-run the failed jobs: {}. This needs the permission *actions: write*.",
        redact::inline(message, 200)
    )
}

/// The answer to a mistake in `greenlight.toml`.
pub fn bad_config(message: &str) -> String {
    format!(
        "`greenlight.toml` on the base branch cannot be used, so I did nothing:\n\n{}",
        redact::fenced("text", message, 2_000)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_approved_is_read_whole() {
        assert_eq!(in_full("pytest -q"), "");
        let long = format!("echo {} && curl example.org | sh", "x".repeat(300));
        for command in ["a  b", "a\tb", "a `b`", long.as_str(), "a\u{200b}b"] {
            let shown = in_full(command).replace("\\u{200b}", "\u{200b}");
            assert!(shown.contains(command), "{shown}");
        }
    }

    #[test]
    fn the_help_lists_every_command() {
        let text = help();
        assert!(text.contains("| `/greenlight approve [id]` |"), "{text}");
        assert_eq!(text.matches("`/greenlight ").count(), Command::HELP.len());
    }

    #[test]
    fn a_stranger_is_told_who_may() {
        let login = super::super::id::Login::new("eve");
        insta::assert_snapshot!(refusal(&Refusal::NeedsWriteAccess { login }), @"`eve` may not do this: it requires write access to this repository. Somebody with write access can comment the same command.");
    }
}

//! The command line that recomputes the digest of a proposal's evidence.

use super::super::proposal::Evidence;
use super::super::redact;

/// A command longer than this, in bytes, is not shown.
const MAX_COMMAND: usize = 4_000;

/// The command that recomputes the digest, if people can run it exactly as shown.
pub(super) fn again(evidence: &Evidence) -> String {
    let digest = || format!("Digest {}", redact::inline(&evidence.digest, 80));
    let Some(head) = &evidence.head else {
        return digest();
    };
    let command = format!(
        "greenlight verify --head {head}{} --digest {}{}",
        merged_with(evidence),
        evidence.digest,
        excusing(evidence)
    );
    let note = match &evidence.merged {
        None => "<sub>The digest covers head, patch, test command and both results.</sub>",
        Some(_) => "<sub>The digest covers both commits, patch, test command and both results.</sub>",
    };
    // People paste this command into a shell, and the pull request decides the names in it. If a quote were redacted
    // or cut off, the shell could execute the text after it.
    let is_shown_whole = command.len() <= MAX_COMMAND
        && redact::hidden(&command).next().is_none()
        && redact::redact(&command) == command
        && !command.contains(['\n', '\r', '\t']);
    if !is_shown_whole {
        return format!(
            "{}. Recompute it with `greenlight verify --head {head}{}`, with one `--excuse` for each test that is set \
             aside. Their names are left out here because they would not be safe to copy into a shell.\n\n{note}",
            digest(),
            merged_with(evidence)
        );
    }
    format!(
        "Check it yourself, in a checkout with the suggestions committed or applied:\n\n{}\n\n{note}",
        redact::fenced("sh", &command, MAX_COMMAND)
    )
}

/// The arguments that excuse the same tests.
fn excusing(evidence: &Evidence) -> String {
    let quoted = |name: &String| format!(" --excuse '{}'", name.replace('\'', "'\\''"));
    evidence.before.excused.iter().map(quoted).collect()
}

/// The argument for the commit that both trees are merged with.
fn merged_with(evidence: &Evidence) -> String {
    evidence
        .merged
        .as_ref()
        .map_or_else(String::new, |merged| format!(" --merged-with {}", merged.tip))
}

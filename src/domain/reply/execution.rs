//! What a model asks for, as a person reads it before they say yes: all of it, and nothing that hides.

use super::super::execution::{Execution, What};
use super::super::id::CommitSha;
use super::super::redact;

/// The sentence after "Approve to", and below it the code, if there is some.
pub(super) fn request(execution: &Execution, head: &CommitSha) -> String {
    let minutes = execution.seconds.div_ceil(60);
    let network = match execution.network.join(", ").as_str() {
        "" => "without network".into(),
        hosts => format!("with network access to {}", redact::inline(hosts, 500)),
    };
    let on = match execution.files {
        0 => head.short().to_string(),
        1 => format!("{} with 1 changed file", head.short()),
        files => format!("{} with {files} changed files", head.short()),
    };
    match &execution.what {
        What::Command(command) => format!(
            "run {} in the sandbox on {on}, {network}, at most {minutes} minutes; nothing lands",
            redact::inline(command, 2_000)
        ),
        What::Code {
            language,
            code,
            packages,
        } => {
            let packages = match packages.join(", ").as_str() {
                "" => String::new(),
                some => format!(", after installing {}", redact::inline(some, 1_000)),
            };
            format!(
                "run this {} in the sandbox on {on}{packages}, {network}, at most {minutes} minutes; nothing lands**\n\n{}\n\n**",
                language.name(),
                redact::fenced(language.name(), code, 16 << 10)
            )
        }
        What::Tests(names) => format!(
            "run {} in the sandbox on {on}, {network}, at most {minutes} minutes; nothing lands",
            if names.is_empty() {
                "all tests".into()
            } else {
                redact::inline(&names.join(", "), 2_000)
            }
        ),
        What::Edit { path, difference } => format!(
            "let the model change the protected {} in its own copy of {on}; no proposal will have it**\n\n{}\n\n**",
            redact::inline(path.as_str(), 300),
            redact::fenced("diff", difference, 16 << 10)
        ),
    }
}

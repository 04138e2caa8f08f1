//! What no suggestion carries: why, as a diff to read, and as one line that applies it.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::review::Layout;
use super::state::folded;
use crate::domain::anchor::Cut;
use crate::domain::redact;

/// How many files are named with their reasons.
const MAX_NAMED: usize = 10;

/// A longer diff, in bytes, is cut in the review.
const MAX_DIFF: usize = 32_000;

/// A longer line than this is not for anybody's clipboard.
const MAX_LINE: usize = 12_000;

/// The part of a review's body on the remainder; none when the suggestions carry everything.
pub(super) fn remainder(layout: &Layout<'_>) -> Option<String> {
    let cut = layout.cut;
    if cut.remainder.is_empty() {
        return None;
    }
    let what = if layout.is_refused {
        "GitHub did not take the suggestions for these lines, so all of it comes as a patch."
    } else if cut.suggestions.is_empty() {
        "No changed line of this pull request can carry the fix as a suggestion; here it is as a patch."
    } else {
        "This part lies outside the changed lines, or cannot be a suggestion."
    };
    let lands = if layout.can_land {
        " It lands with the same approval."
    } else {
        ""
    };
    let diff = cut.remainder.unified();
    let shown = redact::code("diff", &redact::bounded(&diff, MAX_DIFF));
    let line = one_liner(&diff).map_or_else(String::new, |line| {
        let after = if cut.suggestions.is_empty() {
            "In a checkout of this head"
        } else {
            "In a checkout with the suggestions committed"
        };
        format!("\n\n{after}:\n\n```sh\n{line}\n```")
    });
    let title = format!("Patch of {}", super::changed_files(cut.remainder.paths().count()));
    let body = format!("{}\n\n{shown}{line}", reasons(cut));
    Some(format!("{what}{lands}\n\n{}", folded(&title, &body)))
}

fn reasons(cut: &Cut) -> String {
    let mut rows: Vec<String> = cut
        .left_out
        .iter()
        .take(MAX_NAMED)
        .map(|(path, reasons)| {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            format!("- {}: {}", redact::inline(path.as_str(), 200), reasons.join("; "))
        })
        .collect();
    if cut.left_out.len() > MAX_NAMED {
        rows.push(format!("- … and {} more files", cut.left_out.len() - MAX_NAMED));
    }
    rows.join("\n")
}

/// One line that applies exactly these bytes, whatever a clipboard makes of line ends, tabs and what nobody sees.
fn one_liner(diff: &str) -> Option<String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(diff.as_bytes()).ok()?;
    let line = format!(
        "echo {} | base64 -d | gunzip | git apply",
        STANDARD.encode(packed.finish().ok()?)
    );
    (line.len() <= MAX_LINE).then_some(line)
}

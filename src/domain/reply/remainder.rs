//! The part of a patch that no suggestion contains: the reasons, the diff, and a command that applies it.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::blocks::folded;
use super::layout::Layout;
use crate::domain::anchor::Cut;
use crate::domain::redact;

/// How many files are listed with their reasons.
const MAX_NAMED: usize = 10;

/// A diff longer than this, in bytes, is cut in the review, and then has no command that applies it.
const MAX_DIFF: usize = 32_000;

/// A command longer than this, in bytes, is too long to paste.
const MAX_LINE: usize = 12_000;

/// The section about the remainder in a review's body. `None` if the suggestions cover the whole patch.
pub(super) fn remainder(layout: &Layout<'_>) -> Option<String> {
    let cut = layout.cut;
    if cut.remainder.is_empty() {
        return None;
    }
    let what = if layout.is_refused {
        "GitHub rejected the suggestions for these lines, so here is the whole fix as a patch."
    } else if cut.suggestions.is_empty() && cut.left_out.is_empty() {
        "Here is the whole fix as one patch."
    } else if cut.suggestions.is_empty() {
        "The fix cannot be attached to changed lines as suggestions, so here it is as a patch."
    } else {
        "This part is outside the changed lines, or cannot be expressed as a suggestion."
    };
    let lands = if layout.can_land {
        " The same approval lands it."
    } else {
        ""
    };
    let diff = cut.remainder.unified();
    let whole = redact::code("diff", &diff);
    let shown = if whole.len() <= MAX_DIFF {
        format!("{whole}{}", pasted(cut, &diff))
    } else {
        let part = redact::code("diff", &redact::bounded(&diff, MAX_DIFF / 2));
        let part = if part.len() <= MAX_DIFF { part } else { String::new() };
        format!("{part}\n\nIt is too long to be shown in full here.")
    };
    let title = format!("Patch of {}", super::changed_files(cut.remainder.paths().count()));
    let body = format!("{}\n\n{shown}", reasons(cut));
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

/// How to apply exactly what is shown from a shell; empty if the command would be too long.
fn pasted(cut: &Cut, diff: &str) -> String {
    let after = if cut.suggestions.is_empty() {
        "In a checkout of this head"
    } else {
        "In a checkout with the suggestions committed"
    };
    one_liner(diff).map_or_else(String::new, |line| format!("\n\n{after}:\n\n```sh\n{line}\n```"))
}

/// A command that applies exactly these bytes, even if a clipboard changes line ends, tabs or invisible characters,
/// in any directory of the checkout and with any git configuration.
fn one_liner(diff: &str) -> Option<String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(diff.as_bytes()).ok()?;
    let packed = STANDARD.encode(packed.finish().ok()?);
    let apply = "git -C \"$(git rev-parse --show-toplevel)\" apply --whitespace=nowarn";
    let line = format!("echo {packed} | base64 -d | gunzip | {apply}");
    (line.len() <= MAX_LINE).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::anchor::cut;
    use crate::domain::patch::{Blob, FileChange, Patch};

    fn shown(after: &str) -> String {
        let change = FileChange {
            before: None,
            after: Some(Blob::regular(after)),
        };
        let cut = cut(&Patch::new([("run.sh".parse().unwrap(), change)]), &[]);
        let layout = Layout {
            cut: &cut,
            carried: 0,
            can_land: true,
            is_refused: false,
        };
        remainder(&layout).unwrap()
    }

    #[test]
    fn a_patch_comes_with_the_line_that_applies_it() {
        let shown = shown("echo hello\n");
        assert!(
            shown.contains("+echo hello\n") && shown.contains("a new file"),
            "{shown}"
        );
        assert!(shown.contains("| gunzip | git -C"), "{shown}");
    }

    #[test]
    fn nothing_is_pasted_that_is_not_shown() {
        let sea = "echo hello\n".repeat(2_000);
        for hidden in [format!("{sea}evil\n{sea}"), "`".repeat(50_000) + "\n"] {
            let shown = shown(&hidden);
            assert!(!shown.contains("gunzip") && shown.contains("too long"), "{shown}");
            assert!(shown.len() < 40_000 && shown.ends_with("</details>"), "{}", shown.len());
        }
    }
}

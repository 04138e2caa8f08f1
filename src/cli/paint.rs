//! Colours, as controlled by `--color`, `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`. Text is coloured last, line by
//! line, after everything that could control a terminal has been removed.

use anstream::AutoStream;
use anstream::stream::RawStream;
use anstyle::{AnsiColor, Style};

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub(super) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

impl When {
    /// Applies the choice to the whole process.
    pub(super) fn decide(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Whether this stream gets colours.
pub(super) fn is_wanted(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != anstream::ColorChoice::Never
}

/// How the lines before a hunk begin.
const HEADERS: [&str; 8] = [
    "diff ",
    "index ",
    "--- ",
    "+++ ",
    "new ",
    "old ",
    "deleted ",
    "GIT binary ",
];

/// Colours a unified diff as git does: headers are bold, and a line is removed or added only inside a hunk.
pub(super) fn diff(text: &str) -> String {
    let mut left = (0, 0);
    let lines = text.split('\n').map(|line| {
        let (style, colored) = in_diff(line, &mut left);
        match (style, line.split_at_checked(colored)) {
            (Some(style), Some((colored, rest))) => format!("{style}{colored}{style:#}{rest}"),
            _ => line.to_string(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The style of a line, and how many of its bytes have it. `left` is how many old and new lines its hunk still has.
fn in_diff(line: &str, left: &mut (u32, u32)) -> (Option<Style>, usize) {
    let (old, new) = *left;
    let style = match line.as_bytes().first() {
        Some(b'-') if old > 0 => AnsiColor::Red.on_default(),
        Some(b'+') if new > 0 => AnsiColor::Green.on_default(),
        _ if old > 0 || new > 0 => {
            if !line.starts_with('\\') {
                *left = (old.saturating_sub(1), new.saturating_sub(1));
            }
            return (None, 0);
        }
        Some(b'@') => {
            let head = line.find(" @@").map_or(line.len(), |at| at + 3);
            *left = counts(line).unwrap_or_default();
            return (Some(AnsiColor::Cyan.on_default()), head);
        }
        _ if HEADERS.iter().any(|header| line.starts_with(header)) => return (Some(Style::new().bold()), line.len()),
        _ => return (None, 0),
    };
    match line.starts_with('-') {
        true => left.0 -= 1,
        false => left.1 -= 1,
    }
    (Some(style), line.len())
}

/// How many old and new lines a hunk has, from `@@ -1,2 +1,3 @@`.
fn counts(head: &str) -> Option<(u32, u32)> {
    let mut words = head.split(' ').skip(1);
    let mut count = |mark: char| {
        let range = words.next()?.strip_prefix(mark)?;
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count('-')?, count('+')?))
}

/// Colours the story of the demo: its diffs, and the marks of checks.
pub(super) fn story(text: &str) -> String {
    each(text, |line| {
        let inside = line.strip_prefix("  │ ");
        Some(match inside.unwrap_or(line) {
            line if inside.is_some() && line.starts_with("+ ") => AnsiColor::Green.on_default(),
            line if inside.is_some() && line.starts_with("- ") => AnsiColor::Red.on_default(),
            line if line.starts_with('✓') => AnsiColor::Green.on_default(),
            line if line.starts_with('✗') => AnsiColor::Red.on_default(),
            line if line.starts_with('!') => AnsiColor::Yellow.on_default(),
            line if line.starts_with("● ") || line.starts_with("── ") => Style::new().bold(),
            _ => return None,
        })
    })
}

/// Colours whole lines.
fn each(text: &str, style: impl Fn(&str) -> Option<Style>) -> String {
    let lines = text.split('\n').map(|line| match style(line) {
        Some(style) => format!("{style}{line}{style:#}"),
        None => line.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_its_colours() {
        let text =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn x\n c\n--- d\n+++ e\n\\ No newline\ndiff --git";
        let shown = diff(text).replace("\u{1b}[1m", "B").replace("\u{1b}[36m", "C");
        let shown = shown
            .replace("\u{1b}[31m", "R")
            .replace("\u{1b}[32m", "G")
            .replace("\u{1b}[0m", ".");
        assert_eq!(
            shown,
            "Bdiff --git a/x b/x.\nB--- a/x.\nB+++ b/x.\nC@@ -1,2 +1,2 @@. fn x\n c\nR--- d.\nG+++ e.\n\\ No newline\nBdiff --git."
        );
    }

    #[test]
    fn a_story_is_painted_where_it_changes_code() {
        let painted = story("● ada comments\n  │ + a\n  │ plain\n✓ test on 1");
        assert_eq!(
            painted,
            "\u{1b}[1m● ada comments\u{1b}[0m\n\u{1b}[32m  │ + a\u{1b}[0m\n  │ plain\n\u{1b}[32m✓ test on 1\u{1b}[0m"
        );
    }
}

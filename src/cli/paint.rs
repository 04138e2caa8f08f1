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

/// Colours each line as part of a diff; `mark` is the prefix of every line.
pub(super) fn diff(text: &str) -> String {
    each(text, |line| {
        Some(match line.as_bytes().first()? {
            b'+' => AnsiColor::Green.on_default(),
            b'-' => AnsiColor::Red.on_default(),
            b'@' => AnsiColor::Cyan.on_default(),
            _ => return None,
        })
    })
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
        let painted = diff("--- a\n+b\n c\n@@ 1 @@");
        assert_eq!(
            painted,
            "\u{1b}[31m--- a\u{1b}[0m\n\u{1b}[32m+b\u{1b}[0m\n c\n\u{1b}[36m@@ 1 @@\u{1b}[0m"
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

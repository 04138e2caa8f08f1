//! Texts of others on a page: plain, without secrets, and bounded. Templates escape what is left of HTML.

use jiff::Timestamp;

use crate::domain::anchor::is_visible;
use crate::domain::clock;
use crate::domain::redact::{bounded, redact, visible};
use crate::domain::text::without_escapes;

/// How much more of a text than is shown is searched for secrets, in bytes.
const MARGIN: usize = 8 << 10;

/// A text without escape sequences of terminals. Characters that would hide or reorder text are shown as `\u{…}`,
/// unless they may be there to hide a secret.
pub(super) fn shown(text: &str, max: usize) -> String {
    let text = bounded(text, max.saturating_add(MARGIN));
    // Most text is plain ASCII, in which nothing is hidden.
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return bounded(&redact(&text), max);
    }
    let plain: String = text.split_inclusive('\n').map(without_escapes).collect();
    let seen = visible(&plain);
    let redacted = redact(&seen);
    if redacted != seen {
        return bounded(&redacted, max);
    }
    if seen.len() == plain.len() {
        return bounded(&plain, max);
    }
    let mut shown = String::with_capacity(plain.len());
    for c in plain.chars() {
        if c != '\r' && !is_visible(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    bounded(&shown, max)
}

pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// How long ago, or how long until.
pub(super) fn distance(from: Timestamp, to: Timestamp) -> String {
    let millis = to.as_millisecond().saturating_sub(from.as_millisecond());
    clock::millis_in_words(u64::try_from(millis).unwrap_or(0))
}

pub(super) fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_hidden_or_coloured() {
        assert_eq!(
            shown("\u{1b}[31mred\u{1b}[0m a\u{202e}b\u{1b}]0;t\u{7}", 99),
            "red a\\u{202e}b"
        );
        assert_eq!(shown("a\r\nb\u{0}", 99), "a\r\nb\\u{0}");
        assert!(shown(&"x".repeat(9 << 20), 1_000).len() < 1_100);
    }

    /// Text of only these characters takes a shortcut to the same result.
    #[test]
    fn ordinary_characters_are_left_alone() {
        let ordinary: String = ('\0'..='\u{7f}')
            .filter(|c| matches!(c, '\n' | '\t' | ' '..='~'))
            .collect();
        assert_eq!(ordinary.len(), 97);
        assert_eq!(
            (shown(&ordinary, 999), visible(&ordinary)),
            (ordinary.clone(), ordinary.clone())
        );
        assert_eq!(shown(&format!("{ordinary}ä"), 999), format!("{ordinary}ä"));
    }

    #[test]
    fn hidden_characters_do_not_hide_a_secret() {
        let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
        for between in ["", "\u{200b}", "\u{1b}[0m"] {
            let text = format!("{}{between}{} {}", &secret[..10], &secret[10..], "x".repeat(2_000));
            assert!(!shown(&text, 30).contains("ghp_0123"), "{between:?}");
        }
    }
}

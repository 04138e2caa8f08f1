//! The colours of a log, as classes for the style sheet.
//!
//! Only the text colours and bold count. Backgrounds, concealment, links, titles and everything that moves a cursor
//! have no effect, so that a log cannot hide or overwrite what it says.

use anstyle_parse::{Params, Parser, Perform};

use super::text::shown;
use crate::domain::text::tail;

/// How many parts a log has at most; the rest has no colours.
const MAX_PARTS: usize = 4_000;
const COLOURS: [&str; 8] = ["", "c-red", "c-green", "c-yellow", "c-blue", "c-magenta", "c-cyan", ""];

/// A part of a text in one colour.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// For the style sheet. Empty for plain text.
    pub(super) class: String,
    pub(super) text: String,
}

/// The last lines of a text with its colours, at most `max` bytes. Without colours if they would hide a secret, or
/// anything else that [`shown`] changes.
pub(super) fn coloured(text: &str, max: usize) -> Vec<Part> {
    let text = tail(text, max);
    let plain = shown(&text, max);
    let mut painter = Painter::default();
    let mut parser: Parser = Parser::default();
    for byte in text.bytes() {
        parser.advance(&mut painter, byte);
    }
    let said: String = painter.parts.iter().map(|part| part.text.as_str()).collect();
    if said == plain {
        return painter.parts;
    }
    vec![Part {
        class: String::new(),
        text: plain,
    }]
}

#[derive(Default)]
struct Painter {
    parts: Vec<Part>,
    colour: &'static str,
    is_bold: bool,
}

impl Painter {
    fn class(&self) -> String {
        match (self.colour, self.is_bold) {
            (colour, false) => colour.into(),
            ("", true) => "c-bold".into(),
            (colour, true) => format!("{colour} c-bold"),
        }
    }

    fn select(&mut self, codes: &[u16]) {
        let mut codes = codes.iter().copied();
        while let Some(code) = codes.next() {
            match code {
                0 => (self.colour, self.is_bold) = ("", false),
                1 => self.is_bold = true,
                22 => self.is_bold = false,
                39 => self.colour = "",
                30..=37 => self.colour = COLOURS[usize::from(code - 30)],
                90..=97 => self.colour = COLOURS[usize::from(code - 90)],
                // Of the larger palettes, only the first sixteen have a class.
                38 | 48 | 58 => {
                    let colour = match codes.next() {
                        Some(5) => codes.next(),
                        Some(2) => codes.by_ref().take(3).last().and(None),
                        _ => None,
                    };
                    if code == 38 {
                        self.colour = colour
                            .filter(|colour| *colour < 16)
                            .map_or("", |colour| COLOURS[usize::from(colour % 8)]);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Perform for Painter {
    fn print(&mut self, c: char) {
        let class = self.class();
        let is_full = self.parts.len() >= MAX_PARTS;
        match self.parts.last_mut().filter(|last| is_full || last.class == class) {
            Some(last) => last.text.push(c),
            None => self.parts.push(Part { class, text: c.into() }),
        }
    }

    fn execute(&mut self, byte: u8) {
        if matches!(byte, b'\n' | b'\t') {
            self.print(byte.into());
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: u8) {
        if action == b'm' && intermediates.is_empty() && !ignore {
            let codes: Vec<u16> = params.iter().flatten().copied().collect();
            self.select(&codes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> Vec<(String, String)> {
        let parts = coloured(text, 10_000).into_iter();
        parts.map(|part| (part.class, part.text)).collect()
    }

    fn one(class: &str, text: &str) -> (String, String) {
        (class.into(), text.into())
    }

    #[test]
    fn colours_become_classes_and_nothing_else_has_an_effect() {
        assert_eq!(
            show("a \u{1b}[1;31mred\u{1b}[0m\n\u{1b}[92mok\u{1b}[39m \u{1b}[38;5;4mblue\u{1b}[38;2;1;2;3m any"),
            [
                one("", "a "),
                one("c-red c-bold", "red"),
                one("", "\n"),
                one("c-green", "ok"),
                one("", " "),
                one("c-blue", "blue"),
                one("", " any"),
            ]
        );
        // Concealed, black, white on white, a link, a title, the cursor.
        let tricks = "\u{1b}[8mhidden\u{1b}[30;40m black\u{1b}[37;47m white\u{1b}]8;;https://x\u{7} link\u{1b}]0;t\u{7}\u{1b}[2J\u{1b}[1A";
        assert_eq!(show(tricks), [one("", "hidden black white link")]);
        assert_eq!(
            show("<b>\u{1b}[31m<script>"),
            [one("", "<b>"), one("c-red", "<script>")]
        );
    }

    #[test]
    fn colours_do_not_hide_secrets_and_are_bounded() {
        let secret = "\u{1b}[31mghp_01234567\u{1b}[32m89abcdefghijklmnopqrstuvwxyzAB";
        let [(class, text)] = &show(secret)[..] else {
            panic!("one part")
        };
        assert!(class.is_empty() && !text.contains("ghp_0123"), "{text}");
        assert_eq!(show("\u{1b}[31ma\u{202e}b"), [one("", "a\\u{202e}b")]);
        let long = "\u{1b}[31mx\u{1b}[32my".repeat(20_000);
        let parts = coloured(&long, 64 << 10);
        assert!(parts.len() <= MAX_PARTS && parts.iter().map(|part| part.text.len()).sum::<usize>() <= 64 << 10);
        for unfinished in ["\u{1b}", "\u{1b}[", "\u{1b}[31", "\u{1b}]8;;http://x", "\u{1b}P"] {
            assert!(
                show(unfinished).iter().all(|(class, _)| class.is_empty()),
                "{unfinished:?}"
            );
        }
    }
}

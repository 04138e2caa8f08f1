//! Finds examples in Rust's documentation, which are tests as well.
//! <https://doc.rust-lang.org/rustdoc/write-documentation/documentation-tests.html>

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// An example in documentation, which may be run as a test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Example {
    /// From 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// The documentation of one item, as far as it is read.
#[derive(Default)]
pub(super) struct Docs<'t> {
    /// `///` and `//!` document different items.
    marker: &'t str,
    text: String,
    /// The lines that its lines are from.
    lines: Vec<usize>,
}

impl<'t> Docs<'t> {
    /// Takes in the next comment; ordinary comments change nothing.
    pub(super) fn comment(&mut self, (comment, line): (&'t str, usize), found: &mut Vec<Example>) {
        let (marker, rest) = comment.split_at_checked(3).unwrap_or_default();
        match marker {
            "///" | "//!" if !rest.starts_with('/') => {
                if self.marker != marker {
                    self.end(found);
                    self.marker = marker;
                }
                let rest = rest.trim_end_matches(['\r', '\n']);
                self.text.push_str(rest.strip_prefix(' ').unwrap_or(rest));
                self.text.push('\n');
                self.lines.push(line);
            }
            // The indentation of its lines is ambiguous, so the whole comment counts as one example.
            "/**" | "/*!" if rest.contains("```") || rest.contains("~~~") => found.push(Example {
                line,
                text: comment.into(),
            }),
            _ => {}
        }
    }

    /// Adds the examples of the documentation read so far.
    pub(super) fn end(&mut self, found: &mut Vec<Example>) {
        let (text, lines) = (std::mem::take(&mut self.text), std::mem::take(&mut self.lines));
        let (mut at, mut line) = (0, 0);
        let mut line_of = |byte: usize| {
            line += text.get(at..byte).unwrap_or_default().matches('\n').count();
            at = byte;
            lines.get(line).copied().unwrap_or(1)
        };
        let mut example = None;
        for (event, range) in Parser::new(&text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    example = Some(Example {
                        line: line_of(range.start),
                        text: format!("{kind:?}\n"),
                    });
                }
                Event::Text(text) => example.iter_mut().for_each(|example| example.text.push_str(&text)),
                Event::End(TagEnd::CodeBlock) => found.extend(example.take()),
                _ => {}
            }
        }
    }
}

//! Finds examples in Rust's documentation, which are tests as well.
//! <https://doc.rust-lang.org/rustdoc/write-documentation/documentation-tests.html>

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// The documentation of one item, as far as it is read.
#[derive(Default)]
pub(super) struct Docs<'t> {
    /// `///` and `//!` document different items.
    marker: &'t str,
    text: String,
}

impl<'t> Docs<'t> {
    /// Takes in the next comment; ordinary comments change nothing.
    pub(super) fn comment(&mut self, comment: &'t str, found: &mut Vec<String>) {
        let (marker, rest) = comment.split_at_checked(3).unwrap_or_default();
        match marker {
            "///" | "//!" if !rest.starts_with('/') => {
                if self.marker != marker {
                    self.end(found);
                    self.marker = marker;
                }
                let line = rest.trim_end_matches(['\r', '\n']);
                self.text.push_str(line.strip_prefix(' ').unwrap_or(line));
                self.text.push('\n');
            }
            // The indentation of its lines is ambiguous, so the whole comment counts as one example.
            "/**" | "/*!" if rest.contains("```") || rest.contains("~~~") => found.push(comment.into()),
            _ => {}
        }
    }

    /// Adds the examples of the documentation read so far.
    pub(super) fn end(&mut self, found: &mut Vec<String>) {
        let mut example = None;
        for event in Parser::new(&std::mem::take(&mut self.text)) {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => example = Some(format!("{kind:?}\n")),
                Event::Text(text) => example.iter_mut().for_each(|example| example.push_str(&text)),
                Event::End(TagEnd::CodeBlock) => found.extend(example.take()),
                _ => {}
            }
        }
    }
}

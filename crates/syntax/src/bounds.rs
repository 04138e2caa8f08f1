//! How much of a hostile file is read, and parsing within it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Point, Tree};

use super::Language;

/// What one use of a tree takes upon itself. A caller that needs less sets less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Larger files are not parsed, in bytes.
    pub bytes: usize,
    /// A parse that takes longer is given up.
    pub time: Duration,
}

impl Default for Bounds {
    /// A mebibyte, five seconds.
    fn default() -> Self {
        Self {
            bytes: 1 << 20,
            time: Duration::from_secs(5),
        }
    }
}

/// Parses a text, again from an older tree that was edited where the text was. None if it is too large or too slow.
pub fn parse(language: Language, text: &str, bounds: Bounds, old: Option<&Tree>) -> Option<Tree> {
    if text.len() > bounds.bytes {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let until = Instant::now() + bounds.time;
    let mut stop = |_: &ParseState| {
        if Instant::now() > until {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut stop);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, old, Some(options))
}

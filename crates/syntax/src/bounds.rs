//! Limits for parsing hostile files.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Point, Tree};

use super::Language;

/// Limits for parsing one file. A caller that needs less sets lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The largest file that is parsed, in bytes.
    pub bytes: usize,
    /// How long parsing may take.
    pub time: Duration,
}

impl Default for Bounds {
    /// One mebibyte, five seconds.
    fn default() -> Self {
        Self {
            bytes: 1 << 20,
            time: Duration::from_secs(5),
        }
    }
}

/// Parses a text, incrementally if `old` is an earlier tree with the same edit. `None` if the text is too large or
/// takes too long.
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

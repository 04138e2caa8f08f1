//! Makes the output of commands readable text.

use std::borrow::Cow;

use greenlight_readers::text as readers_text;
pub use greenlight_readers::text::clean;
pub(super) use greenlight_readers::text::{bounded, one_line, pattern, tail};
use greenlight_redact::redact;
use greenlight_sandbox::Captured;

/// The whole output of a command on both streams, cleaned. A mark shows where bytes were left out.
pub(super) fn printed(stdout: &Captured, stderr: &Captured) -> String {
    let mut text = clean(&joined(stdout));
    if stderr.total > 0 {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&clean(&joined(stderr)));
    }
    text
}

/// The last lines on both streams with their colours, at most `max` bytes. `None` if there are no colours, or if there may
/// be a secret between them.
pub(super) fn coloured(stdout: &Captured, stderr: &Captured, max: usize) -> Option<String> {
    let mut bytes = joined(stdout).into_owned();
    bytes.extend_from_slice(&joined(stderr));
    let text = readers_text::coloured(&bytes, max)?;
    let plain = clean(text.as_bytes());
    (redact(&plain) == plain).then_some(text)
}

fn joined(captured: &Captured) -> Cow<'_, [u8]> {
    if captured.tail.is_empty() {
        return Cow::Borrowed(&captured.head);
    }
    let kept = (captured.head.len() + captured.tail.len()) as u64;
    let mut bytes = captured.head.clone();
    if captured.total > kept {
        bytes.extend_from_slice(format!("\n[{} bytes left out]\n", captured.total - kept).as_bytes());
    }
    bytes.extend_from_slice(&captured.tail);
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_said() {
        let captured = Captured {
            head: b"begin".to_vec(),
            tail: b"end".to_vec(),
            total: 1_000,
        };
        assert_eq!(
            printed(&captured, &Captured::default()),
            "begin\n[992 bytes left out]\nend"
        );
    }
}

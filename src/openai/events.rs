//! Reads a body as it comes in: the events of a stream, or one JSON document where a server does not stream.
//!
//! Which of the two it is shows in its first character, as servers mislabel both. A stream is read leniently: any line
//! ends, comments, no blank line between events or at the end, no `[DONE]`. What the events mean is not known here.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>

use serde_json::Value;

/// A body that has been read in part. It is as large as the body at most, whose size its caller bounds.
#[derive(Debug, Default)]
pub(super) struct PartialBody {
    kind: EventKind,
    /// The whole document, or the line that has no end yet.
    open: Vec<u8>,
    /// A line feed that comes now belongs to the line end before it.
    after_return: bool,
    /// The data of the event that has no end yet.
    data: String,
    is_done: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    #[default]
    Unknown,
    Events,
    Document,
}

impl PartialBody {
    /// Takes what came in, and hands on the events that are complete.
    pub(super) fn take(&mut self, bytes: &[u8], on_event: &mut impl FnMut(Value)) {
        for &byte in bytes {
            if self.kind == EventKind::Unknown {
                match byte {
                    // White space, and the mark that some put before UTF-8.
                    b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => continue,
                    b'{' | b'[' | b'<' | b'"' => self.kind = EventKind::Document,
                    _ => self.kind = EventKind::Events,
                }
            }
            let ends_line = self.kind == EventKind::Events && matches!(byte, b'\r' | b'\n');
            if !ends_line {
                self.open.push(byte);
            } else if !(byte == b'\n' && self.after_return) {
                self.line(on_event);
            }
            self.after_return = ends_line && byte == b'\r';
        }
    }

    /// Whether a stream has said that nothing else comes.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The document, if it was none of events; or else the event that has no end, as if it had one.
    pub(super) fn end(mut self, on_event: &mut impl FnMut(Value)) -> Option<Vec<u8>> {
        if self.kind == EventKind::Events {
            self.line(on_event);
            self.dispatch(on_event);
            None
        } else {
            Some(self.open)
        }
    }

    fn line(&mut self, on_event: &mut impl FnMut(Value)) {
        let bytes = std::mem::take(&mut self.open);
        let line = String::from_utf8_lossy(&bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        match field {
            "" if line.is_empty() => self.dispatch(on_event),
            "data" if value.trim() == "[DONE]" => {
                self.dispatch(on_event);
                self.is_done = true;
            }
            "data" if !self.is_done => {
                self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
                self.data.push('\n');
            }
            // Comments keep the connection alive; names of events stand in their data as well.
            _ => {}
        }
    }

    /// Hands on what is in the data: one document, or several where a server forgets the blank lines between events.
    fn dispatch(&mut self, on_event: &mut impl FnMut(Value)) {
        let data = std::mem::take(&mut self.data);
        for event in serde_json::Deserializer::from_str(&data)
            .into_iter::<Value>()
            .map_while(Result::ok)
        {
            on_event(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The events and the document, whether the body comes at once or byte by byte.
    #[track_caller]
    fn read(body: &str) -> (Vec<Value>, Option<String>, bool) {
        let parts = |size: usize| {
            let (mut reader, mut events) = (PartialBody::default(), Vec::new());
            for part in body.as_bytes().chunks(size) {
                reader.take(part, &mut |event| events.push(event));
            }
            let is_done = reader.is_done();
            let document = reader.end(&mut |event| events.push(event));
            let document = document.map(|bytes| String::from_utf8(bytes).unwrap());
            (events, document, is_done)
        };
        let whole = parts(body.len().max(1));
        for size in 1..4 {
            assert_eq!(parts(size), whole, "in parts of {size}");
        }
        whole
    }

    #[test]
    fn events_are_read_with_any_line_ends_and_characters_cut_in_half() {
        for end in ["\n", "\r\n", "\r"] {
            let body = format!(
                "\u{feff}: hello{end}{end}event: x{end}data: {{\"a\":{end}data: \"ä€😀\"}}{end}{end}id: 1{end}data:2{end}{end}data: [DONE]{end}{end}data: 3{end}{end}"
            );
            assert_eq!(
                read(&body),
                (vec![json!({ "a": "ä€😀" }), json!(2)], None, true),
                "{end:?}"
            );
        }
    }

    #[test]
    fn what_servers_forget_is_not_missed() {
        assert_eq!(read("data: 1\ndata: 2\n").0, [json!(1), json!(2)]);
        assert_eq!(read("data: 1\n\ndata: 2"), (vec![json!(1), json!(2)], None, false));
        assert_eq!(read("data: 1\ndata: [DONE]"), (vec![json!(1)], None, false));
        assert_eq!(read("data: {\"a\":\n\ndata: 2\n\n").0, [json!(2)]);
    }

    #[test]
    fn what_is_no_stream_is_a_document() {
        assert_eq!(read("\n {\"a\":\r\n1}"), (vec![], Some("{\"a\":\r\n1}".into()), false));
        assert_eq!(read("<html>"), (vec![], Some("<html>".into()), false));
        assert_eq!(read(""), (vec![], Some(String::new()), false));
        assert_eq!(read("upstream connect error"), (vec![], None, false));
    }
}

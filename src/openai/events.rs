//! Reads a body as it arrives: the events of a stream, or one JSON document if a server does not stream.
//!
//! The first character shows which of the two it is, because servers mislabel both. Streams are parsed leniently: any
//! line ends, comments, no blank line between events or at the end, no `[DONE]`. This module does not interpret the
//! events.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>

use serde_json::Value;

/// A partially read body. It never becomes larger than the body, whose size the caller bounds.
#[derive(Debug, Default)]
pub(super) struct PartialBody {
    kind: EventKind,
    /// The whole document, or the current unfinished line.
    open: Vec<u8>,
    /// Whether a line feed that comes next belongs to the preceding line end.
    after_return: bool,
    /// The data of the current unfinished event.
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
    /// Takes in the next bytes, and passes on complete events.
    pub(super) fn take(&mut self, bytes: &[u8], on_event: &mut impl FnMut(Value)) {
        for &byte in bytes {
            if self.kind == EventKind::Unknown {
                match byte {
                    // White space, and the byte order mark that some servers send.
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

    /// Whether the stream has announced its end.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns the document, if the body is one. Otherwise passes on an unfinished event as if it were complete.
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
            // Comments only keep the connection alive, and the data of an event repeats its name.
            _ => {}
        }
    }

    /// Passes on the event's data: one document, or several if a server omits the blank lines between events.
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

    /// The events and the document, which must not depend on how the body is split.
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
    fn what_servers_omit_is_not_needed() {
        assert_eq!(read("data: 1\ndata: 2\n").0, [json!(1), json!(2)]);
        assert_eq!(read("data: 1\n\ndata: 2"), (vec![json!(1), json!(2)], None, false));
        assert_eq!(read("data: 1\ndata: [DONE]"), (vec![json!(1)], None, false));
        assert_eq!(read("data: {\"a\":\n\ndata: 2\n\n").0, [json!(2)]);
    }

    #[test]
    fn a_body_that_is_not_a_stream_is_a_document() {
        assert_eq!(read("\n {\"a\":\r\n1}"), (vec![], Some("{\"a\":\r\n1}".into()), false));
        assert_eq!(read("<html>"), (vec![], Some("<html>".into()), false));
        assert_eq!(read(""), (vec![], Some(String::new()), false));
        assert_eq!(read("upstream connect error"), (vec![], None, false));
    }
}

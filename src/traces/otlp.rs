//! Spans as OTLP's JSON: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The longest value of an attribute, in bytes.
const MAX_VALUE: usize = 256;

/// The id of a trace, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceId(String);

/// The id of a span, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanId(String);

impl TraceId {
    /// The trace of a run.
    pub(super) fn of_run(run: &str) -> Self {
        Self(hex::encode(&digest("trace", run)[..16]))
    }
}

impl SpanId {
    /// The root span of a run.
    pub(super) fn root_of_run(run: &str) -> Self {
        Self(hex::encode(&digest("span", run)[..8]))
    }

    pub(super) fn random() -> Self {
        Self(format!("{:016x}", ulid::Ulid::new().random() as u64 | 1))
    }
}

fn digest(of: &str, run: &str) -> [u8; 32] {
    Sha256::digest(format!("greenlight {of} {run}")).into()
}

/// What a span is about, in OTLP's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttributeValue {
    Text(String),
    Number(u64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        let mut end = text.len().min(MAX_VALUE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self::Text(text[..end].to_string())
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

pub(super) type Attributes = Vec<(&'static str, AttributeValue)>;

/// A span that has ended.
#[derive(Debug, Clone)]
pub(super) struct EndedSpan {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) attributes: Attributes,
    pub(super) is_error: bool,
}

/// A request of spans to a collector.
pub(super) fn request(resource: &[(String, String)], spans: &[EndedSpan]) -> Value {
    let resource = resource
        .iter()
        .map(|(key, value)| attribute(key, &value.as_str().into()));
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource.collect::<Vec<_>>() },
            "scopeSpans": [{
                "scope": { "name": "greenlight", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans.iter().map(span).collect::<Vec<_>>(),
            }],
        }],
    })
}

fn span(span: &EndedSpan) -> Value {
    let attributes = span.attributes.iter().map(|(key, value)| attribute(key, value));
    let mut written = json!({
        "traceId": span.trace.0,
        "spanId": span.id.0,
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": nanoseconds(span.start),
        "endTimeUnixNano": nanoseconds(span.end.max(span.start)),
        "attributes": attributes.collect::<Vec<_>>(),
        "status": if span.is_error { json!({ "code": 2 }) } else { json!({}) },
    });
    if let Some(parent) = &span.parent {
        written["parentSpanId"] = parent.0.clone().into();
    }
    written
}

/// 64-bit integers are decimal strings in Protobuf's JSON.
fn nanoseconds(at: Timestamp) -> String {
    at.as_nanosecond().max(0).to_string()
}

fn attribute(key: &str, value: &AttributeValue) -> Value {
    let value = match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_run_are_the_same_in_every_process() {
        assert_eq!(TraceId::of_run("r1"), TraceId::of_run("r1"));
        assert_ne!(TraceId::of_run("r1"), TraceId::of_run("r2"));
        assert_eq!(TraceId::of_run("r1").0.len(), 32);
        assert_eq!(SpanId::root_of_run("r1").0.len(), 16);
        assert_ne!(SpanId::random(), SpanId::random());
    }

    #[test]
    fn long_values_are_cut() {
        let long = "ä".repeat(300);
        let AttributeValue::Text(cut) = AttributeValue::from(long.as_str()) else {
            panic!("no text")
        };
        assert_eq!(cut.len(), MAX_VALUE);
    }
}

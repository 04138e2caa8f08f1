//! Spans of what a run's step does: sandboxes, requests to GitHub, replies of models.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::export::Traces;
use super::otlp::{Attributes, EndedSpan, SpanId, SpanKind, TraceId};
use crate::sandbox::{EndOfUse, Use, UseWatch};

tokio::task_local! {
    pub(super) static CURRENT: Arc<Current>;
}

/// The run that the current task works on.
pub(super) struct Current {
    pub(super) traces: Traces,
    pub(super) trace: TraceId,
    /// The step in progress, and when it began.
    pub(super) step: Mutex<(SpanId, Timestamp)>,
    /// Whether the run's own span has ended.
    pub(super) is_over: AtomicBool,
}

impl Current {
    pub(super) fn step(&self) -> std::sync::MutexGuard<'_, (SpanId, Timestamp)> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It failed, and this is the failure in a word of greenlight's own code.
    Failed(&'static str),
}

/// Something that is in progress. It ends when it is dropped, cancelled unless [`Self::end`] said otherwise.
pub struct Span(Option<OpenSpan>);

struct OpenSpan {
    of: Arc<Current>,
    parent: SpanId,
    name: String,
    kind: SpanKind,
    start: Timestamp,
    attributes: Attributes,
    outcome: Outcome,
}

impl Span {
    /// A span below the current task's step. It does nothing outside of runs, or if nothing is traced.
    fn begin(name: impl FnOnce() -> String, kind: SpanKind, attributes: impl FnOnce() -> Attributes) -> Self {
        let current = CURRENT.try_with(Arc::clone).ok();
        Self(current.map(|of| {
            let parent = of.step().0.clone();
            OpenSpan {
                of,
                parent,
                name: name(),
                kind,
                start: Timestamp::now(),
                attributes: attributes(),
                outcome: Outcome::Failed("cancelled"),
            }
        }))
    }

    /// Adds a number that became known meanwhile.
    pub fn note(&mut self, name: &'static str, number: u64) {
        if let Some(open) = &mut self.0 {
            open.attributes.push((name, number.into()));
        }
    }

    /// It ends now.
    pub fn end(mut self, outcome: Outcome) {
        if let Some(open) = &mut self.0 {
            open.outcome = outcome;
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(mut open) = self.0.take() else { return };
        let is_error = match open.outcome {
            Outcome::Done => false,
            Outcome::Failed(word) => {
                open.attributes.push(("error.type", word.into()));
                true
            }
        };
        open.of.traces.send(EndedSpan {
            trace: open.of.trace.clone(),
            id: SpanId::random(),
            parent: Some(open.parent),
            name: open.name,
            kind: open.kind,
            start: open.start,
            end: Timestamp::now(),
            attributes: open.attributes,
            is_error,
        });
    }
}

/// A request to GitHub. The path is left out: it contains names of branches and files.
pub fn request_span(method: &str, host: Option<&str>) -> Span {
    Span::begin(
        || method.to_string(),
        SpanKind::Client,
        || {
            vec![
                ("http.request.method", method.into()),
                ("server.address", host.unwrap_or_default().into()),
            ]
        },
    )
}

/// A reply of a model, with its configured name.
pub fn model_span(model: &str) -> Span {
    Span::begin(
        || format!("chat {model}"),
        SpanKind::Client,
        || {
            vec![
                ("gen_ai.operation.name", "chat".into()),
                // Every endpoint that greenlight knows speaks OpenAI's protocol.
                ("gen_ai.provider.name", "openai".into()),
                ("gen_ai.request.model", model.into()),
            ]
        },
    )
}

/// For a sandbox, which calls it for each use.
pub fn sandbox_uses() -> UseWatch {
    UseWatch::new(|kind| {
        let name = match kind {
            Use::Command => "sandbox command",
            Use::Session => "sandbox session",
        };
        let span = Span::begin(|| name.into(), SpanKind::Internal, Vec::new);
        Box::new(move |end| {
            span.end(match end {
                EndOfUse::Failed => Outcome::Failed("sandbox"),
                EndOfUse::Command(_) | EndOfUse::Session(_) => Outcome::Done,
            });
        })
    })
}

//! Traces of runs for OpenTelemetry: one trace per run, whichever processes work on it.
//!
//! The ids of a trace and of its root span are computed from the run's id, so that every process and every restart
//! adds to the same trace. What is sent are names from greenlight's code, ids, numbers and outcomes: never code, logs,
//! or texts of people. Without an endpoint, nothing here does anything.
//!
//! Names follow the semantic conventions for [CI/CD](https://opentelemetry.io/docs/specs/semconv/cicd/cicd-spans/),
//! [generative AI](https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/) and
//! [HTTP](https://opentelemetry.io/docs/specs/semconv/http/http-spans/).

mod export;
mod otlp;
mod run;
mod span;

pub use export::{Destination, Traces};
pub use run::{root, turn};
pub use span::{Outcome, Span, model_span, request_span, sandbox_uses};

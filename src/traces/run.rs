//! Spans of runs and of their steps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use super::export::Traces;
use super::otlp::{EndedSpan, SpanId, SpanKind, TraceId};
use super::span::{CURRENT, Current};
use crate::domain::id::RunId;
use crate::domain::mode::Mode;
use crate::domain::run::{End, Run};

/// Does the work on a run, so that its steps and what they do become spans of its trace.
pub async fn root<F: Future>(traces: Option<&Traces>, run: &RunId, work: F) -> F::Output {
    let Some(traces) = traces else { return work.await };
    let current = Current {
        traces: traces.clone(),
        trace: TraceId::of_run(&run.0),
        step: Mutex::new((SpanId::random(), Timestamp::now())),
        is_over: AtomicBool::new(false),
    };
    let current = Arc::new(current);
    let done = CURRENT.scope(Arc::clone(&current), work).await;
    if !current.is_over.load(Ordering::Acquire) {
        // What was done last led to no step: the run waits for somebody, or another process continues it.
        end_step(&current, run, "left");
    }
    done
}

/// The step in progress ends, and the next one begins.
fn end_step(current: &Current, run: &RunId, step: &'static str) {
    let now = Timestamp::now();
    let (id, start) = std::mem::replace(&mut *current.step(), (SpanId::random(), now));
    current.traces.send(EndedSpan {
        trace: current.trace.clone(),
        id,
        parent: Some(SpanId::root_of_run(&run.0)),
        name: step.to_string(),
        kind: SpanKind::Internal,
        start,
        end: now,
        attributes: vec![
            ("cicd.pipeline.task.name", step.into()),
            ("cicd.pipeline.run.id", run.0.as_str().into()),
        ],
        is_error: false,
    });
}

/// A step was appended: it ends, and the next one begins. With the last one, the run's own span ends, too.
pub fn turn(run: &Run, step: &'static str) {
    let Ok(current) = CURRENT.try_with(Arc::clone) else {
        return;
    };
    end_step(&current, run.id(), step);
    let Some(end) = run.end.as_ref().filter(|_| run.is_over()) else {
        return;
    };
    current.is_over.store(true, Ordering::Release);
    let command = command(&run.started.mode);
    let mut attributes = vec![
        ("cicd.pipeline.name", command.into()),
        ("cicd.pipeline.action.name", "RUN".into()),
        ("cicd.pipeline.run.id", run.id().0.as_str().into()),
        ("cicd.pipeline.result", result(end).into()),
        ("greenlight.run.end", end.name().into()),
        ("greenlight.model.turns", u64::from(run.spent.turns).into()),
        ("greenlight.model.tokens", run.spent.tokens().into()),
    ];
    if let Some(on) = run.started.pull_request() {
        attributes.push(("vcs.repository.name", on.repository.name.to_string().as_str().into()));
        attributes.push(("vcs.change.id", on.number.into()));
    }
    current.traces.send(EndedSpan {
        trace: current.trace.clone(),
        id: SpanId::root_of_run(&run.id().0),
        parent: None,
        name: format!("RUN {command}"),
        kind: SpanKind::Server,
        start: run.started.at,
        end: Timestamp::now(),
        attributes,
        is_error: result(end) == "error",
    });
}

/// The command that asks for it.
fn command(mode: &Mode) -> &'static str {
    match mode {
        Mode::Debug => "fix",
        other => other.name(),
    }
}

/// The result in the words of the convention for CI/CD pipelines.
fn result(end: &End) -> &'static str {
    match end {
        End::Landed { .. }
        | End::Written
        | End::Suggested
        | End::NotTaken { .. }
        | End::NothingToFix { .. }
        | End::PassedMeanwhile
        | End::Explained(_) => "success",
        End::GaveUp { .. } | End::NotFound { .. } => "failure",
        End::NotJudged { .. } | End::Refused { .. } => "error",
        End::LimitReached { .. } | End::Expired => "timeout",
        End::Rejected { .. } | End::Superseded { .. } | End::Retargeted { .. } | End::Cancelled { .. } => {
            "cancellation"
        }
    }
}

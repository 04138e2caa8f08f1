//! Traces of runs, as a collector receives them.

use std::collections::BTreeSet;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::json;

use crate::harness::collector::Collector;
use crate::harness::model::calls;
use crate::harness::story::Scene;

fn attribute(span: &Span, key: &str) -> Option<String> {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_is_one_trace_over_restarts_and_says_nothing_of_code_or_people() {
    let collector = Collector::start().await;
    let edit = json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": "return paid - fare(stops)" });
    let turns = [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Secret words of the model." })),
    ];
    let mut story = Scene::default().model(turns).traced_to(&collector.url).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.traces_are_sent().await;
    story.restart().await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.traces_are_sent().await;

    let spans = collector.spans();
    let traces: BTreeSet<&[u8]> = spans.iter().map(|span| span.trace_id.as_slice()).collect();
    assert_eq!(traces.len(), 1);
    let roots: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id.is_empty()).collect();
    let [root] = roots[..] else {
        panic!("{} roots", roots.len())
    };
    assert_eq!((root.name.as_str(), root.kind()), ("RUN fix", SpanKind::Server));
    assert_eq!(attribute(root, "cicd.pipeline.result").unwrap(), "success");
    assert_eq!(
        attribute(root, "cicd.pipeline.run.id").unwrap(),
        story.run().await.id().0
    );
    assert_eq!(attribute(root, "vcs.repository.name").unwrap(), "acme/rail");

    let steps: Vec<&Span> = spans
        .iter()
        .filter(|span| span.parent_span_id == root.span_id)
        .collect();
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    for expected in ["reproduced", "proposed", "review_posted", "gate_opened", "ended"] {
        assert!(names.contains(&expected), "{expected}: {names:?}");
    }
    let ids: BTreeSet<&[u8]> = steps.iter().map(|step| step.span_id.as_slice()).collect();
    let below: Vec<&Span> = spans
        .iter()
        .filter(|span| ids.contains(span.parent_span_id.as_slice()))
        .collect();
    assert_eq!(1 + steps.len() + below.len(), spans.len());
    let models: Vec<&&Span> = below.iter().filter(|span| span.name == "chat scripted").collect();
    assert_eq!(models.len(), 2);
    assert!(
        attribute(models[0], "gen_ai.usage.input_tokens")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    assert!(below.iter().any(|span| span.name == "sandbox command"));
    let posted = |span: &&&Span| attribute(span, "http.request.method").as_deref() == Some("POST");
    assert!(below.iter().filter(posted).all(|span| span.kind() == SpanKind::Client));
    assert!(
        spans
            .iter()
            .all(|span| span.start_time_unix_nano <= span.end_time_unix_nano)
    );

    for word in ["fare", "paid", "Secret words", "mia", "unittest", "approve"] {
        assert!(!collector.text().contains(word), "{word}: {}", collector.text());
    }
    story.finish().await;
}

#[tokio::test]
async fn a_collector_that_is_unreachable_delays_nothing_and_is_told_once() {
    let story = Scene::default().traced_to("http://127.0.0.1:9").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.traces_are_sent().await;
    assert_eq!(
        story.log().matches("spans could not be sent to the collector").count(),
        1
    );
    story.finish().await;
}

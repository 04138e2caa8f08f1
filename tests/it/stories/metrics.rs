//! `GET /metrics`: what it counts of a story, and who may read it.

use std::collections::BTreeMap;
use std::process::Stdio;

use github_double::{JobLog, MAINTAINER, RecordedExchange};
use reqwest::{RequestBuilder, Response};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::harness::model::calls;
use crate::harness::story::{METRICS_TOKEN, Scene, Story};

fn request(story: &Story) -> RequestBuilder {
    crate::harness::http()
        .build()
        .unwrap()
        .get(format!("{}/metrics", story.process().url))
}

async fn scraped(story: &Story) -> String {
    let response = request(story).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.text().await.unwrap()
}

/// Every series and its value.
struct Series(BTreeMap<String, f64>);

impl Series {
    async fn of(story: &Story) -> Self {
        let text = scraped(story).await;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.map(|line| line.rsplit_once(' ').unwrap());
        Self(
            pairs
                .map(|(name, value)| (name.to_string(), value.parse().unwrap()))
                .collect(),
        )
    }

    #[track_caller]
    fn is(&self, name: &str, value: f64) {
        let found = self.0.get(&format!("greenlight_{name}")).copied();
        assert_eq!(found, Some(value), "{name}: {:#?}", self.0);
    }

    /// The sum of a metric over its labels that contain this.
    fn sum(&self, name: &str, label: &str) -> f64 {
        let of_it = |series: &str| series.split('{').next() == Some(&format!("greenlight_{name}"));
        let found = self
            .0
            .iter()
            .filter(|(series, _)| of_it(series) && series.contains(label));
        found.map(|(_, value)| value).sum()
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

#[tokio::test]
async fn a_landed_fix_is_counted_exactly() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let series = Series::of(&story).await;

    let deliveries = story.double.deliveries();
    let answered = |status| count(deliveries.iter().filter(|one| one.status == Some(status)).count());
    series.is(r#"deliveries_total{outcome="accepted"}"#, answered(202));
    series.is(r#"deliveries_total{outcome="ignored"}"#, answered(204));
    assert!(answered(202) >= 2.0 && answered(204) > 0.0);
    for outcome in ["duplicate", "unsigned", "malformed", "no_room", "failed"] {
        series.is(&format!("deliveries_total{{outcome=\"{outcome}\"}}"), 0.0);
    }

    series.is(r#"runs_started_total{mode="debug",origin="comment"}"#, 1.0);
    let ended = r#"runs_ended_total{mode="debug",engine="builtin",rung="search",end="landed"}"#;
    series.is(ended, 1.0);
    assert_eq!(series.sum("runs_ended_total", ""), 1.0);
    let run = story.run().await;
    // Its start is not appended.
    assert_eq!(series.sum("steps_total", ""), count(run.length - 1));
    for (step, number) in [("reproduced", 1.0), ("proposed", 1.0), ("ended", 1.0)] {
        series.is(&format!("steps_total{{step=\"{step}\"}}"), number);
        series.is(&format!("step_duration_seconds_count{{step=\"{step}\"}}"), number);
    }
    series.is(r#"time_to_green_seconds_count{mode="debug"}"#, 1.0);
    series.is(r#"time_to_proposal_seconds_count{mode="debug"}"#, 1.0);

    let kind = run.gates[0].gate.kind.name();
    series.is(&format!("gates_opened_total{{kind=\"{kind}\"}}"), 1.0);
    series.is(
        &format!("gates_answered_total{{kind=\"{kind}\",answer=\"approved\"}}"),
        1.0,
    );

    // A connection itself gets the token of its installation, and git fetches.
    let requests = story.double.requests();
    let is_for_a_connection =
        |one: &RecordedExchange| one.path.ends_with("/access_tokens") && one.request["repositories"].is_null();
    let api = requests
        .iter()
        .filter(|one| one.route.is_some() && !is_for_a_connection(one));
    let (reads, changes): (Vec<_>, Vec<_>) = api
        .filter(|one| one.path != "/graphql")
        .partition(|one| one.method == "GET");
    assert_eq!(
        series.sum("github_requests_total", r#"class="read""#),
        count(reads.len())
    );
    assert_eq!(
        series.sum("github_requests_total", r#"class="write""#),
        count(changes.len())
    );
    let not_found = changes
        .iter()
        .chain(&reads)
        .filter(|one| (400..500).contains(&one.status))
        .count();
    assert_eq!(series.sum("github_requests_total", r#"status="4xx""#), count(not_found));

    assert!(series.sum("sandboxes_total", r#"kind="command""#) > 0.0);
    assert_eq!(series.sum("sandboxes_running", ""), 0.0);
    assert_eq!(series.sum("lanes_waiting", "") + series.sum("lanes_running", ""), 0.0);
    assert_eq!(series.sum("model_requests_total", ""), 0.0);
    story.finish().await;
}

#[tokio::test]
async fn a_models_answers_tokens_and_money_are_counted() {
    let edit = json!({ "path": "fare.py", "old": "paid + fare(stops)", "new": "paid - fare(stops)" });
    let submit = json!({ "summary": "Change is what is left." });
    let turns = [calls("edit_file", edit), calls("submit", submit)];
    let story = Scene::default().model(turns).priced(2).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let series = Series::of(&story).await;
    let (requests, spent) = (story.model().requests().len(), story.run().await.spent);
    assert_eq!(requests, 2);
    series.is(r#"model_requests_total{outcome="answered"}"#, count(requests));
    series.is("model_request_duration_seconds_count", count(requests));
    let tokens = |kind: &str| series.sum("model_tokens_total", &format!("kind=\"{kind}\""));
    let number = |tokens: u64| count(usize::try_from(tokens).unwrap());
    assert_eq!(tokens("input") + tokens("cached_input"), number(spent.prompt_tokens));
    assert_eq!(tokens("output"), number(spent.completion_tokens));
    let dollars = series.sum("model_cost_dollars_total", "");
    assert!(
        (dollars - number(spent.cost_micros.unwrap()) / 1e6).abs() < 1e-9,
        "{dollars}"
    );
    assert!(dollars > 0.0);
    story.finish().await;
}

#[tokio::test]
async fn open_requests_survive_a_restart_and_counters_begin_anew() {
    let mut story = Story::new().await;
    story.ci_fails().await;
    story.restart().await;
    let series = Series::of(&story).await;
    let kind = story.run().await.open_gates()[0].kind.name();
    // A process that shares its journal does not read all open runs.
    if !story.is_shared() {
        series.is(&format!("gates_open{{kind=\"{kind}\"}}"), 1.0);
        assert!(series.sum("gate_oldest_wait_seconds", kind) > 0.0);
    }
    assert_eq!(series.sum("gates_opened_total", ""), 0.0);
    story.finish().await;
}

#[tokio::test]
async fn names_that_strangers_choose_are_no_labels() {
    let story = Story::new().await;
    let log = JobLog {
        workflow: "CANARY\"} 1\ngreenlight_owned{x=\"",
        job: "CANARY",
        step: "CANARY",
        log: "CANARY\n##[error]Process completed with exit code 1.\n",
    };
    story.double.fail_ci(story.number, log).await.unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight fix").await;
    let text = scraped(&story).await.to_lowercase();
    for theirs in ["canary", "owned", "acme", "rail", "fare", "scripted", MAINTAINER] {
        assert!(!text.contains(theirs), "{theirs} is in\n{text}");
    }
    story.finish().await;
}

#[tokio::test]
async fn strangers_and_proxies_need_the_token() {
    let story = Story::new().await;
    let answer = async |request: RequestBuilder| -> Response { request.send().await.unwrap() };
    let through_a_proxy = |request: RequestBuilder| request.header("x-forwarded-for", "192.0.2.7");
    let refused = answer(through_a_proxy(request(&story))).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["www-authenticate"]),
        (401, &"Bearer".parse().unwrap())
    );
    assert!(!refused.text().await.unwrap().contains("greenlight_"));
    for wrong in ["", "sesame", &METRICS_TOKEN[1..], &format!("{METRICS_TOKEN}x")] {
        let request = through_a_proxy(request(&story)).bearer_auth(wrong);
        assert_eq!(answer(request).await.status(), 401, "{wrong}");
    }
    let forwarded = request(&story).header("forwarded", "for=127.0.0.1");
    assert_eq!(answer(forwarded).await.status(), 401);
    let rebound = request(&story).header("host", "bot.example.com");
    assert_eq!(answer(rebound).await.status(), 401);
    let known = through_a_proxy(request(&story)).bearer_auth(METRICS_TOKEN);
    assert_eq!(answer(known).await.status(), 200);
    let open = answer(request(&story).header("accept", "application/openmetrics-text")).await;
    assert!(
        open.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    assert!(open.text().await.unwrap().ends_with("# EOF\n"));
    story.finish().await;
}

/// Prometheus' own linter. `.ci/run` installs it.
#[tokio::test]
async fn promtool_has_nothing_to_say() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let text = scraped(&story).await;
    story.finish().await;
    #[expect(clippy::disallowed_methods, reason = "a linter that others wrote")]
    let mut promtool = tokio::process::Command::new("promtool");
    promtool
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(mut promtool) = promtool.spawn() else {
        eprintln!("UNAVAILABLE: promtool, so the metrics were not linted");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).await.unwrap();
    let checked = promtool.wait_with_output().await.unwrap();
    let said = [checked.stdout, checked.stderr].concat();
    assert!(
        checked.status.success() && said.is_empty(),
        "{}\n{text}",
        String::from_utf8_lossy(&said)
    );
}

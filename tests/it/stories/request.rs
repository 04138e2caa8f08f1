//! Actions that a model must ask for: requested at a gate, shown exactly, executed exactly and once; or not, and the
//! run continues.

use github_double::{AUTHOR, MAINTAINER, Role, STRANGER};
use greenlight::domain::gate::GateKind;
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

const COMMAND: &str = "echo $((6 * 7)) answers; cat fare.py";

fn asks(command: &str) -> Turn {
    let why = "To see how it behaves. @ada";
    calls(
        "request_execution",
        json!({ "command": command, "minutes": 2, "why": why }),
    )
}

fn edit() -> Turn {
    calls(
        "edit_file",
        json!({ "path": "fare.py", "old": "return paid + fare", "new": "return paid - fare" }),
    )
}

fn submit() -> Turn {
    calls("submit", json!({ "summary": "Change is what is left." }))
}

async fn asked(turns: Vec<Turn>) -> Story {
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

/// The only open gate.
async fn gate(story: &Story) -> String {
    let gates = story.run().await.open_gates();
    assert_eq!(gates.len(), 1, "{gates:?}");
    gates[0].id.to_string()
}

/// The results returned to the model, according to its journal.
async fn resolved(story: &Story) -> Vec<String> {
    let run = story.run().await;
    let journal = &story.process().queue.app().journal;
    let steps = journal.steps(run.id(), 0, 1_000).await.unwrap();
    let steps = steps.into_iter().map(|stored| stored.json);
    steps.filter(|step| step.starts_with(r#"{"resolved""#)).collect()
}

#[tokio::test]
async fn what_is_approved_is_shown_and_done_exactly_and_the_run_goes_on() {
    let story = asked(vec![edit(), asks(COMMAND), submit()]).await;
    let sticky = story.sticky();
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    <!-- greenlight:gate [gate] [digest] -->
    🟡 **The model asks to run a command** while it works on [commit], and waits for an answer.

    **Approve to run this command once in the sandbox on [commit] with 1 changed file of the model's, without network, for at most 2 minutes.**

    ```sh
    echo $((6 * 7)) answers; cat fare.py
    ```

    <details><summary>The model's edits: 1 changed file</summary>

    ```diff
    diff --git a/fare.py b/fare.py
    --- a/fare.py
    +++ b/fare.py
    @@ -3,4 +3,4 @@


     def change(paid, stops):
    -    return paid + fare(stops)
    +    return paid - fare(stops)
    ```

    </details>

    The model's reason, unchecked:

    > To see how it behaves. @⁠ada

    If you approve, exactly this is done, once, and the model sees the result. If you reject it, the model sees your reason; if nobody answers, it is told so. Either way it continues, and nothing lands because of your answer.

    Answer with `/greenlight approve [gate]` or `/greenlight reject [gate] <reason>`.

    <sub>For [commit] only, until [date]. Content `[digest]`. The model used 2 turns, [n] tokens, unknown cost so far, and may use 28 turns, [n] tokens, $2.00, [time] more.</sub>

    Failing tests:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    let head = &story.head()[..7];
    for shown in [
        "The model asks to run a command".to_string(),
        format!(
            "Approve to run this command once in the sandbox on {head} with 1 changed file of the model's, without \
             network, for at most 2 minutes."
        ),
        format!("```sh\n{COMMAND}\n```"),
        "+    return paid - fare(stops)".to_string(),
        "The model's reason, unchecked:".to_string(),
    ] {
        assert!(sticky.contains(&shown), "{shown}\n{sticky}");
    }
    assert!(!sticky.contains("@ada"), "{sticky}");
    assert_eq!(story.check().conclusion.as_deref(), Some("action_required"));
    story.has_no_review();
    let id = gate(&story).await;
    story.maintainer_says(&format!("/greenlight approve {id}")).await;
    let told = story.model().results().pop().unwrap();
    assert!(
        told.contains("42 answers") && told.contains("paid - fare(stops)"),
        "{told}"
    );
    story.review();
    story.has_not_landed();
    let run = story.run().await;
    assert!(run.spent.wall_ms > 0 && run.spent.turns == 3, "{:?}", run.spent);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_button_allows_it_too() {
    let story = asked(vec![asks(COMMAND), edit(), submit()]).await;
    story.presses(MAINTAINER, "Approve").await;
    assert!(story.model().results()[0].contains("42 answers"));
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn a_rejection_is_told_with_its_reason_and_nothing_is_done() {
    let story = asked(vec![asks(COMMAND), edit(), submit()]).await;
    story.maintainer_says("/greenlight reject read the tests instead").await;
    let told = &story.model().results()[0];
    assert!(
        told.contains("read the tests instead") && !told.contains("42 answers"),
        "{told}"
    );
    story.review();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn nobody_answers_and_the_clock_lets_the_run_go_on() {
    let mut story = asked(vec![asks(COMMAND), edit(), submit()]).await;
    let id = gate(&story).await;
    story.days_pass().await;
    // As the clock does.
    let run = story.run().await;
    story.process().resume(run).await;
    story.settle().await;
    let told = &story.model().results()[0];
    assert!(told.contains("no answer"), "{told}");
    story.review();
    story.maintainer_says(&format!("/greenlight approve {id}")).await;
    insta::assert_snapshot!(story.whole_answer(), @"Nobody answered `[gate]` in time, so the run continued without it.");
    story.has_not_landed();
    story.restart().await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn an_approval_that_comes_too_late_does_nothing_and_the_run_goes_on() {
    let story = asked(vec![asks(COMMAND), edit(), submit()]).await;
    let id = gate(&story).await;
    story.days_pass().await;
    story.maintainer_says(&format!("/greenlight approve {id}")).await;
    assert!(story.answer().contains("continued without it"), "{}", story.answer());
    assert!(story.model().results()[0].contains("no answer"));
    story.review();
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn killed_while_it_waits_and_while_it_is_carried_out_it_is_handed_back_once() {
    let mut story = asked(vec![asks("sleep 2; echo $((6 * 7)) answers"), edit(), submit()]).await;
    story.restart().await;
    let waiting = gate(&story).await;
    story
        .double
        .comment(story.number, MAINTAINER, &format!("/greenlight approve {waiting}"))
        .await
        .unwrap();
    story.until_it_works().await;
    story.kill().await;
    story.start().await;
    story.settle().await;
    let answers = resolved(&story).await;
    assert!(answers.len() == 1 && answers[0].contains("42 answers"), "{answers:?}");
    let run = story.run().await;
    let of_requests = run.gates.iter().filter(|asked| asked.gate.kind.is_for_the_model());
    assert_eq!(of_requests.count(), 1);
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_each_request_is_asked_and_answered_once() {
    let mut story = Scene::default().model([asks(COMMAND), edit(), submit()]).begin().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    for said in ["/greenlight fix", "/greenlight approve", "/greenlight approve"] {
        story.double.comment(story.number, MAINTAINER, said).await.unwrap();
        story.settle_through(&gateway).await;
    }
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    assert_eq!(story.run().await.gates.len(), 2);
    story.finish().await;
}

#[tokio::test]
async fn red_ci_may_ask_and_an_approval_runs_that_one_thing() {
    let story = Scene::default()
        .model([asks(COMMAND), calls("run_tests", json!({})), edit(), submit()])
        .begin()
        .await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    story.maintainer_says("/greenlight approve").await;
    let results = story.model().results();
    assert!(results[0].contains("42 answers"), "{results:?}");
    // This did not permit running the tests, and nobody is asked about them.
    assert!(results[1].contains("`run_tests` is not available"), "{results:?}");
    let run = story.run().await;
    assert!(!run.may_execute() && run.reproduced.is_none());
    let open = run.open_gates();
    assert!(matches!(&open[0].kind, GateKind::VerifyAndLand { .. }), "{open:?}");
    story.review();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_model_that_wants_to_execute_before_consent_opens_no_gate_and_one_approval_lands() {
    let protected = json!({ "path": ".github/workflows/ci.yml", "text": "on: push\n" });
    let story = Scene::default()
        .model([
            calls("run_tests", json!({})),
            calls("run_code", json!({ "language": "bash", "code": "id" })),
            edit(),
            calls("run_tests", json!({ "names": ["test_change_is_given"], "minutes": 30 })),
            calls("write_file", protected),
            calls("diagnostics", json!({})),
            submit(),
        ])
        .begin()
        .await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    for request in story.model().requests() {
        let offered = request["tools"].to_string();
        assert!(
            !offered.contains("\"run_tests\"") && !offered.contains("\"run_code\""),
            "{offered}"
        );
        assert!(offered.contains("\"request_execution\""), "{offered}");
    }
    assert!(
        story
            .model()
            .told()
            .contains("is tested as soon as a maintainer approves it")
    );
    let results = story.model().results();
    assert!(
        results[0].contains("not available") && results[1].contains("not available"),
        "{results:?}"
    );
    assert!(results[4].contains("is protected"), "{results:?}");
    let gates = story.run().await.gates;
    assert_eq!(gates.len(), 1, "{gates:?}");
    assert!(
        matches!(gates[0].gate.kind, GateKind::VerifyAndLand { .. }),
        "{gates:?}"
    );
    assert!(
        story.sticky().contains("suggested, not executed yet"),
        "{}",
        story.sticky()
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.run().await.gates.len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn who_may_not_approve_allows_nothing() {
    let story = asked(vec![asks(COMMAND)]).await;
    story.says(STRANGER, "/greenlight approve").await;
    assert!(
        story.answer().contains("it requires write access"),
        "{}",
        story.answer()
    );
    story.presses(STRANGER, "Approve").await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.sticky().contains("Cancelled"), "{}", story.sticky());
    assert_eq!(story.model().requests().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn whoever_allowed_it_has_to_be_allowed_to_when_it_is_done() {
    let story = Scene::default()
        .config("[gate]\napprovers = 2\n")
        .person("bob", Role::Write)
        .model([asks(COMMAND)])
        .begin()
        .await;
    story.maintainer_says("/greenlight fix").await;
    story.says("bob", "/greenlight approve").await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.double.set_role("bob", Role::Read);
    story.maintainer_says("/greenlight approve").await;
    assert!(
        story
            .sticky()
            .contains("`bob` allowed this, but no longer has write access")
            || story
                .sticky()
                .contains("bob allowed this, but no longer has write access"),
        "{}",
        story.sticky()
    );
    assert_eq!(story.model().requests().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_push_voids_it() {
    let story = asked(vec![asks(COMMAND)]).await;
    let id = gate(&story).await;
    let change = [("fare.py", Some(&b"x = 1\n"[..]))];
    story.double.push(story.number, AUTHOR, &change).await.unwrap();
    story.settle().await;
    assert!(story.sticky().contains("Open requests are void"), "{}", story.sticky());
    story.maintainer_says(&format!("/greenlight approve {id}")).await;
    assert!(story.answer().contains("the head is"), "{}", story.answer());
    assert_eq!(story.model().requests().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn the_same_thing_asked_twice_is_two_requests() {
    let story = asked(vec![asks(COMMAND), asks(COMMAND), edit(), submit()]).await;
    let first = gate(&story).await;
    story.maintainer_says("/greenlight approve").await;
    let second = gate(&story).await;
    assert_ne!(first, second);
    story.maintainer_says(&format!("/greenlight approve {first}")).await;
    assert!(
        story.answer().contains("There is no open request"),
        "{}",
        story.answer()
    );
    story.maintainer_says("/greenlight reject once is enough").await;
    let results = story.model().results();
    assert!(
        results[0].contains("42 answers") && results[1].contains("once is enough"),
        "{results:?}"
    );
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn the_clock_closes_what_nobody_answered_and_the_run_goes_on_by_itself() {
    let story = asked(vec![asks(COMMAND), edit(), submit()]).await;
    // A clock that ticks all the time leaves waiting runs alone.
    story.process().starts_the_clock(std::time::Duration::from_millis(20));
    story.settle().await;
    assert_eq!(story.run().await.open_gates().len(), 1);
    story.days_pass().await;
    let number = story.number;
    story
        .until("the fix", |double| !double.reviews(number).is_empty())
        .await;
    story.settle().await;
    assert!(
        story.model().results()[0].contains("no answer"),
        "{:?}",
        story.model().results()
    );
    let open = story.run().await.open_gates();
    assert!(matches!(&open[0].kind, GateKind::Land { .. }), "{open:?}");
    story.has_not_landed();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

//! A model without tools: it acts through blocks of code, and every gate is where it is for other models.

use std::time::Duration;

use github_double::MAINTAINER;
use greenlight::domain::gate::GateKind;
use serde_json::Value;

use crate::harness::model::{Refuses, Turn, says};
use crate::harness::story::{FIXED, Scene, Story};

const LOOK: &str = "Let me look.\n<execute>\ntext = read_file('fare.py')\nprint(text, run_tests())\n</execute>";
const EDIT: &str = "<execute>\nprint(edit_file('fare.py', 'return paid + fare', 'return paid - fare'))\n\
                    open('fare.py').read()\n</execute>";
/// Uses variables of an earlier block, which no text for the model contains.
const ASK: &str = "<execute>\nimport os\nsecond = list(range(40, 43))\n\
                   answer = request_execution(command='echo $((6 * 7)) answers; cat fare.py', minutes=2, \
                   why='To see it. @ada')\nprint(len(text) > 9, second[-1] + 100, os.path.exists('fare.py'), answer)\n\
                   </execute>";
const SUBMIT: &str = "<execute>submit('Change is what is left.')</execute>";

/// A story with a model that plays these turns and does not support tools.
async fn by_code(scene: Scene, turns: &[&str]) -> Story {
    let turns: Vec<Turn> = turns.iter().map(|text| says(text)).collect();
    let story = scene.model(turns).begin().await;
    story.model().refuses(Refuses::Tools);
    story
}

/// A story that waits for a person in a block, after an edit.
async fn waiting() -> Story {
    let story = by_code(Scene::default(), &[LOOK, EDIT, ASK, SUBMIT]).await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(story.run().await.open_gates().len(), 1, "{}", story.sticky());
    story
}

/// The results of blocks and of the calls in them, according to the journal.
async fn results(story: &Story) -> Vec<(String, String)> {
    let runs = story.runs().await;
    let Some(run) = runs.last() else { return Vec::new() };
    let journal = &story.process().queue.app().journal;
    let steps = journal.steps(run.id(), 0, 1_000).await.unwrap();
    let results = steps.into_iter().filter_map(|stored| {
        let step: Value = serde_json::from_str(&stored.json).unwrap();
        let item = step.get("said").or(step.get("resolved"))?;
        let result = item.get("result")?;
        let text = |key: &str| result[key].as_str().unwrap().to_string();
        Some((text("call_id"), text("text")))
    });
    results.collect()
}

/// Waits until a call in a block has its result.
async fn has_called(story: &Story) {
    let called = async {
        while results(story).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), called).await.unwrap();
}

/// The state was kept, and the block received this answer.
#[track_caller]
fn went_on(told: &str, answer: &str) {
    assert!(told.contains("True 142 True ") && told.contains(answer), "{told}");
    assert!(!told.contains("is lost"), "{told}");
}

#[tokio::test]
async fn it_fixes_from_red_to_landing() {
    let story = by_code(Scene::default(), &[LOOK, EDIT, SUBMIT]).await;
    story.maintainer_says("/greenlight fix").await;
    let told = story.model().told();
    assert!(told.contains("test_change_is_given"), "{told}");
    assert!(told.contains("paid - fare(stops)"), "{told}");
    assert!(
        story
            .model()
            .requests()
            .iter()
            .all(|asked| asked.get("tools").is_none())
    );
    assert_eq!(story.model().refused(), [Refuses::Tools]);
    story.review();
    assert_eq!(story.run().await.spent.turns, 3);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.file("fare.py"), FIXED);
    story.finish().await;
}

#[tokio::test]
async fn what_a_block_asks_for_is_shown_and_done_and_the_block_goes_on() {
    let story = waiting().await;
    let sticky = story.sticky();
    for shown in [
        "The model asks to run a command",
        "with 1 changed file of the model's",
        "echo $((6 * 7)) answers; cat fare.py",
        "+    return paid - fare(stops)",
    ] {
        assert!(sticky.contains(shown), "{shown}\n{sticky}");
    }
    assert!(!sticky.contains("@ada"), "{sticky}");
    story.maintainer_says("/greenlight approve").await;
    let told = story.model().told();
    went_on(&told, "42 answers");
    // It ran with the edits that the code had made.
    let results = results(&story).await;
    let (_, carried_out) = results.iter().find(|(id, _)| id == "code_2_0.1").unwrap();
    assert!(carried_out.starts_with("approved, and done"), "{carried_out}");
    assert!(carried_out.contains("paid - fare(stops)"), "{carried_out}");
    story.review();
    story.has_not_landed();
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_reason_reaches_the_block_and_nothing_is_done() {
    let story = waiting().await;
    story.maintainer_says("/greenlight reject read the tests instead").await;
    let told = story.model().told();
    went_on(&told, "read the tests instead");
    assert!(!told.contains("42 answers"), "{told}");
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn nobody_answers_and_the_block_goes_on_without() {
    let story = waiting().await;
    story.days_pass().await;
    // As the clock does.
    let run = story.run().await;
    story.process().resume(run).await;
    story.settle().await;
    let told = story.model().told();
    went_on(&told, "no answer");
    assert!(!told.contains("42 answers"), "{told}");
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn killed_while_it_waits_its_state_is_made_again() {
    for (said, answer) in [
        ("/greenlight approve", "42 answers"),
        ("/greenlight reject not today", "not today"),
    ] {
        let mut story = waiting().await;
        story.restart().await;
        story.restart().await;
        story.maintainer_says(said).await;
        went_on(&story.model().told(), answer);
        story.review();
        story.maintainer_says("/greenlight approve").await;
        story.has_landed();
        assert_eq!(story.file("fare.py"), FIXED);
        story.finish().await;
    }
}

#[tokio::test]
async fn killed_while_a_block_runs_it_is_run_again_and_calls_nothing_twice() {
    let slow = "<execute>\nprint(edit_file('fare.py', 'return paid + fare', 'return paid - fare'))\n\
                print(run_code(language='bash', code='sleep 3; echo $((6 * 7)) ran'))\n</execute>";
    let mut story = by_code(Scene::default(), &[slow, SUBMIT]).await;
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    has_called(&story).await;
    story.kill().await;
    story.start().await;
    story.settle().await;
    let ids: Vec<String> = results(&story).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["code_0_0.1", "code_0_0.2", "code_0_0", "code_1_0.1", "code_1_0"]);
    assert!(story.model().told().contains("42 ran"), "{}", story.model().told());
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.model().requests().len(), 2);
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_it_pays_for_each_turn_once() {
    let mut story = by_code(Scene::default(), &[LOOK, EDIT, ASK, SUBMIT]).await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    for said in ["/greenlight fix", "/greenlight approve", "/greenlight approve"] {
        let comment = story.double.comment(story.number, MAINTAINER, said);
        comment.await.unwrap();
        story.settle_through(&gateway).await;
    }
    story.has_landed();
    assert_eq!(story.model().requests().len(), 4);
    story.finish().await;
}

#[tokio::test]
async fn red_ci_executes_nothing_before_an_approval() {
    let config = "execution = \"approve\"\n";
    let story = by_code(Scene::default().config(config), &[LOOK, EDIT, SUBMIT]).await;
    story.ci_fails().await;
    story.has_executed_nothing().await;
    assert_eq!(story.model().requests().len(), 0);
    let open = story.run().await.open_gates();
    assert!(
        matches!(&open[..], [gate] if matches!(gate.kind, GateKind::Search { .. })),
        "{open:?}"
    );
    story.maintainer_says("/greenlight approve").await;
    story.review();
    assert!(story.run().await.proposal.unwrap().evidence.is_some());
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.file("fare.py"), FIXED);
    story.finish().await;
}

#[tokio::test]
async fn a_rejected_search_asks_the_model_nothing() {
    let story = by_code(Scene::default(), &[]).await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight reject").await;
    assert_eq!(story.model().requests().len(), 0);
    story.has_executed_nothing().await;
    story.finish().await;
}

#[tokio::test]
async fn what_ends_differently_the_second_time_loses_the_state_but_no_edit() {
    // It makes different calls before and after an interruption.
    let fickle = "<execute>\nimport os, time\nnow = time.time_ns()\n\
                  edit_file('fare.py', 'return paid + fare', 'return paid - fare')\nread_file(f'a{now}')\n\
                  write_file('note.txt', 'x')\n\
                  print(request_execution(command='cat note.txt', minutes=1, why='To see it.'))\n</execute>";
    let look = "<execute>print(read_file('note.txt'))\nprint(read_file('fare.py'))</execute>";
    let story = by_code(Scene::default(), &[fickle, look, SUBMIT]).await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    let told = story.model().told();
    assert!(
        told.contains("The state of all blocks is lost: after an interruption"),
        "{told}"
    );
    let results = results(&story).await;
    let (_, looked) = results.iter().find(|(id, _)| id == "code_1_0").unwrap();
    assert!(
        looked.contains("1\tx") && looked.contains("paid - fare(stops)"),
        "{looked}"
    );
    story.review();
    story.finish().await;
}

#[tokio::test]
async fn a_cancel_ends_a_block_at_once() {
    let endless = "<execute>\nread_file('fare.py')\nwhile True: pass\n</execute>";
    let story = by_code(Scene::default(), &[endless]).await;
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    has_called(&story).await;
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.sticky().contains("Cancelled"), "{}", story.sticky());
    story.has_no_review();
    story.finish().await;
}

#[tokio::test]
async fn tests_come_first_by_code_too() {
    let test = "import unittest\n\nimport fare\n\n\nclass Refund(unittest.TestCase):\n    \
                def test_half_is_given_back(self):\n        self.assertEqual(fare.refund(501), 250)\n";
    let program = format!("{FIXED}\n\ndef refund(paid):\n    return paid // 2\n");
    let write = |path: &str, text: &str| {
        format!("<execute>\nwrite_file({path:?}, {text:?})\nsubmit('Half of it is given back.')\n</execute>")
    };
    let (first, second) = (write("test_refund.py", test), write("fare.py", &program));
    let early = write("fare.py", "x = 1\n");
    let story = by_code(Scene::default().adds("fare.py", FIXED), &[&early, &first, &second]).await;
    story
        .maintainer_says("/greenlight tdd refund(paid) gives back half")
        .await;
    let review = story.review().body;
    assert!(review.contains("written first; without the code they fail"), "{review}");
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("fare.py"), program);
    assert_eq!(story.file("test_refund.py"), test);
    story.finish().await;
}

#[tokio::test]
async fn a_cause_is_explained_by_code() {
    let explains = "<execute>explain('The fare is added.', because=[{'path': 'fare.py', 'from': 6, 'to': 6, \
                    'says': 'adds'}])</execute>";
    let story = by_code(Scene::default(), &["<execute>submit('x')</execute>", explains]).await;
    story.maintainer_says("/greenlight explain").await;
    assert!(story.answer().contains("The fare is added"), "{}", story.answer());
    assert!(story.model().told().contains("NameError"), "{}", story.model().told());
    story.has_no_review();
    story.finish().await;
}

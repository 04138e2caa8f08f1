//! A run that the service recorded replays identically with `greenlight replay`, on a machine that knows nothing else
//! about it.

use serde_json::{Value, json};

use crate::doors::Door;
use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

fn asks() -> Turn {
    let command = "echo $((6 * 7)) answers; cat fare.py";
    calls(
        "request_execution",
        json!({ "command": command, "minutes": 2, "why": "To see how it behaves." }),
    )
}

fn edit(line: &str) -> Turn {
    calls(
        "edit_file",
        json!({ "path": "fare.py", "old": "return paid + fare(stops)", "new": line }),
    )
}

fn submit() -> Turn {
    calls("submit", json!({ "summary": "Change is what is left." }))
}

/// Replays the newest run in a separate process.
async fn replayed(story: &Story) -> Value {
    let run = story.run().await;
    let file = story.folder().join(format!("bundles/acme/rail/{}.zip", run.id()));
    let ended = Door::new().run(["replay", "--json", file.to_str().unwrap()]).await;
    let replayed: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{ended:#?}"));
    assert_eq!((ended.code, &replayed["same"]), (Some(0), &json!(true)), "{replayed:#}");
    replayed
}

#[tokio::test]
async fn answers_of_people_are_taken_from_the_record() {
    let turns = [
        asks(),
        edit("return (paid - fare(stops))"),
        submit(),
        asks(),
        edit("return paid - fare(stops)"),
        submit(),
    ];
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject read it instead").await;
    story.maintainer_says("/greenlight reject no parentheses").await;
    story.maintainer_says("/greenlight approve").await;
    let replayed = replayed(&story).await;
    assert_eq!((&replayed["attempts"], &replayed["turns"]), (&json!(2), &json!(6)));
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_run_that_only_read_only_reads_again() {
    let turns = [asks(), edit("return paid - fare(stops)"), submit()];
    let story = Scene::default().model(turns).begin().await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(replayed(&story).await["attempts"], 1);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_was_remembered_is_in_the_record() {
    let turns = [
        edit("return (paid - fare(stops))"),
        submit(),
        edit("return paid - fare(stops)"),
        submit(),
    ];
    let story = Scene::default().model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight reject").await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(replayed(&story).await["turns"], 2);
    story.finish().await;
}

//! Runs as people look at them: the same numbers over REST and in a terminal.

use github_double::{AUTHOR, MAINTAINER, STRANGER};
use serde_json::Value;

use crate::doors::Door;
use crate::harness::story::{Scene, Story};

async fn get(story: &Story, path: &str, login: &str) -> (u16, Value) {
    let url = format!("{}/api/v1{path}", story.process().url);
    let request = crate::harness::http()
        .build()
        .unwrap()
        .get(url)
        .bearer_auth(story.double.user_token(login));
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// A fix that waits for its approval.
async fn proposed() -> Story {
    let story = Scene::default().auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story
}

#[tokio::test]
async fn a_repository_is_counted_for_those_who_may_read_it() {
    let story = Scene::default().private().auto().model([]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let path = "/stats?repository=acme/rail&days=7";
    let (status, counted) = get(&story, path, AUTHOR).await;
    assert_eq!(status, 200, "{counted}");
    let counted = &counted["statistics"];
    assert_eq!(
        (&counted["runs"], &counted["by_state"]["waiting"]),
        (&1.into(), &1.into())
    );
    assert_eq!(get(&story, path, STRANGER).await.0, 404);
    for wrong in [
        "",
        "?repository=acme",
        "?repository=acme/rail&days=x",
        "?repository=acme/rail&days=0",
    ] {
        assert_eq!(
            get(&story, &format!("/stats{wrong}"), MAINTAINER).await.0,
            400,
            "{wrong}"
        );
    }
    let (status, wrong) = get(&story, "/stats?repository=acme/rail&days=4000", MAINTAINER).await;
    assert_eq!(status, 400);
    assert!(
        wrong.to_string().contains("`days` has to be between 1 and 3650"),
        "{wrong}"
    );
    assert_eq!(get(&story, "/stats?repository=acme/other", MAINTAINER).await.0, 404);
    story.maintainer_says("/greenlight approve").await;
    let (_, counted) = get(&story, path, MAINTAINER).await;
    let counted = &counted["statistics"];
    assert_eq!(
        (&counted["accepted"], &counted["acceptance_rate"]),
        (&1.into(), &1.0.into()),
        "{counted}"
    );
    assert_eq!(counted["accepted_without_model"], 1);
    assert!(counted["time_to_green"]["median_ms"].is_u64());
    story.finish().await;
}

#[tokio::test]
async fn a_terminal_shows_the_numbers_of_the_journal_and_of_the_server() {
    let story = proposed().await;
    let run = story.run().await.id().to_string();
    let (_, whole) = get(&story, &format!("/runs/{run}"), MAINTAINER).await;
    let kinds: Vec<&str> = whole["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"tests") && kinds.contains(&"proposal") && kinds.ends_with(&["request"]),
        "{kinds:?}"
    );
    let here = Door::new().with("GREENLIGHT_DATA_DIR", story.folder().to_str().unwrap());
    let there = Door::new().with("GREENLIGHT_GITHUB_TOKEN", story.double.user_token(MAINTAINER));
    let server = ["--server", &story.process().url, "--json"];
    let mut documents = Vec::new();
    for (door, more) in [(&here, &["--json"][..]), (&there, &server[..])] {
        let list = ["runs", "--repository", "acme/rail", "--state", "waiting"];
        let listed = door.run(list.iter().chain(more)).await.with(0);
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        assert_eq!(listed["runs"][0]["id"], *run, "{listed}");
        let shown = door.run(["runs", "show", &run].iter().chain(more)).await.with(0);
        let shown: Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!(shown["timeline"], whole["timeline"]);
        let counted = door
            .run(
                ["stats", "--since", "30d", "--repository", "acme/rail"]
                    .iter()
                    .chain(more),
            )
            .await
            .with(0);
        let counted: Value = serde_json::from_str(&counted.out).unwrap();
        documents.push(counted["statistics"].clone());
    }
    assert_eq!(documents[0]["runs"], 1, "{}", documents[0]);
    assert_eq!(documents[0], documents[1]);
    let none = here.run(["runs", "show", "r000000000"]).await.with(2);
    assert!(none.err.contains("there is no run"), "{}", none.err);
    let unnamed = there.run(["stats", "--server", &story.process().url]).await.with(2);
    assert!(unnamed.err.contains("--repository"), "{}", unnamed.err);
    let open = there
        .run(["runs", "--repository", "a/b", "--server", "http://example.org"])
        .await
        .with(2);
    assert!(open.err.contains("not encrypted"), "{}", open.err);
    // Looking changes nothing.
    assert_eq!(
        story.run().await.length,
        usize::try_from(whole["steps"].as_u64().unwrap()).unwrap()
    );
    story.finish().await;
}

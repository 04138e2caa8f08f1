//! Several processes share the work of one service through PostgreSQL.

use std::time::Duration;

use github_double::{Double, Fault, MAINTAINER};
use greenlight::agent::Delta;
use greenlight::engine::{App, Chunk};
use greenlight::github;

use crate::harness::story::{Scene, Story};
use crate::harness::{eventually, postgres};

/// A service whose door has no workers. `None` without PostgreSQL.
async fn door(scene: Scene) -> Option<Story> {
    let url = postgres::new_database().await?;
    Some(scene.on_postgres(url).workers(0).begin().await)
}

/// Tests that never end as long as there is a file `block`.
fn endless() -> Scene {
    Scene::tested_by("if test -e block; then sleep 3000; fi; python3 -m unittest -v").adds("block", "1\n")
}

async fn asks_and_waits_until_it_works(story: &Story) {
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    story.until_it_works().await;
}

#[tokio::test]
async fn a_door_without_workers_answers_and_leaves_the_rest_to_workers() {
    let Some(story) = door(Scene::default()).await else {
        return;
    };
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    let help = story.double.comment(story.number, MAINTAINER, "/greenlight help");
    help.await.unwrap();
    let helped = |double: &Double| {
        let comments = double.comments(story.number);
        comments.iter().any(|comment| comment.body.contains("show this list"))
    };
    story.until("help", helped).await;
    assert!(story.runs().await.is_empty());
    let (worker, _folder) = story.join(1).await;
    story.settle().await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    worker.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn a_cancel_reaches_the_process_that_is_at_work() {
    let Some(story) = door(endless()).await else { return };
    let (worker, _folder) = story.join(1).await;
    asks_and_waits_until_it_works(&story).await;
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.run().await.is_over());
    // Its tests would run for most of an hour.
    worker.queue.idle().await;
    worker.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn a_push_reaches_the_process_that_is_at_work() {
    let Some(story) = door(endless()).await else { return };
    let (worker, _folder) = story.join(1).await;
    asks_and_waits_until_it_works(&story).await;
    let files = [("note.md", Some(&b"more\n"[..]))];
    story
        .double
        .push(story.number, github_double::AUTHOR, &files)
        .await
        .unwrap();
    story.settle().await;
    assert!(story.run().await.is_over());
    worker.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn another_process_resumes_the_work_of_one_that_was_killed() {
    let Some(story) = door(endless()).await else { return };
    let (first, _folder) = story.join(1).await;
    asks_and_waits_until_it_works(&story).await;
    let begun = story.run().await;
    first.kill().await;
    let (second, _other) = story.join(1).await;
    let started = story.run().await.length;
    assert!(started >= begun.length);
    postgres::let_leases_end(story.postgres()).await;
    story.maintainer_says("/greenlight cancel").await;
    second.queue.idle().await;
    assert_eq!(story.runs().await.len(), 1);
    assert!(story.run().await.is_over());
    second.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn a_process_whose_lane_was_taken_over_stops_and_says_nothing() {
    let Some(story) = door(endless()).await else { return };
    let (worker, _folder) = story.join(1).await;
    asks_and_waits_until_it_works(&story).await;
    let take_over = "UPDATE lane SET holder = 'another', token = nextval('fencing_token'), until = now() + \
                     interval '1 hour' WHERE name LIKE '%#%'";
    postgres::execute(story.postgres(), take_over).await;
    let (said, begun) = (story.comments(), story.run().await.length);
    // It notices at its next step or at its next heartbeat.
    story
        .until_logged(&["a lease was lost", "was left to another process"])
        .await;
    // Not `idle`: the work is still due, for the other process.
    worker.queue.drain(std::time::Duration::from_secs(60)).await;
    assert_eq!(story.run().await.length, begun);
    assert_eq!(story.comments(), said);
    worker.kill().await;
    postgres::let_leases_end(story.postgres()).await;
    let (next, _other) = story.join(1).await;
    story.maintainer_says("/greenlight cancel").await;
    assert!(story.run().await.is_over());
    next.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn a_process_that_is_too_old_for_the_tables_stops() {
    let Some(story) = door(endless()).await else { return };
    let (old, _folder) = story.join(1).await;
    asks_and_waits_until_it_works(&story).await;
    postgres::execute(story.postgres(), "UPDATE compatibility SET oldest = 9999").await;
    story.until_logged(&["this process stops working"]).await;
    old.queue.idle().await;
    assert!(!old.queue.has_room());
    assert!(!story.run().await.is_over());
    old.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn what_a_model_says_is_heard_in_other_processes_without_secrets() {
    let Some(story) = door(endless()).await else { return };
    let (worker, _folder) = story.join(1).await;
    asks_and_waits_until_it_works(&story).await;
    let run = story.run().await.id().clone();
    let mut listening = story.process().queue.app().voices.listen(&run);
    let speak = worker.queue.app().voices.of(&run);
    // It is heard once the worker knows that somebody listens.
    let mut again = tokio::time::interval(Duration::from_millis(100));
    let heard = loop {
        tokio::select! {
            heard = listening.next() => break heard,
            _ = again.tick() => speak(Delta::Text("The token is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\n")),
        }
    };
    assert_eq!(heard, Some(Chunk::Text("The token is [redacted]\n".into())));
    assert_eq!(postgres::rows_with(story.postgres(), "ghp_").await, [""; 0]);
    story.maintainer_says("/greenlight cancel").await;
    worker.kill().await;
    story.finish().await;
}

async fn asks_github(app: &App, story: &Story) -> Result<(), github::Error> {
    let run = story.run().await;
    let pull_request = run.started.pull_request().unwrap();
    let client = app
        .github
        .client(run.started.installation, &pull_request.repository)
        .await?;
    client.pull_request(pull_request).await.map(drop)
}

#[tokio::test]
async fn a_pause_that_github_asks_one_process_for_is_kept_by_all() {
    let Some(story) = door(Scene::default()).await else {
        return;
    };
    let (worker, _folder) = story.join(1).await;
    story.maintainer_says("/greenlight fix").await;
    let [one, other] = [story.process().queue.app(), worker.queue.app()];
    asks_github(other, &story).await.unwrap();
    story
        .double
        .plan_fault("GET", "/pulls/", Fault::SecondaryLimit { retry_after: 3600 });
    let refused = asks_github(one, &story).await;
    assert!(matches!(refused, Err(github::Error::RateLimited(_))), "{refused:?}");
    let installation = story.run().await.started.installation.unwrap().0;
    eventually("a pause in the other process", async || {
        other.github.pauses().left(installation).is_some()
    })
    .await;
    let asked = story.double.requests().len();
    for app in [one, other] {
        let refused = asks_github(app, &story).await;
        assert!(matches!(refused, Err(github::Error::RateLimited(_))), "{refused:?}");
    }
    assert_eq!(story.double.requests().len(), asked);
    worker.kill().await;
    story.finish().await;
}

const NEEDS: &str = "[worker]\nneeds = [\"gpu\"]\n";

#[tokio::test]
async fn a_repository_that_needs_a_label_waits_for_a_worker_that_has_it() {
    let Some(story) = door(Scene::default().config(NEEDS)).await else {
        return;
    };
    let (plain, _folder) = story.join_labelled(1, &["linux"]).await;
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    story
        .until_logged(&["work is left to a worker with these labels needs=`gpu`"])
        .await;
    let (able, _other) = story.join_labelled(1, &["linux", "gpu"]).await;
    story.settle().await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    assert_eq!(story.runs().await.len(), 1);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    plain.kill().await;
    able.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn tests_go_to_a_worker_that_has_their_tools_if_there_is_one() {
    let Some(story) = door(Scene::default()).await else {
        return;
    };
    let (plain, _folder) = story.join_labelled(1, &["linux"]).await;
    let registered = "INSERT INTO worker (holder, labels, until) VALUES ('able', '[\"linux\", \"python3\"]', now() + \
                      interval '1 hour')";
    postgres::execute(story.postgres(), registered).await;
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    story
        .until_logged(&["the tests need what another machine has needs=`python3`"])
        .await;
    let (able, _other) = story.join_labelled(1, &["linux", "python3"]).await;
    story.settle().await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    assert_eq!(story.runs().await.len(), 1);
    // No worker has the tool any more, so the other one does what is left.
    able.kill().await;
    postgres::execute(story.postgres(), "DELETE FROM worker").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    plain.kill().await;
    story.finish().await;
}

#[tokio::test]
async fn one_machine_without_a_needed_label_says_so_and_executes_nothing() {
    let story = Scene::default().config(NEEDS).labelled(&["linux"]).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let said = story.sticky();
    let reason = "`worker.needs` in `greenlight.toml` asks for `gpu`, which this machine does not have. Nothing was \
                  executed.";
    assert!(said.contains(reason), "{said}");
    assert!(story.run().await.is_over());
    story.finish().await;
}

/// Machines' clocks differ. The database's clock, an hour behind here, says what came before what.
#[tokio::test]
async fn all_processes_go_by_the_clock_of_the_database() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    // A search path that names `pg_catalog` last lets a function of the same name come first.
    let behind = "DO $do$ BEGIN
            CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                AS $$ SELECT pg_catalog.clock_timestamp() - interval '1 hour' $$;
            CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql
                AS $$ SELECT pg_catalog.now() - interval '1 hour' $$;
            EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
        END $do$";
    postgres::execute(&url, behind).await;
    let story = Scene::default().on_postgres(url).workers(1).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    let ago = |then: jiff::Timestamp| jiff::Timestamp::now().duration_since(then).as_mins();
    let gate = &run.gates.last().unwrap().gate;
    assert!((59..62).contains(&ago(run.started.at)), "{}", run.started.at);
    assert!((59..62).contains(&ago(gate.opened)), "{}", gate.opened);
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

/// As with a clock that is wrong: that process could do none of the work that it claims.
#[tokio::test]
async fn a_process_whose_credentials_are_refused_leaves_the_work_to_others() {
    let Some(story) = door(Scene::default()).await else {
        return;
    };
    // One for the current token, and one for the new one.
    for _ in 0..2 {
        story.double.plan_fault("GET", "/pulls/1", Fault::BadCredentials);
    }
    let (one, _folder) = story.join(1).await;
    let comment = story.double.comment(story.number, MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    story.until_logged(&["GitHub refuses this process's credentials"]).await;
    // It gives the lane back, and does not take it again although the work is due.
    let held = "SELECT count(*) FROM lane WHERE name <> 'leader' AND holder IS NOT NULL";
    eventually("a lane that nobody holds", async || {
        postgres::count(story.postgres(), held).await == 0
    })
    .await;
    assert!(!story.told().contains("Approve to commit"), "{}", story.told());
    let (other, _other) = story.join(1).await;
    story.settle().await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    assert_eq!(story.runs().await.len(), 1);
    one.kill().await;
    other.kill().await;
    story.finish().await;
}

/// The database is gone for a moment, once while a run works and once while an approval is recorded. The run does not
/// end, and the approval is not lost.
#[tokio::test]
async fn an_outage_of_the_database_ends_no_run_and_loses_no_approval() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let story = Scene::default().on_postgres(url).workers(1).begin().await;
    let fail_once = r#"DO $do$ BEGIN
            -- A rollback does not set a sequence back.
            CREATE SEQUENCE reproduced;
            CREATE SEQUENCE answered;
            CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF (NEW.step LIKE '{"reproduced"%' AND nextval('reproduced') = 1)
                    OR (NEW.step LIKE '{"answered"%' AND nextval('answered') = 1) THEN
                    RAISE EXCEPTION 'terminating connection due to administrator command' USING ERRCODE = '57P01';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER fail_once BEFORE INSERT ON step FOR EACH ROW EXECUTE FUNCTION fail_once();
        END $do$"#;
    postgres::execute(story.postgres(), fail_once).await;
    story.maintainer_says("/greenlight fix").await;
    story.until_logged(&["work failed"]).await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.double.commits(story.number).unwrap().len(), 1);
    postgres::execute(story.postgres(), "UPDATE work SET not_before = now() WHERE tries > 0").await;
    story.settle().await;
    story.has_landed();
    assert_eq!(story.runs().await.len(), 1);
    story.finish().await;
}

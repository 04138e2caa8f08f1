//! Read-only commands: `help`, `status`, `config`, `explain`; and comments that are not commands.

use github_double::{AUTHOR, MAINTAINER, Role, STRANGER};
use greenlight::config::RepoConfig;

use crate::harness::story::{Scene, Story};

#[tokio::test]
async fn anybody_may_ask_for_help_status_and_configuration() {
    let story = Scene::default()
        .config("[gate]\napprovers = 3\n")
        .about_triage()
        .begin()
        .await;
    story.says(STRANGER, "/greenlight help").await;
    insta::assert_snapshot!(story.whole_answer(), @"
    | comment | what happens |
    |---|---|
    | `/greenlight fix` | find the failing tests and propose a fix |
    | `/greenlight tdd <specification>` | write failing tests first, then make them pass |
    | `/greenlight refactor <goal> [in <path>]` | change the code and keep its tests green |
    | `/greenlight explain` | explain why the checks fail, without changing anything |
    | `/greenlight approve [id]` | do exactly what the open request says |
    | `/greenlight reject [id] [reason]` | turn the request down; the reason helps to find a better fix |
    | `/greenlight cancel` | stop the run of this pull request |
    | `/greenlight retry` | re-run the failed CI jobs |
    | `/greenlight undo` | revert the last commit that greenlight landed here |
    | `/greenlight status` | show what is running and what is waiting for you |
    | `/greenlight help` | show this list |
    | `/greenlight config` | show the configuration in effect, and where it comes from |

    A command has to start its line. All but `help`, `status` and `config` need write access.
    ");
    story.says(STRANGER, "/greenlight status").await;
    insta::assert_snapshot!(story.whole_answer(), @"Nothing has been done here yet. `/greenlight fix` starts.");
    story.says(STRANGER, "/greenlight config").await;
    insta::assert_snapshot!(story.whole_answer(), @r#"
    In effect here, from `greenlight.toml on main` or by default:

    ```toml
    execution = "approve"

    [trigger]
    ci = true
    label = "greenlight"

    [test]
    # command: found automatically
    # install: found automatically
    timeout = "10m"
    cold_proof = false

    [triage]
    runs = 5
    confidence = 95

    [repair]
    candidates = 20000
    wall = "10m"
    before_model = "30s"

    [gate]
    expires = "24h"
    approvers = 3
    tests = false

    [limits]
    turns = 30
    tokens = 400000
    cost_usd = 2.0
    wall = "30m"
    patch_lines = 200

    [limits.pull_request]
    turns = 150
    tokens = 2000000
    cost_usd = 10.0

    [limits.user]
    # no limits

    [limits.day]
    turns = 600
    tokens = 8000000
    cost_usd = 40.0

    [protect]
    paths = []

    [sandbox]
    memory = "2GiB"
    processes = 1024
    disk = "4GiB"
    network = []
    require = []

    [worker]
    needs = []
    ```
    "#);
    assert_eq!(story.comments().len(), 3);
    story.finish().await;
}

#[tokio::test]
async fn the_configuration_is_shown_as_a_file_that_means_the_same() {
    let own = "[test]\ninstall = \"pip install 'x>1'\"\n[gate]\nexpires = \"48h\"\n[limits.user]\nturns = 9\n\
               [repair]\ncandidates = 77\n[triage]\nruns = 3\n\
               [sandbox]\nnetwork = [\"registries\"]\nrequire = [\"memory\"]\n";
    for own in ["", own] {
        let story = Scene::default().config(own).about_triage().begin().await;
        story.says(STRANGER, "/greenlight config").await;
        let answer = story.answer();
        let (_, shown) = answer.split_once("```toml\n").unwrap();
        let (shown, _) = shown.split_once("\n```").unwrap();
        assert_eq!(RepoConfig::parse(shown), RepoConfig::parse(own), "{shown}");
        assert!(shown.contains("# command: found automatically"), "{shown}");
        for field in [
            "cost_usd",
            "[limits.day]",
            "[limits.user]",
            "[limits.pull_request]",
            "network =",
            "require =",
        ] {
            assert!(shown.contains(field), "{field}: {shown}");
        }
        let expires = if own.is_empty() { "\"24h\"" } else { "\"48h\"" };
        assert!(shown.contains(&format!("expires = {expires}")), "{shown}");
        story.finish().await;
    }
}

#[tokio::test]
async fn explain_says_what_was_seen_and_runs_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight explain").await;
    insta::assert_snapshot!(story.whole_answer(), @"I have not looked yet: no failed check and no `/greenlight fix` on this head.");
    story.ci_fails().await;
    story.maintainer_says("/greenlight explain").await;
    insta::assert_snapshot!(story.whole_answer(), @r#"
    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/home/runner/work/rail/rail/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>
    "#);
    story.has_executed_nothing().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight explain").await;
    insta::assert_snapshot!(story.whole_answer(), @r#"
    `python3 -m unittest discover` on [commit]: 1 failed, 1 passed.

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
    "#);
    story.finish().await;
}

#[tokio::test]
async fn what_is_quoted_or_code_or_hidden_commands_nothing() {
    let story = Story::new().await;
    for body in [
        "```\n/greenlight fix\n```",
        "> /greenlight fix",
        "    /greenlight fix",
        "<!--\n/greenlight fix\n-->",
        "<!-- /greenlight fix -->",
        "`/greenlight fix`",
        "please /greenlight fix",
        "<details>\n/greenlight fix\n</details>",
        "- [x] `/greenlight fix`",
        "[/greenlight fix](https://example.org)",
        "~~~sh\n/greenlight fix",
        "> quoted\n/greenlight fix",
        "/greenlightfix",
    ] {
        story.maintainer_says(body).await;
        assert!(story.comments().is_empty() && story.runs().await.is_empty(), "{body}");
    }
    story.finish().await;
}

#[tokio::test]
async fn a_typo_is_answered_with_what_was_probably_meant() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight aprove").await;
    insta::assert_snapshot!(story.whole_answer(), @"`aprove` is not a command. Did you mean `/greenlight approve`?");
    story.maintainer_says("/greenlight make coffee").await;
    insta::assert_snapshot!(story.whole_answer(), @"`make` is not a command. `/greenlight help` lists the commands.");
    story.maintainer_says("/greenlight fix everything").await;
    insta::assert_snapshot!(story.whole_answer(), @"`/greenlight fix` takes no `everything`.");
    story.maintainer_says("/greenlight tdd").await;
    insta::assert_snapshot!(story.whole_answer(), @"An argument is missing: `/greenlight tdd <specification>`.");
    assert!(story.runs().await.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn an_edited_comment_is_not_run() {
    let story = Story::new().await;
    let innocent = story.maintainer_says("looks good").await;
    story
        .double
        .edit_comment(innocent, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.settle().await;
    assert!(story.runs().await.is_empty());
    let help = story.maintainer_says("/greenlight help").await;
    story
        .double
        .edit_comment(help, MAINTAINER, "/greenlight help\n\nthanks!")
        .await
        .unwrap();
    story.settle().await;
    assert_eq!(story.comments().len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_stranger_can_not_put_words_into_somebodys_mouth() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let innocent = story.maintainer_says("I will look at it").await;
    // The sender of the event is somebody who may edit others' comments; the author is still the maintainer.
    story
        .double
        .edit_comment(innocent, STRANGER, "/greenlight approve")
        .await
        .unwrap();
    story.settle().await;
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn bots_are_never_obeyed() {
    let story = Scene::default().person("helper[bot]", Role::Admin).begin().await;
    for bot in ["helper[bot]", "github-actions[bot]", &story.double.bot()] {
        story.says(bot, "/greenlight fix").await;
        story.says(bot, "/greenlight help").await;
    }
    assert!(story.runs().await.is_empty());
    story.maintainer_says("/greenlight fix").await;
    for bot in ["helper[bot]", "github-actions[bot]", &story.double.bot()] {
        story.says(bot, "/greenlight approve").await;
    }
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_command_in_a_review_thread_is_obeyed_like_any_other() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let suggestion = story.review().comments[0].id;
    story
        .double
        .review_comment_reply(suggestion, STRANGER, "/greenlight approve")
        .await
        .unwrap();
    story.settle().await;
    assert!(story.answer().contains("write access"), "{}", story.answer());
    story.has_not_landed();
    story
        .double
        .review_comment_reply(suggestion, AUTHOR, "/greenlight approve")
        .await
        .unwrap();
    story.settle().await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn several_commands_of_one_comment_get_one_answer() {
    let story = Story::new().await;
    story
        .maintainer_says("/greenlight status\n\n/greenlight hlep\n\n/greenlight approve")
        .await;
    assert_eq!(story.comments().len(), 1);
    insta::assert_snapshot!(story.whole_answer(), @"
    Nothing has been done here yet. `/greenlight fix` starts.

    `hlep` is not a command. Did you mean `/greenlight help`?

    No request is waiting for an answer here. `/greenlight status` shows the state.
    ");
    story.finish().await;
}

#[tokio::test]
async fn what_takes_a_model_says_so() {
    let story = Story::new().await;
    for command in [
        "/greenlight tdd change is never negative",
        "/greenlight refactor tidy in fare.py",
    ] {
        story.maintainer_says(command).await;
        let verb = command.split(' ').nth(1).unwrap();
        let answer = story.whole_answer().replace(verb, "[verb]");
        insta::allow_duplicates! { insta::assert_snapshot!(answer, @"`[verb]` needs a model, and none is configured here: set `GREENLIGHT_MODEL`, and `GREENLIGHT_MODEL_BASE_URL` for your own endpoint. `fix` works without a model."); }
    }
    assert!(story.runs().await.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn in_a_long_conversation_greenlight_still_finds_its_own_words() {
    let story = Story::new().await;
    for _ in 0..120 {
        story.double.comment(story.number, STRANGER, "same here").await.unwrap();
    }
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    assert_eq!(story.comments().len(), 1);
    story.finish().await;
}

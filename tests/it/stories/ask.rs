//! What only asks: `help`, `status`, `config`, `explain`; and everything that is no command.

use greenlight::config::RepoConfig;
use greenlight::demo::{AUTHOR, MAINTAINER, Role, STRANGER};

use crate::harness::story::{Scene, Story};

#[tokio::test]
async fn anybody_may_ask_for_help_status_and_configuration() {
    let story = Scene::default().config("[gate]\napprovers = 3\n").begin().await;
    story.says(STRANGER, "/greenlight help").await;
    assert!(
        story.answer().contains("| `/greenlight approve [id]` |"),
        "{}",
        story.answer()
    );
    story.says(STRANGER, "/greenlight status").await;
    assert!(
        story.answer().contains("Nothing has been done here yet"),
        "{}",
        story.answer()
    );
    story.says(STRANGER, "/greenlight config").await;
    assert!(story.answer().contains("approvers = 3"), "{}", story.answer());
    assert_eq!(story.comments().len(), 3);
    story.finish().await;
}

#[tokio::test]
async fn the_configuration_is_shown_as_a_file_that_means_the_same() {
    let own = "[test]\ninstall = \"pip install 'x>1'\"\n[gate]\nexpires = \"48h\"\n[limits.user]\nturns = 9\n\
               [repair]\ncandidates = 77\n[triage]\nruns = 3\n\
               [sandbox]\nnetwork = [\"registries\"]\nrequire = [\"memory\"]\n";
    for own in ["", own] {
        let story = Scene::default().config(own).begin().await;
        story.says(STRANGER, "/greenlight config").await;
        let answer = story.answer();
        let (_, shown) = answer.split_once("```toml\n").unwrap();
        let (shown, _) = shown.split_once("\n```").unwrap();
        assert_eq!(RepoConfig::parse(shown), RepoConfig::parse(own), "{shown}");
        assert!(shown.contains("# command: found by itself"), "{shown}");
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
    assert!(story.answer().contains("I have not looked yet"), "{}", story.answer());
    story.ci_fails().await;
    story.maintainer_says("/greenlight explain").await;
    assert!(
        story.answer().contains("AssertionError: 800 != 200"),
        "{}",
        story.answer()
    );
    story.has_executed_nothing().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight explain").await;
    assert!(story.answer().contains("1 failed, 1 passed"), "{}", story.answer());
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
    assert!(
        story.answer().contains("Did you mean `/greenlight approve`?"),
        "{}",
        story.answer()
    );
    story.maintainer_says("/greenlight make coffee").await;
    assert!(
        story.answer().contains("`/greenlight help` lists"),
        "{}",
        story.answer()
    );
    story.maintainer_says("/greenlight fix everything").await;
    assert!(story.answer().contains("takes no `everything`"), "{}", story.answer());
    story.maintainer_says("/greenlight tdd").await;
    assert!(story.answer().contains("Something is missing"), "{}", story.answer());
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
    // Whoever may edit others' comments is the sender; the comment stays the maintainer's.
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
    let answer = story.answer();
    for part in [
        "Nothing has been done",
        "Did you mean `/greenlight help`",
        "Nothing waits",
    ] {
        assert!(answer.contains(part), "{part}\n{answer}");
    }
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
        for part in ["takes a model", "`GREENLIGHT_MODEL`", "`fix` works without one"] {
            assert!(story.answer().contains(part), "{}", story.answer());
        }
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

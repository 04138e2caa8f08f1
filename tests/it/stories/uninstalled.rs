//! A suspended or removed installation: greenlight stops writing, and does not keep asking.

use github_double::Uninstalled;

use crate::harness::story::Story;

fn tokens_asked_for(story: &Story) -> usize {
    let all = story.double.requests();
    all.iter().filter(|one| one.path.ends_with("/access_tokens")).count()
}

#[tokio::test]
async fn what_is_still_delivered_is_neither_obeyed_nor_retried() {
    for how in [Uninstalled::Suspended, Uninstalled::Removed] {
        let story = Story::new().await;
        story.ci_fails().await;
        let (said, asked) = (story.comments(), tokens_asked_for(&story));
        story.double.uninstall(Some(how));
        story.maintainer_says("/greenlight approve").await;
        assert_eq!(story.comments(), said);
        assert!(tokens_asked_for(&story) <= asked + 1, "{how:?}");
        let log = story.log();
        assert_eq!(log.matches("is not installed there").count(), 1, "{log}");
        assert!(!log.contains("did not say whether"), "{log}");
        story.double.uninstall(None);
        story.maintainer_says("/greenlight approve").await;
        story.review();
        story.finish().await;
    }
}

#[tokio::test]
async fn an_open_run_ends_without_a_word() {
    for how in [Uninstalled::Suspended, Uninstalled::Removed] {
        let mut story = Story::new().await;
        story.ci_fails().await;
        let said = story.comments();
        story.double.uninstall(Some(how));
        let asked = tokens_asked_for(&story);
        story.restart().await;
        assert!(story.run().await.is_over());
        assert_eq!(tokens_asked_for(&story), asked + 1, "{how:?}");
        story.restart().await;
        assert_eq!(tokens_asked_for(&story), asked + 1, "{how:?}");
        assert_eq!(story.comments(), said);
        story.finish().await;
    }
}

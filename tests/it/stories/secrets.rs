//! Secrets never leave their place: no test, model, comment or log sees one. [`Story::finish`] searches everywhere.

use serde_json::json;

use crate::harness::model::calls;
use crate::harness::story::{SECRET, Scene};

#[tokio::test]
async fn the_sandbox_has_no_environment_but_its_own() {
    let test = "import os\nimport unittest\n\n\nclass Environment(unittest.TestCase):\n    def test_environment(self):\n        self.fail(' '.join(sorted(os.environ)))\n";
    let story = Scene::default().adds("test_environment.py", test).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let (before, _) = story.run().await.reproduced.unwrap();
    let failure = before
        .failures
        .iter()
        .find(|failure| failure.name.contains("test_environment"))
        .unwrap();
    // Cargo passes the location of the sources to every test process, and the shell passes on the user's name.
    for name in [
        "CARGO_MANIFEST_DIR",
        "CARGO_PKG_NAME",
        "GREENLIGHT",
        "GITHUB",
        "OPENAI",
        "SSH",
        "TOKEN",
        "SECRET",
        "OLDPWD",
    ] {
        assert!(!failure.message.contains(name), "{name} in {}", failure.message);
    }
    assert!(failure.message.contains("PATH"), "{}", failure.message);
    story.finish().await;
}

#[tokio::test]
async fn the_sandbox_does_not_see_the_data_folder() {
    let story = Scene::default().begin().await;
    let folder = story.folder().display().to_string();
    let test = format!(
        "import glob\nimport unittest\n\n\nclass Folder(unittest.TestCase):\n    def test_folder(self):\n        self.assertEqual(glob.glob('{folder}/*') + glob.glob('/tmp/*'), [])\n        self.fail('nothing there')\n"
    );
    story
        .double
        .push(story.number, "ada", &[("test_folder.py", Some(test.as_bytes()))])
        .await
        .unwrap();
    story.maintainer_says("/greenlight fix").await;
    let (before, _) = story.run().await.reproduced.unwrap();
    let failure = before
        .failures
        .iter()
        .find(|failure| failure.name.contains("test_folder"))
        .unwrap();
    assert!(failure.message.contains("nothing there"), "{}", failure.message);
    story.finish().await;
}

#[tokio::test]
async fn secrets_in_the_repository_do_not_reach_the_model_or_a_comment() {
    let leak = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    let settings = format!("TOKEN = \"{leak}\"\n");
    let turns = [
        calls("read_file", json!({ "path": "settings.py" })).and("search", json!({ "pattern": "TOKEN" })),
        calls("run_tests", json!({})),
        calls(
            "edit_file",
            json!({ "path": "fare.py", "old": "paid + fare", "new": "paid - fare" }),
        ),
        calls("submit", json!({ "summary": format!("The token is {leak}.") })),
        calls(
            "explain",
            json!({
                "root_cause": format!("It is {leak}."),
                "because": [{ "path": "settings.py", "from": 1, "to": 1, "says": format!("{leak} is there.") }],
            }),
        ),
    ];
    let test = "import unittest\n\nimport settings\nfrom fare import change\n\n\nclass Fares(unittest.TestCase):\n    def test_change_is_given(self):\n        self.assertEqual(change(500, 2), 200, settings.TOKEN)\n";
    let story = Scene::default()
        .adds("settings.py", &settings)
        .adds("test_fare.py", test)
        .model(turns)
        .begin()
        .await;
    story.model().must_not_see(leak);
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight explain").await;
    assert!(story.told().contains("TOKEN = "), "{}", story.told());
    assert!(!story.told().contains(leak), "{}", story.told());
    story.maintainer_says("/greenlight approve").await;
    assert!(story.sticky().contains("Landed as"), "{}", story.sticky());
    assert!(!story.told().contains(leak), "{}", story.told());
    assert!(!story.log().contains(leak));
    story.finish().await;
}

#[tokio::test]
async fn a_failing_fetch_is_said_without_the_token() {
    let story = Scene::default().begin().await;
    for _ in 0..12 {
        story
            .double
            .plan_fault("*", "/acme/rail.git", github_double::Fault::BadCredentials);
    }
    story.maintainer_says("/greenlight fix").await;
    let sticky = story.sticky();
    assert!(sticky.contains("The code could not be fetched"), "{sticky}");
    assert!(!sticky.contains("ghs_") && !sticky.contains(SECRET), "{sticky}");
    assert!(!story.log().contains("ghs_"));
}

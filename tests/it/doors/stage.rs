//! A pull request with one wrong operator on the double, for doors that talk to GitHub.

use github_double::{AUTHOR, CommentView, Double, JobLog, NewPullRequest, World};

use super::{Door, PATIENCE, few_runs};
use crate::harness::story::{CHANGE, FIXED, LOG, SECRET, TESTS};

pub(crate) struct Stage {
    pub(crate) double: Double,
    pub(crate) number: u64,
}

impl Stage {
    /// A stage with this `greenlight.toml` on the base branch.
    pub(crate) async fn new(config: &str) -> Self {
        Self::opened(config, |new| new).await
    }

    pub(crate) async fn opened(config: &str, change: impl FnOnce(NewPullRequest) -> NewPullRequest) -> Self {
        let config = few_runs(config);
        let files: [(&str, &[u8]); 2] = [("README.md", b"Fares.\n"), ("greenlight.toml", config.as_bytes())];
        let double = Double::start(World::with_repository("acme/rail", &files))
            .await
            .unwrap();
        let new = NewPullRequest::new(AUTHOR, "change", "Give change")
            .body("CANARY-OF-A-DESCRIPTION")
            .write("fare.py", CHANGE)
            .write("test_fare.py", TESTS);
        let number = double.open_pull_request(change(new)).await.unwrap();
        Self { double, number }
    }

    /// A door with the App's credentials.
    pub(crate) fn app(&self) -> Door {
        let app = self.double.app_credentials();
        let door = Door::new();
        let key = door.data().join("app.pem");
        std::fs::write(&key, app.private_key).unwrap();
        door.with("GREENLIGHT_GITHUB_API_URL", self.double.url())
            .with("GREENLIGHT_APP_ID", app.app_id.to_string())
            .with("GREENLIGHT_PRIVATE_KEY_FILE", key.to_str().unwrap())
            .with("GREENLIGHT_WEBHOOK_SECRET", SECRET)
    }

    pub(crate) async fn ci_fails(&self) {
        let log = JobLog {
            workflow: "CI",
            job: "test",
            step: "python -m unittest",
            log: LOG,
        };
        self.double.fail_ci(self.number, log).await.unwrap();
    }

    /// Waits until the double shows something.
    pub(crate) async fn until(&self, what: &str, seen: impl Fn(&Double) -> bool) {
        let mut changes = self.double.changes();
        let waiting = async {
            while !seen(&self.double) {
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "not seen: {what}\n{}", self.told());
    }

    /// Waits until greenlight's check run on the head has this conclusion.
    pub(crate) async fn until_check(&self, conclusion: &str) {
        let number = self.number;
        self.until(conclusion, |double| {
            let head = double.head(number).unwrap();
            let runs = double.check_runs(&head);
            runs.iter()
                .any(|run| run.name == "greenlight" && run.conclusion.as_deref() == Some(conclusion))
        })
        .await;
    }

    /// Comments that no person wrote.
    pub(crate) fn answers(&self) -> Vec<CommentView> {
        let mut comments = self.double.comments(self.number);
        comments.retain(|comment| comment.author.ends_with("[bot]"));
        comments
    }

    /// The fix landed as a single commit on top, announced once, by the account with this login.
    #[track_caller]
    pub(crate) fn has_landed_once(&self, login: &str) {
        assert_eq!(self.double.commits(self.number).unwrap().len(), 2, "{}", self.told());
        assert_eq!(self.double.file(self.number, "fare.py").unwrap(), FIXED.as_bytes());
        assert_eq!(self.double.reviews(self.number).len(), 1, "{}", self.told());
        let answers = self.answers();
        let [sticky] = answers.as_slice() else {
            panic!("{}", self.told())
        };
        assert!(sticky.body.contains("Landed as"), "{}", sticky.body);
        assert_eq!(sticky.author, login);
    }

    /// The conversation, for the messages of failing tests.
    pub(crate) fn told(&self) -> String {
        format!("{:#?}", self.double.conversation(self.number).unwrap())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.double.violations(), Vec::<String>::new());
        }
    }
}

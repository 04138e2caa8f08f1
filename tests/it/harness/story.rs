//! A story: one pull request on the double, the real greenlight serving it, and final checks that nothing is left
//! over.
//!
//! Everything except GitHub and the model is real: router, queue, journal, git, sandbox. A story waits only until
//! greenlight is idle, never for a time. It also fails if [`Story::finish`] finds that a rule of all stories was
//! broken.

mod database;
mod ending;
mod gateway;
mod process;
mod scene;
mod whole;

use std::time::Duration;

pub(crate) use gateway::Gateway;
use github_double::{CheckRunView, CommentView, Double, JobLog, LineComment, MAINTAINER, ReviewView, What};
use greenlight::domain::id::{PullRequestId, Repository, RepositoryId};
use greenlight::domain::run::Run;
use greenlight::domain::worker_labels::WorkerLabels;
use process::{Log, Settings};
pub(crate) use process::{METRICS_TOKEN, Process, SECRET};
pub(crate) use scene::{CHANGE, FEW_RUNS, FIXED, LOG, Scene, TESTS};
use secrecy::SecretString;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use super::model::ScriptedModel;
use super::postgres;

/// greenlight is idle long before; a story that waits longer hangs.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) struct Story {
    pub(crate) double: Double,
    /// The number of the pull request.
    pub(crate) number: u64,
    /// The account that greenlight writes as.
    bot: String,
    model: Option<ScriptedModel>,
    folder: TempDir,
    settings: Settings,
    process: Option<Process>,
    log: Log,
}

/// Whether greenlight's check run on the head of a pull request says that it is working.
pub(crate) fn is_at_work(double: &Double, number: u64) -> bool {
    let ours = |run: &CheckRunView| run.name == "greenlight" && run.status == "in_progress";
    double.check_runs(&double.head(number).unwrap()).iter().any(ours)
}

impl Story {
    /// The default scene, unchanged.
    pub(crate) async fn new() -> Self {
        Scene::default().begin().await
    }

    // Actions of people and machines.

    /// Somebody comments. Returns when greenlight is idle.
    pub(crate) async fn says(&self, login: &str, body: &str) -> u64 {
        let id = self.double.comment(self.number, login, body).await.unwrap();
        self.settle().await;
        id
    }

    pub(crate) async fn maintainer_says(&self, body: &str) -> u64 {
        self.says(MAINTAINER, body).await
    }

    /// CI fails, with the log of the default scene.
    pub(crate) async fn ci_fails(&self) {
        self.ci_fails_with(LOG).await;
    }

    pub(crate) async fn ci_fails_with(&self, log: &str) {
        let log = JobLog {
            workflow: "CI",
            job: "test",
            step: "python -m unittest",
            log,
        };
        self.double.fail_ci(self.number, log).await.unwrap();
        self.settle().await;
    }

    /// CI fails. Returns as soon as that was delivered.
    pub(crate) async fn fail_ci_unseen(&self) {
        let log = JobLog {
            workflow: "CI",
            job: "test",
            step: "python -m unittest",
            log: LOG,
        };
        self.double.fail_ci(self.number, log).await.unwrap();
    }

    /// Somebody presses a button of greenlight's check run on the head.
    pub(crate) async fn presses(&self, login: &str, label: &str) {
        let check = self.check();
        let button = check.actions.iter().find(|button| button["label"] == label);
        let identifier = button.unwrap()["identifier"].as_str().unwrap().to_string();
        self.double.press_button(check.id, &identifier, login).await.unwrap();
        self.settle().await;
    }

    // Control of greenlight itself.

    /// Waits until greenlight is idle. Its own posts come back to it as events, which may be work again.
    pub(crate) async fn settle(&self) {
        let rest = async {
            loop {
                let before = *self.double.changes().borrow();
                self.double.delivered().await;
                self.process().queue.idle().await;
                if *self.double.changes().borrow() == before {
                    return;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, rest).await.is_err() {
            panic!("greenlight does not come to rest");
        }
    }

    /// Waits until the double shows something.
    pub(crate) async fn until(&self, what: &str, seen: impl Fn(&Double) -> bool) {
        let mut changes = self.double.changes();
        let waiting = async {
            while !seen(&self.double) {
                changes.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("not seen: {what}");
        }
    }

    /// Waits until greenlight's check run on the head says that it is working.
    pub(crate) async fn until_it_works(&self) {
        self.until("greenlight at work", |double| is_at_work(double, self.number))
            .await;
    }

    /// Waits until the log contains one of these texts.
    pub(crate) async fn until_logged(&self, texts: &[&str]) {
        let is_logged = async || texts.iter().any(|text| self.log().contains(text));
        super::eventually(&format!("a log with {texts:?}"), is_logged).await;
    }

    /// Kills greenlight.
    pub(crate) async fn kill(&mut self) {
        self.process.take().unwrap().kill().await;
    }

    /// Starts greenlight with its previous data folder.
    pub(crate) async fn start(&mut self) {
        if let Some(url) = &self.settings.postgres {
            postgres::let_leases_end(url).await;
        }
        let process = Process::start(&self.settings, self.folder.path(), &self.log).await;
        self.double.set_webhook(&format!("{}/webhook", process.url), SECRET);
        self.process = Some(process);
    }

    /// While greenlight is stopped, removes all ids from its journal, as in versions that knew only names.
    pub(crate) async fn knows_only_names(&self) {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("greenlight.db"));
        let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
        for statement in [
            "UPDATE run SET repository_id = NULL",
            "DELETE FROM repository",
            "UPDATE step SET step = json_remove(step, '$.started.pull_request.repository_id')",
            "UPDATE delivery SET id = replace(id, 'comment @1#', 'comment acme/rail#')",
        ] {
            sqlx::query(statement).execute(&mut journal).await.unwrap();
        }
        journal.close().await.unwrap();
    }

    /// While greenlight is stopped, lets the open gates expire.
    pub(crate) async fn days_pass(&self) {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("greenlight.db"));
        let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
        let gates = "UPDATE step SET step = json_set(step, '$.gate_opened.expires', '2026-01-01T00:00:00Z') \
                     WHERE json_extract(step, '$.gate_opened') IS NOT NULL";
        let written = sqlx::query(gates).execute(&mut journal).await.unwrap();
        assert_ne!(written.rows_affected(), 0, "no gate is open");
        // Last: a clock that ticks meanwhile would note when the gates expire.
        sqlx::query("UPDATE run SET due = 0")
            .execute(&mut journal)
            .await
            .unwrap();
        journal.close().await.unwrap();
    }

    /// While greenlight is stopped, resets its runs to the state right after their start, with this value in it.
    pub(crate) async fn rewrites_the_start(&self, path: &str, json: &str) {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("greenlight.db"));
        let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
        let later = "DELETE FROM step WHERE json_extract(step, '$.started') IS NULL";
        sqlx::query(later).execute(&mut journal).await.unwrap();
        let start = "UPDATE step SET step = json_set(step, '$.started.' || ?, json(?))";
        let written = sqlx::query(start).bind(path).bind(json).execute(&mut journal).await;
        assert_ne!(written.unwrap().rows_affected(), 0, "no run began");
        journal.close().await.unwrap();
    }

    /// greenlight looks for missed events, as it does when it starts and every few minutes.
    pub(crate) async fn sweep(&self) {
        self.process().sweep().await;
        self.settle().await;
    }

    pub(crate) async fn restart(&mut self) {
        self.kill().await;
        self.start().await;
        self.settle().await;
    }

    /// Starts another process of the same service, which shares the PostgreSQL database and has its own folder.
    pub(crate) async fn join(&self, workers: usize) -> (Process, TempDir) {
        self.join_labelled(workers, &[]).await
    }

    /// The same, on a machine with these labels.
    pub(crate) async fn join_labelled(&self, workers: usize, labels: &[&str]) -> (Process, TempDir) {
        let (folder, mut settings) = (tempfile::tempdir().unwrap(), self.settings.clone());
        settings.workers = workers;
        settings.labels = Some(WorkerLabels::new(labels.iter().copied()).unwrap());
        let process = Process::start(&settings, folder.path(), &self.log).await;
        (process, folder)
    }

    /// The URL of the database that processes share.
    pub(crate) fn postgres(&self) -> &SecretString {
        self.settings.postgres.as_ref().unwrap()
    }

    /// Sends the last spans of this process.
    pub(crate) async fn traces_are_sent(&self) {
        let traces = self.process().queue.app().traces.clone().unwrap();
        traces.end().await;
    }

    /// Puts a gateway between greenlight and GitHub.
    pub(crate) async fn gateway(&mut self) -> Gateway {
        let gateway = Gateway::before(self.double.url()).await;
        self.settings.api.clone_from(&gateway.url);
        self.restart().await;
        gateway
    }

    /// Waits until greenlight is idle, killing and restarting it whenever the gateway says so.
    pub(crate) async fn settle_through(&mut self, gateway: &Gateway) {
        loop {
            let is_at_rest = tokio::select! {
                () = gateway.deadly() => false,
                () = self.settle() => true,
            };
            if is_at_rest {
                return;
            }
            self.kill().await;
            self.start().await;
        }
    }

    /// Whether other processes could share its journal.
    pub(crate) fn is_shared(&self) -> bool {
        self.settings.postgres.is_some()
    }

    pub(crate) fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    /// The data folder.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn model(&self) -> &ScriptedModel {
        self.model.as_ref().unwrap()
    }

    // Observations.

    /// greenlight's comments, oldest first.
    pub(crate) fn comments(&self) -> Vec<CommentView> {
        let all = self.double.comments(self.number);
        all.into_iter().filter(|comment| comment.author == self.bot).collect()
    }

    /// The one sticky comment.
    #[track_caller]
    pub(crate) fn sticky(&self) -> String {
        let mut found: Vec<_> = self.comments().into_iter().filter(is_sticky).collect();
        assert_eq!(found.len(), 1, "sticky comments");
        found.remove(0).body
    }

    /// greenlight's answers to comments, oldest first.
    pub(crate) fn answers(&self) -> Vec<String> {
        let answers = self.comments().into_iter().filter(|comment| !is_sticky(comment));
        answers.map(|comment| comment.body).collect()
    }

    /// The last answer to a comment.
    #[track_caller]
    pub(crate) fn answer(&self) -> String {
        self.answers().pop().expect("no answer")
    }

    /// The one review.
    #[track_caller]
    pub(crate) fn review(&self) -> ReviewView {
        let mut reviews = self.double.reviews(self.number);
        assert_eq!(reviews.len(), 1, "reviews");
        reviews.remove(0)
    }

    /// Every suggestion, including those in separate threads.
    #[track_caller]
    pub(crate) fn suggestions(&self) -> Vec<LineComment> {
        let mut all = self.review().comments;
        for entry in self.double.conversation(self.number).unwrap() {
            match entry.what {
                What::Replied(comment) if entry.who == self.bot => all.push(comment),
                _ => {}
            }
        }
        for comment in &mut all {
            let end = comment.body.rfind("\n<!-- greenlight:suggestion id=").unwrap();
            comment.body.truncate(end);
        }
        all
    }

    #[track_caller]
    pub(crate) fn has_no_review(&self) {
        assert_eq!(self.double.reviews(self.number), []);
    }

    pub(crate) fn head(&self) -> String {
        self.double.head(self.number).unwrap()
    }

    /// greenlight's only check run on the head.
    #[track_caller]
    pub(crate) fn check(&self) -> CheckRunView {
        self.check_on(&self.head())
    }

    #[track_caller]
    pub(crate) fn check_on(&self, head: &str) -> CheckRunView {
        let mut runs = self.double.check_runs(head);
        runs.retain(|run| run.name == "greenlight" && format!("{}[bot]", run.app) == self.bot);
        assert_eq!(runs.len(), 1, "check runs of greenlight on {head}");
        runs.remove(0)
    }

    #[track_caller]
    pub(crate) fn has_commits(&self, count: usize) {
        assert_eq!(self.double.commits(self.number).unwrap().len(), count, "commits");
    }

    #[track_caller]
    pub(crate) fn file(&self, path: &str) -> String {
        String::from_utf8(self.double.file(self.number, path).unwrap()).unwrap()
    }

    /// The fix landed as one commit on the first head, and every report says so.
    #[track_caller]
    pub(crate) fn has_landed(&self) {
        self.has_commits(2);
        assert_eq!(self.file("fare.py"), FIXED);
        assert!(self.sticky().contains("Landed as"), "{}", self.sticky());
        assert_eq!(self.check().conclusion.as_deref(), Some("success"));
    }

    /// The branch contains only the author's commits.
    #[track_caller]
    pub(crate) fn has_not_landed(&self) {
        self.has_commits(1);
    }

    pub(crate) fn id(&self) -> PullRequestId {
        PullRequestId {
            repository: Repository {
                id: Some(RepositoryId(self.double.repository_id())),
                name: self.double.repository().parse().unwrap(),
            },
            number: self.number,
        }
    }

    /// The runs in the journal, oldest first.
    pub(crate) async fn runs(&self) -> Vec<Run> {
        self.process().runs(&self.id()).await
    }

    /// The newest run in the journal.
    pub(crate) async fn run(&self) -> Run {
        self.runs().await.pop().expect("no run")
    }

    /// Fails if code of the pull request has been executed.
    pub(crate) async fn has_executed_nothing(&self) {
        for run in self.runs().await {
            assert!(run.reproduced.is_none() && run.evidence.is_none(), "{run:#?}");
        }
        // The first workspace creates the folder.
        assert!(!self.folder.path().join("copies").exists(), "something was executed");
    }
}

fn is_sticky(comment: &CommentView) -> bool {
    comment.body.starts_with("<!-- greenlight:sticky -->")
}

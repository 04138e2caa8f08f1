//! Assigns recorded answers to greenlight's readers, and calls each reader.

use greenlight::domain::event::CommentPlace;
use greenlight::domain::id::{Account, CommitSha, PullRequestId, Repository, RunId};
use greenlight::domain::landing::Landing;
use greenlight::domain::mode::Mode;
use greenlight::domain::patch::{Blob, FileChange, Patch};
use greenlight::domain::permission::{Permission, Undo, authorize};
use greenlight::domain::proposal::{Author, Proposal};
use greenlight::domain::reply::Source;
use greenlight::domain::run::{Consent, Origin, Run, Started, Step, Subject};
use greenlight::github::state::StateRef;
use greenlight::github::{Branch, CheckOnHead, CheckRun, Client, Error, LandError, NewReview};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::loopback::Loopback;

/// A recorded answer.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    pub(super) source: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) body: String,
}

/// Every answer of GitHub that is parsed from JSON into a type of greenlight or octocrab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Endpoint {
    App,
    Installation,
    Token,
    User,
    Viewer,
    PullRequest,
    PullRequests,
    Files,
    Permission,
    Compare,
    Commit,
    NewCommit,
    Reference,
    NewReference,
    MovedReference,
    Tree,
    NewTree,
    NewBlob,
    Runs,
    WorkflowRuns,
    Run,
    Jobs,
    Rerun,
    CheckRuns,
    NewCheckRun,
    CheckRun,
    Comments,
    NewComment,
    Comment,
    Reaction,
    Reviews,
    NewReview,
    LineComments,
    BranchRules,
    Ruleset,
}

use Endpoint as E;

/// The method, the path with `*` for variable parts, and the path that the readers here request.
const TABLE: [(Endpoint, &str, &str, &str); 35] = [
    (E::App, "GET", "/app", "/app"),
    (E::Installation, "GET", "/repos/*/*/installation", "/installation"),
    (E::Token, "POST", "/app/installations/*/access_tokens", "/access_tokens"),
    (E::User, "GET", "/user", "/user"),
    (E::Viewer, "POST", "/graphql", "/graphql"),
    (E::PullRequest, "GET", "/repos/*/*/pulls/#", "/pulls/1"),
    (E::PullRequests, "GET", "/repos/*/*/pulls", "/pulls"),
    (E::Files, "GET", "/repos/*/*/pulls/#/files", "/pulls/1/files"),
    (
        E::Permission,
        "GET",
        "/repos/*/*/collaborators/*/permission",
        "/permission",
    ),
    (E::Compare, "GET", "/repos/*/*/compare/*", ""),
    (E::Commit, "GET", "/repos/*/*/git/commits/*", ""),
    (E::NewCommit, "POST", "/repos/*/*/git/commits", "/git/commits"),
    (E::Reference, "GET", "/repos/*/*/git/ref/*/*", "/git/ref/greenlight/x"),
    (E::NewReference, "POST", "/repos/*/*/git/refs", "/git/refs"),
    (
        E::MovedReference,
        "PATCH",
        "/repos/*/*/git/refs/*/*",
        "/git/refs/greenlight/x",
    ),
    (E::Tree, "GET", "/repos/*/*/git/trees/*", ""),
    (E::NewTree, "POST", "/repos/*/*/git/trees", "/git/trees"),
    (E::NewBlob, "POST", "/repos/*/*/git/blobs", "/git/blobs"),
    (E::Runs, "GET", "/repos/*/*/actions/runs", "/actions/runs"),
    (
        E::WorkflowRuns,
        "GET",
        "/repos/*/*/actions/workflows/*/runs",
        "/actions/workflows/1/runs",
    ),
    (E::Run, "GET", "/repos/*/*/actions/runs/#", "/actions/runs/1"),
    (E::Jobs, "GET", "/repos/*/*/actions/runs/#/jobs", "/actions/runs/1/jobs"),
    (
        E::Rerun,
        "POST",
        "/repos/*/*/actions/runs/#/rerun-failed-jobs",
        "/rerun-failed-jobs",
    ),
    (E::CheckRuns, "GET", "/repos/*/*/commits/*/check-runs", "/check-runs"),
    (E::NewCheckRun, "POST", "/repos/*/*/check-runs", "/check-runs"),
    (E::CheckRun, "PATCH", "/repos/*/*/check-runs/#", "/check-runs/7"),
    (E::Comments, "GET", "/repos/*/*/issues/#/comments", "/issues/1/comments"),
    (
        E::NewComment,
        "POST",
        "/repos/*/*/issues/#/comments",
        "/issues/1/comments",
    ),
    (
        E::Comment,
        "PATCH",
        "/repos/*/*/issues/comments/#",
        "/issues/comments/7",
    ),
    (
        E::Reaction,
        "POST",
        "/repos/*/*/issues/comments/#/reactions",
        "/reactions",
    ),
    (E::Reviews, "GET", "/repos/*/*/pulls/#/reviews", "/pulls/1/reviews"),
    (E::NewReview, "POST", "/repos/*/*/pulls/#/reviews", "/pulls/1/reviews"),
    (
        E::LineComments,
        "GET",
        "/repos/*/*/pulls/#/comments",
        "/pulls/1/comments",
    ),
    (
        E::BranchRules,
        "GET",
        "/repos/*/*/rules/branches/*",
        "/rules/branches/b",
    ),
    (E::Ruleset, "GET", "/repos/*/*/rulesets/#", "/rulesets/42"),
];

impl Endpoint {
    pub(super) const ALL: [Self; TABLE.len()] = {
        let mut all = [E::App; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].0;
            at += 1;
        }
        all
    };
}

impl Recorded {
    /// The reader of this answer. `None` for other endpoints and for errors.
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        let path = self.path.split('?').next().unwrap_or_default();
        let path = path.strip_prefix("/api/v3").unwrap_or(path);
        let is_viewer = self.method == "POST" && path.ends_with("/graphql");
        if !(200..300).contains(&self.status) || is_viewer && !self.body.contains("\"viewer\"") {
            return None;
        }
        let fits = |pattern: &str| {
            let (pattern, path) = (pattern.split('/'), path.split('/'));
            let number = |part: &str| part.parse::<u64>().is_ok();
            let pairs: Vec<_> = pattern.clone().zip(path.clone()).collect();
            let is_alike = |(a, b): &(&str, &str)| *a == "*" || (*a == "#" && number(b)) || a == b;
            pattern.count() == path.count() && pairs.iter().all(is_alike)
        };
        let found = TABLE
            .iter()
            .find(|(_, method, pattern, _)| *method == self.method && fits(pattern));
        found.map(|(endpoint, ..)| *endpoint)
    }

    /// Whether it has everything that GitHub documents as required. Older answers do not, and some were shortened by
    /// the person who recorded them.
    pub(super) fn is_of_today(&self) -> bool {
        let Ok(body) = serde_json::from_str::<Value>(&self.body) else {
            return false;
        };
        let each = |names: &[&str]| {
            let items = body.as_array().map_or(std::slice::from_ref(&body), Vec::as_slice);
            items
                .iter()
                .all(|item| names.iter().all(|name| item.get(name).is_some()))
        };
        match self.endpoint() {
            Some(E::App) => each(&["slug"]),
            Some(E::Token) => each(&["permissions"]),
            Some(E::LineComments) => each(&["node_id"]),
            Some(E::Runs) => body["workflow_runs"]
                .as_array()
                .is_some_and(|runs| runs.iter().all(|run| run.get("head_sha").is_some())),
            Some(E::Compare) => each(&["merge_base_commit"]),
            _ => true,
        }
    }
}

fn repository() -> Repository {
    "o/r".parse().unwrap()
}

fn id() -> PullRequestId {
    PullRequestId {
        repository: repository(),
        number: 1,
    }
}

fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

/// Serves the answer at the path of its endpoint, and calls the reader.
pub(super) async fn read(loopback: &Loopback, endpoint: Endpoint, body: &str) -> Result<(), Error> {
    loopback.clear();
    surroundings(loopback);
    let (_, method, _, path) = TABLE.iter().find(|(one, ..)| *one == endpoint).unwrap();
    let path = match endpoint {
        E::Compare => format!("/compare/{}...{}", sha('a'), sha('b')),
        E::Commit => format!("/git/commits/{}", sha('c')),
        E::Tree => format!("/git/trees/{}", sha('d')),
        _ => (*path).to_string(),
    };
    loopback.answers_text(method, &path, 200, body);
    match ask(loopback, endpoint).await {
        // Errors caused by other answers do not matter here.
        Err(error @ (Error::Unreadable { .. } | Error::TooLong(_) | Error::Unclear(_))) => Err(error),
        _ => Ok(()),
    }
}

/// The answers that a reader needs before it makes its last request.
fn surroundings(loopback: &Loopback) {
    let all = [
        // Any other path is one of a commit; later answers take precedence.
        (
            "GET",
            "",
            json!({ "sha": sha('c'), "message": "", "tree": { "sha": sha('d') }, "parents": [] }),
        ),
        (
            "POST",
            "/access_tokens",
            json!({ "token": "ghs_x", "expires_at": "2099-01-01T00:00:00Z", "permissions": {} }),
        ),
        ("GET", "/git/ref/greenlight/x", json!({ "object": { "sha": sha('c') } })),
        ("GET", "/git/ref/heads/b", json!({ "object": { "sha": sha('b') } })),
        ("GET", "/git/trees/", json!({ "sha": sha('d'), "tree": [] })),
        ("POST", "/git/trees", json!({ "sha": sha('d'), "tree": [] })),
        (
            "POST",
            "/git/commits",
            json!({ "sha": sha('e'), "message": "", "tree": { "sha": sha('d') }, "parents": [] }),
        ),
        ("GET", "/check-runs", json!({ "check_runs": [] })),
        (
            "GET",
            "/issues/1/comments",
            json!([{ "id": 7, "body": "<m> old", "user": { "login": "me" } }]),
        ),
        ("GET", "/pulls/1/reviews", json!([])),
        (
            "GET",
            "/actions/runs/1",
            json!({ "id": 1, "head_sha": sha('b'), "status": "completed" }),
        ),
    ];
    for (method, path, body) in all {
        loopback.answers(method, path, 200, body);
    }
    for path in ["/git/ref/greenlight/y", "/user"] {
        loopback.answers("GET", path, 404, json!({ "message": "Not Found" }));
    }
}

async fn ask(loopback: &Loopback, endpoint: Endpoint) -> Result<(), Error> {
    let client = loopback.client().await;
    let (repository, id, me) = (repository(), id(), Account::new("me"));
    match endpoint {
        E::App => loopback.as_app().me().await.map(drop),
        E::Installation => loopback.as_app().client(None, &repository).await.map(drop),
        E::Token => {
            let installed = loopback
                .as_app()
                .client(Some(serde_json::from_str("1").unwrap()), &repository)
                .await?;
            installed.file(&repository, "x", "main").await.map(drop)
        }
        E::User => loopback.with_token().me().await.map(drop),
        E::Viewer => {
            loopback.answers(
                "GET",
                "/user",
                403,
                json!({ "message": "Resource not accessible by integration" }),
            );
            loopback.with_token().me().await.map(drop)
        }
        E::PullRequest => client.pull_request(&id).await.map(drop),
        E::PullRequests => client.pull_requests_of(&repository, "o", "b").await.map(drop),
        E::Files => client.changed_files(&id).await.map(drop),
        E::Permission => client.permission(&repository, &Account::new("me")).await.map(drop),
        E::Compare => client.merge_base(&repository, &sha('a'), &sha('b')).await.map(drop),
        E::Commit | E::Tree | E::Reference => client.load_state(&place("x")).await.map(drop),
        E::NewCommit | E::NewTree | E::MovedReference => save(&client, "x").await,
        E::NewReference => save(&client, "y").await,
        E::NewBlob => land(&client).await,
        E::Runs => client.failed_runs(&repository, &sha('b')).await.map(drop),
        E::WorkflowRuns => client.green_run(&repository, 1, "main").await.map(drop),
        E::Run => client.workflow_run(&repository, 1).await.map(drop),
        E::Jobs => client.jobs(&repository, 1).await.map(drop),
        E::Rerun => client.rerun_failed_jobs(&repository, 1).await,
        E::CheckRuns | E::NewCheckRun | E::CheckRun => check(loopback, &client, endpoint).await,
        E::Comments => client.marked_comment(&id, &me, "<none>").await.map(drop),
        E::NewComment => client.comment_once(&id, &me, "<none>", "x").await.map(drop),
        E::Comment => client
            .stick(&id, (&me, &[]), ("<m>", "<m> new"), &mut None)
            .await
            .map(drop),
        E::Reaction => client.react(&repository, CommentPlace::Conversation, 7, "eyes").await,
        E::Reviews | E::NewReview => review(&client).await,
        E::LineComments => client.suggestions(&id, &me).await.map(drop),
        E::BranchRules => client.branch_rules(&repository, "b").await.map(drop),
        E::Ruleset => {
            let rule = json!([{ "type": "pull_request", "ruleset_source": "o/r", "ruleset_id": 42 }]);
            loopback.answers("GET", "/rules/branches/b", 200, rule);
            client.branch_rules(&repository, "b").await.map(drop)
        }
    }
}

fn place(name: &str) -> StateRef {
    StateRef {
        repository: repository().name,
        name: name.into(),
    }
}

async fn save(client: &Client, name: &str) -> Result<(), Error> {
    let mut saved = client.load_state(&place(name)).await?;
    saved.put("a", "1\n".into());
    match client.save_state(&place(name), saved).await {
        Err(greenlight::github::state::SaveError::GitHub(error)) => Err(error),
        _ => Ok(()),
    }
}

fn started() -> Started {
    Started {
        run: RunId("r1".into()),
        subject: Subject::PullRequest(id()),
        asks_nobody: false,
        installation: None,
        head: sha('a'),
        base: sha('a'),
        base_branch: None,
        origin: Origin::Ci { workflow_run: None },
        consent: Consent::None,
        asks_first: false,
        mode: Mode::Debug,
        asks_about_tests: false,
        approvers: 1,
        gate_seconds: 1,
        writes_as: None,
        at: Timestamp::UNIX_EPOCH,
    }
}

fn proposal(patch: Patch) -> Proposal {
    Proposal {
        head: sha('a'),
        patch,
        summary: "s".into(),
        author: Author::BuiltIn,
        evidence: None,
        weakens: Vec::new(),
        tests_first: None,
        measures: None,
        found_by: None,
    }
}

async fn land(client: &Client) -> Result<(), Error> {
    let change = FileChange {
        before: Some(Blob::regular("1\n")),
        after: None,
    };
    // The added file is removed together with the blob that it replaced.
    let run = Run::fold([
        Step::Started(Box::new(started())),
        Step::Proposed(Box::new(proposal(Patch::new([("a".parse().unwrap(), change)])))),
    ]);
    let request = authorize(Undo, &Account::new("ada"), false, Permission::Write).unwrap();
    let (commit, run) = (sha('b'), run.unwrap());
    let landing = Landing::undo(&request, &run, (&commit, "none".into())).unwrap();
    let repository = repository().name;
    let branch = Branch {
        repository: &repository,
        name: "b",
    };
    match client.land(branch, &landing).await {
        Err(LandError::GitHub(error)) => Err(error),
        _ => Ok(()),
    }
}

async fn check(loopback: &Loopback, client: &Client, endpoint: Endpoint) -> Result<(), Error> {
    let head = sha('b');
    if endpoint == E::CheckRun {
        let ours =
            json!({ "id": 7, "external_id": format!("greenlight:{head}"), "output": { "annotations_count": 0 } });
        loopback.answers("GET", "/check-runs", 200, json!({ "check_runs": [ours] }));
    }
    let made = json!({ "id": 7, "external_id": "", "output": { "annotations_count": 0 } });
    if endpoint == E::CheckRuns {
        loopback.answers("POST", "/check-runs", 200, made);
    }
    let check = CheckRun {
        head,
        conclusion: None,
        title: "t".into(),
        summary: "s".into(),
        annotations: Vec::new(),
        buttons: Vec::new(),
    };
    client
        .check(&repository(), &check, &mut CheckOnHead::default())
        .await
        .map(drop)
}

async fn review(client: &Client) -> Result<(), Error> {
    let review = NewReview {
        head: sha('b'),
        source: Source::Run,
        body: "x".into(),
        comments: Vec::new(),
    };
    let me = Account::new("me");
    let posted = client.posted(&id(), &me).await?;
    client.review_once(&id(), &me, &review, &posted).await.map(drop)
}

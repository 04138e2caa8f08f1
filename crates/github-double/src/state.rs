//! The double's state: accounts, repositories, pull requests and everything about them.
//!
//! This has the state and the few lookups that every route needs. The rules are in the route files; the JSON for
//! these records is in [`super::objects`] and the route files.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use tempfile::TempDir;

pub(super) use super::accounts::{Account, App, Holder, Token};
use super::faults::Faults;
use super::hooks::Hooks;
use super::limits::RateLimits;
use super::protection::Protection;
use super::record::Recorder;
pub(super) use super::records::{
    Activity, CheckRun, Comment, CommentPosition, Edit, Happening, Job, PullRequest, Reaction, Repository, Review,
    ReviewComment, Status, WorkflowRun,
};
use super::registering::Manifests;
use super::sign_ins::SignIns;

/// The URLs that the double is served at.
pub(super) struct Addresses {
    pub(super) web: String,
    pub(super) store: String,
    pub(super) prefix: String,
}

/// The whole state, behind one lock.
pub(super) struct State {
    /// `http://127.0.0.1:PORT`, the base URL of web pages and git repositories.
    pub(super) web: String,
    /// `http://127.0.0.1:OTHER`, the base URL of logs.
    pub(super) store: String,
    /// The prefix of all REST routes, such as `/api/v3`; usually empty.
    pub(super) prefix: String,
    pub(super) accounts: Vec<Account>,
    /// greenlight's own App first, then that of GitHub Actions.
    pub(super) apps: [App; 3],
    pub(super) tokens: HashMap<String, Token>,
    pub(super) sign_ins: SignIns,
    pub(super) repositories: Vec<Repository>,
    /// Former names of repositories, in lower case.
    pub(super) moved: HashMap<String, u64>,
    pub(super) comments: BTreeMap<u64, Comment>,
    /// The revisions of edited comments, oldest first.
    pub(super) edits: BTreeMap<u64, Vec<Edit>>,
    pub(super) activities: Vec<Activity>,
    pub(super) statuses: Vec<Status>,
    /// By the comment or review comment that they belong to, and their own id; ids are unique across all kinds here.
    pub(super) reactions: BTreeMap<(u64, u64), Reaction>,
    pub(super) reviews: BTreeMap<u64, Review>,
    pub(super) review_comments: BTreeMap<u64, ReviewComment>,
    pub(super) check_runs: BTreeMap<u64, CheckRun>,
    pub(super) workflow_runs: BTreeMap<u64, WorkflowRun>,
    pub(super) jobs: BTreeMap<u64, Job>,
    pub(super) log_links: HashMap<String, (u64, Timestamp)>,
    /// Commits that GitHub would show as "Verified".
    pub(super) verified: HashSet<git2::Oid>,
    /// The protections of the home repository's branches.
    pub(super) protections: Vec<Protection>,
    /// Whether this is an Enterprise Server without rulesets.
    pub(super) predates_rulesets: bool,
    pub(super) hooks: Hooks,
    pub(super) manifests: Manifests,
    pub(super) faults: Faults,
    pub(super) limits: RateLimits,
    pub(super) recorder: Recorder,
    pub(super) folder: TempDir,
    pub(super) next_id: u64,
    pub(super) seconds: i64,
    pub(super) commit_seconds: i64,
}

/// The start of every world: Monday, 5 January 2026, nine o'clock UTC.
const DAWN: i64 = 1_767_603_600;

impl State {
    /// A world with these Apps and nothing else.
    pub(super) fn empty(addresses: Addresses, apps: [App; 3], folder: TempDir) -> Self {
        let Addresses { web, store, prefix } = addresses;
        Self {
            web,
            store,
            prefix,
            accounts: Vec::new(),
            apps,
            tokens: HashMap::new(),
            sign_ins: SignIns::default(),
            repositories: Vec::new(),
            moved: HashMap::new(),
            comments: BTreeMap::new(),
            edits: BTreeMap::new(),
            activities: Vec::new(),
            statuses: Vec::new(),
            reactions: BTreeMap::new(),
            reviews: BTreeMap::new(),
            review_comments: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            workflow_runs: BTreeMap::new(),
            jobs: BTreeMap::new(),
            log_links: HashMap::new(),
            verified: HashSet::new(),
            protections: Vec::new(),
            predates_rulesets: false,
            hooks: Hooks::default(),
            manifests: Manifests::default(),
            faults: Faults::default(),
            limits: RateLimits::default(),
            recorder: Recorder::default(),
            folder,
            next_id: 1000,
            seconds: 0,
            commit_seconds: 0,
        }
    }

    /// A unique number, regardless of its kind.
    pub(super) fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The world's own time, which advances by one second each time it is read.
    pub(super) fn now(&mut self) -> String {
        self.seconds += 1;
        Timestamp::from_second(DAWN + self.seconds)
            .map(|moment| moment.to_string())
            .unwrap_or_default()
    }

    /// The date of the next commit, in seconds since the epoch: a minute after the previous one, so that SHAs are
    /// stable.
    pub(super) fn commit_time(&mut self) -> i64 {
        self.commit_seconds += 60;
        DAWN + self.commit_seconds
    }

    /// The base URL of the REST API.
    pub(super) fn api(&self) -> String {
        format!("{}{}", self.web, self.prefix)
    }

    pub(super) fn app(&self) -> &App {
        &self.apps[0]
    }

    pub(super) fn app_named(&self, slug: &str) -> &App {
        self.apps.iter().find(|app| app.slug == slug).unwrap_or(&self.apps[0])
    }

    pub(super) fn account(&self, login: &str) -> Option<&Account> {
        self.accounts
            .iter()
            .find(|account| account.login.eq_ignore_ascii_case(login))
    }

    pub(super) fn repository(&self, id: u64) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.id == id)
    }

    pub(super) fn repository_mut(&mut self, id: u64) -> Option<&mut Repository> {
        self.repositories.iter_mut().find(|repository| repository.id == id)
    }

    pub(super) fn pull(&self, repository: u64, number: u64) -> Option<&PullRequest> {
        self.repository(repository)?.pulls.get(&number)
    }

    pub(super) fn pull_mut(&mut self, repository: u64, number: u64) -> Option<&mut PullRequest> {
        self.repository_mut(repository)?.pulls.get_mut(&number)
    }

    /// Adds an entry to the conversation of a pull request.
    pub(super) fn happened(&mut self, repository: u64, number: u64, what: Happening) {
        if let Some(pull) = self.pull_mut(repository, number) {
            pull.timeline.push(what);
        }
    }

    /// The reactions to a comment.
    pub(super) fn reactions_to(&self, subject: u64) -> impl Iterator<Item = &Reaction> {
        let ours = self.reactions.range((subject, 0)..=(subject, u64::MAX));
        ours.map(|(_, reaction)| reaction)
    }

    /// The check suite of one App on one commit; GitHub creates it with the first check run.
    pub(super) fn suite(&mut self, app: &str, head: git2::Oid) -> u64 {
        let known = self
            .check_runs
            .values()
            .find(|run| run.app == app && run.head == head)
            .map(|run| run.suite);
        known.unwrap_or_else(|| self.fresh_id())
    }
}

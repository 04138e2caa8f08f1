//! The parts of a run: its start, its steps, its end. The journal stores them as JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::anchor::SuggestionState;
use super::super::ci_step::CiStep;
use super::super::execution::Deferred;
use super::super::explanation::Explanation;
use super::super::finding::Finding;
use super::super::gate::{Answer, Gate, GateId};
use super::super::id::{Account, CommitSha, InstallationId, Login, PullRequestId, RepoPath, RunId, authored};
use super::super::mode::Mode;
use super::super::proposal::{Evidence, Proposal, TestsFirst};
use super::super::search::Search;
use super::super::spend::Spend;
use super::super::test_run::{Failure, TestRun};
use super::super::triage::Triage;

/// What started a run, and on which head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is stored under its name")]
pub struct Started {
    pub run: RunId,
    #[serde(flatten)]
    pub subject: Subject,
    pub installation: Option<InstallationId>,
    pub head: CommitSha,
    pub base: CommitSha,
    /// The branch whose rules applied at the start. Journals of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    pub origin: Origin,
    pub consent: Consent,
    /// Whether a person must approve before a model is asked: people without write access can push to the head, and
    /// nobody with write access asked for the run.
    #[serde(default)]
    pub asks_first: bool,
    #[serde(default, skip_serializing_if = "Mode::is_debug")]
    pub mode: Mode,
    /// Whether the tests of a specification wait for a separate approval.
    #[serde(default)]
    pub asks_about_tests: bool,
    /// Whether there is nobody to approve the model's requests. Only on a checkout, without a terminal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_nobody: bool,
    /// How many people must approve what lands, according to the configuration at the start.
    pub approvers: u32,
    /// How long its gates stay open, in seconds.
    pub gate_seconds: u64,
    /// The account that greenlight writes as in this run. With another token it may be a different one next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_as: Option<Login>,
    pub at: Timestamp,
}

/// What a run works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    PullRequest(PullRequestId),
    /// A directory on this machine. The person who started the run is its only authority.
    Checkout,
}

impl Started {
    /// Whether a person asked for it in a comment.
    pub fn is_asked_for(&self) -> bool {
        matches!(self.origin, Origin::Comment { .. })
    }

    /// The pull request. `None` for a run on a checkout.
    pub fn pull_request(&self) -> Option<&PullRequestId> {
        match &self.subject {
            Subject::PullRequest(id) => Some(id),
            Subject::Checkout => None,
        }
    }

    /// The pull request, to update it after its repository was renamed.
    pub fn pull_request_mut(&mut self) -> Option<&mut PullRequestId> {
        match &mut self.subject {
            Subject::PullRequest(id) => Some(id),
            Subject::Checkout => None,
        }
    }

    /// Whether the run works on this pull request.
    pub fn is_on(&self, id: &PullRequestId) -> bool {
        self.pull_request() == Some(id)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A subcommand on this machine.
    CommandLine,
    /// A command in this comment.
    Comment {
        id: u64,
        #[serde(flatten)]
        by: Account,
    },
    /// Failed CI, with the workflow run whose logs can be read if it is GitHub Actions.
    Ci { workflow_run: Option<u64> },
    /// "Re-run" in the Checks tab, pressed at this time.
    Rerun {
        #[serde(flatten)]
        by: Account,
        pressed: Timestamp,
    },
    /// The label that the base branch's configuration names.
    Label {
        #[serde(flatten)]
        by: Account,
    },
}

/// Why code of the pull request may run in the sandbox before any gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// No consent yet: logs and code may be read, but nothing may run.
    None,
    /// The person who started it on this machine consented.
    CommandLine,
    /// A person with write access consented, for this head.
    Command {
        #[serde(flatten)]
        by: Account,
    },
    /// `execution = "sandbox"` on the base branch, and only people with write access can push to the head.
    Config {
        #[serde(flatten, with = "authored")]
        author: Account,
    },
}

/// What was read about the failed job: its log, and the step that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReading {
    pub failures: Vec<Failure>,
    pub excerpt: String,
    /// `None` if the workflow of the base branch does not show what the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<CiStep>,
    /// Whether the log itself could be read.
    #[serde(default)]
    pub log: Log,
    /// The tree that the failed CI tested. `None` if no failed CI is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<Tested>,
}

/// Whether the log of a failed job could be read. Older journals, which do not record it, count as [`Log::Read`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Log {
    #[default]
    Read,
    /// There is no log: no failure is known, or it is not from GitHub Actions.
    None,
    /// GitHub no longer keeps it.
    Gone,
    /// GitHub refused it, and said why.
    Refused { why: String },
}

/// Which tree CI tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tested {
    /// The head alone, as in workflows that run on `push`.
    Head,
    /// The merge of the head with its base branch, as in workflows that run on `pull_request`.
    /// <https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>
    Merge,
    /// Unknown: systems other than GitHub Actions test either.
    Unknown,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Landed {
        commit: CommitSha,
    },
    /// Written to the working tree of a checkout.
    Written,
    /// Suggested, but greenlight cannot push to this pull request's branch. Its author commits the suggestions.
    Suggested,
    /// Suggested, but the rules of the branch accept no commit from greenlight. Anyone who may push commits the
    /// suggestions. The reason is GitHub's message if it refused the approved commit, or else the rules fetched
    /// beforehand.
    NotTaken {
        reason: String,
    },
    Rejected {
        #[serde(flatten)]
        by: Account,
        reason: Option<String>,
    },
    /// The sandbox cannot confine code on this machine, or something else forbids the work.
    Refused {
        reason: String,
    },
    NothingToFix {
        reason: String,
    },
    /// The tests cannot be judged on this machine, because it lacks something: neither red nor green.
    NotJudged {
        reason: String,
    },
    /// There was nothing to fix, and CI, which somebody re-ran, has passed by now: greenlight says nothing.
    PassedMeanwhile,
    GaveUp {
        reason: String,
    },
    /// Why the tests fail, with the lines that show it.
    Explained(Box<Explanation>),
    /// A search without a model ended, and no result is sure enough to propose.
    NotFound {
        reason: String,
        search: Box<Search>,
    },
    /// A limit ended the work. The findings until then are not proved.
    LimitReached {
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Box<Finding>>,
    },
    Superseded {
        head: CommitSha,
    },
    /// The pull request got a different base branch, whose rules differ.
    Retargeted {
        from: String,
        to: String,
    },
    Cancelled {
        #[serde(flatten)]
        by: Option<Account>,
    },
    Expired,
}

impl End {
    /// In one word, for logs and machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Landed { .. } => "landed",
            Self::Written => "written",
            Self::Suggested | Self::NotTaken { .. } => "suggested",
            Self::Rejected { .. } => "rejected",
            Self::Refused { .. } => "refused",
            Self::NothingToFix { .. } | Self::PassedMeanwhile => "nothing-to-fix",
            Self::NotJudged { .. } => "not-judged",
            Self::GaveUp { .. } | Self::NotFound { .. } | Self::LimitReached { .. } => "gave-up",
            Self::Explained(_) => "explained",
            Self::Superseded { .. } | Self::Retargeted { .. } => "superseded",
            Self::Cancelled { .. } => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// The final state of one suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The comment that carries it.
    pub comment: u64,
    pub fate: SuggestionState,
}

/// The lines of the head that one suggestion replaces, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuggestedLines {
    pub path: RepoPath,
    pub first: u32,
    pub last: u32,
}

/// An approval that does not count, and why, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unvouched {
    #[serde(flatten)]
    pub by: Account,
    pub why: String,
}

/// One journaled unit of a run's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Started(Box<Started>),
    /// The failed job's log was read.
    Read(JobReading),
    /// The suites of a repository that has more than one: those that run one after another until one has a failure to
    /// work on, and those that do not depend on what changed.
    Suites {
        wanted: Vec<String>,
        unaffected: Vec<String>,
    },
    /// One of several suites has no failure to work on; the next one runs.
    SetAside {
        before: TestRun,
        triage: Triage,
    },
    Reproduced {
        before: TestRun,
        triage: Triage,
    },
    /// One item of the agent's transcript, opaque here.
    Said(serde_json::Value),
    /// One part of a search without a model.
    Searched(Box<Search>),
    /// The model turned out to need code execution for everything, so it can start once code may run.
    NeedsExecution,
    /// The model requested something that needs permission.
    Deferred(Box<Deferred>),
    /// The result of that request, as the next item of the transcript.
    Resolved(serde_json::Value),
    /// The tests of a specification are written and were seen to fail.
    TestsWritten(Box<TestsFirst>),
    /// What the work has spent since the last such step, without the model's part, which the transcript records.
    Spent(Spend),
    Proposed(Box<Proposal>),
    ReviewPosted {
        review: u64,
        /// How many parts the proposal was posted in: its suggestions, and one more if there is a remainder.
        #[serde(default)]
        parts: usize,
        /// Comments of earlier reviews that carry suggestions of this proposal, too.
        #[serde(default)]
        carried: Vec<u64>,
        /// The lines that its suggestions replace. Empty in what earlier versions wrote.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suggested: Vec<SuggestedLines>,
    },
    GateOpened(Gate),
    /// A person's answer, and the comment that gave it, so that a redelivered comment is not a second answer.
    Answered {
        gate: GateId,
        answer: Answer,
        comment: Option<u64>,
        /// When greenlight received it; earlier versions did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// These approvals could not be vouched for on GitHub, so they do not count.
    Unvouched {
        gate: GateId,
        approvals: Vec<Unvouched>,
    },
    /// The approved tree was tested and is better.
    Verified(Box<Evidence>),
    Ended(End),
    /// The end was announced on GitHub.
    Announced,
    /// Suggestions of this run reached their final states, after the head moved or the pull request was closed.
    Settled {
        suggestions: Vec<Settled>,
        /// Whether only people with write access can have pushed that, because the branch is in the repository
        /// itself.
        #[serde(default)]
        by_writers: bool,
    },
    /// The base branch moved to this commit after the merge with it was tested; what was approved lands anyway.
    BaseMoved {
        tip: CommitSha,
    },
    /// This commit reverted what landed.
    Undone {
        commit: CommitSha,
    },
}

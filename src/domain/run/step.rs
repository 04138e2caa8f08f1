//! What a run is made of: its start, its steps, its end. These are written to the journal as JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::anchor::SuggestionState;
use super::super::ci_step::CiStep;
use super::super::execution::Deferred;
use super::super::explanation::Explanation;
use super::super::finding::Finding;
use super::super::gate::{Answer, Gate, GateId};
use super::super::id::{Account, CommitSha, InstallationId, Login, PullRequestId, RunId, authored};
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
    /// The branch whose rules it began under. Journals of versions before this was kept do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    pub origin: Origin,
    pub consent: Consent,
    /// Whether a person is asked before a model is: somebody without write access can push to the head, and nobody with
    /// write access asked for the run.
    #[serde(default)]
    pub asks_first: bool,
    #[serde(default, skip_serializing_if = "Mode::is_debug")]
    pub mode: Mode,
    /// Whether the tests of a specification wait for a separate approval.
    #[serde(default)]
    pub asks_about_tests: bool,
    /// Whether nobody can be asked what the model may not do alone. Only on a checkout, where no terminal is attached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_nobody: bool,
    /// How many people must approve what lands; from the configuration at the start.
    pub approvers: u32,
    /// How long its gates stay open, in seconds.
    pub gate_seconds: u64,
    /// The account greenlight writes as in this run: with another token it may be another one the next time.
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
    /// The pull request. `None` for a run on a checkout.
    pub fn pull_request(&self) -> Option<&PullRequestId> {
        match &self.subject {
            Subject::PullRequest(id) => Some(id),
            Subject::Checkout => None,
        }
    }

    /// The pull request, to be changed where its repository got another name.
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
    /// Red CI; with the workflow run whose logs can be read, if GitHub Actions it was.
    Ci { workflow_run: Option<u64> },
    /// "Re-run" in the Checks tab, pressed at this time.
    Rerun {
        #[serde(flatten)]
        by: Account,
        pressed: Timestamp,
    },
    /// The label of the base branch's configuration.
    Label {
        #[serde(flatten)]
        by: Account,
    },
}

/// Why code of the pull request may be executed in the sandbox before any gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Not yet: logs and code may be read, nothing may run.
    None,
    /// The person who started it on this machine asked for it.
    CommandLine,
    /// A person with write access asked for it, for this head.
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

/// What was read of the failed job: its log, and the step that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReading {
    pub failures: Vec<Failure>,
    pub excerpt: String,
    /// None if the workflow of the base branch does not tell what the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<CiStep>,
    /// What became of the log itself.
    #[serde(default)]
    pub log: Log,
    /// What the red CI tested. `None` if no red CI is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<Tested>,
}

/// What became of the log of a failed job. Journals of versions before this was kept have none of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Log {
    #[default]
    Read,
    /// There is none: nothing is known to be red, or it is another system's than GitHub Actions.
    None,
    /// GitHub keeps it no longer.
    Gone,
    /// GitHub did not give it, and said why.
    Refused { why: String },
}

/// Which tree CI tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tested {
    /// The head alone, as workflows do that run on `push`.
    Head,
    /// The merge of the head with its base branch, as workflows do that run on `pull_request`.
    /// <https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>
    Merge,
    /// It is not known: other systems than GitHub Actions test either.
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
    /// Suggested, but this pull request's branch cannot be pushed to: its author commits the suggestions.
    Suggested,
    /// Suggested, but the rules of the branch take no commit from here: anyone who may push commits the suggestions. In
    /// GitHub's words where it refused the approved commit, or else in those of the rules that were asked for before.
    NotTaken {
        reason: String,
    },
    Rejected {
        #[serde(flatten)]
        by: Account,
        reason: Option<String>,
    },
    /// The sandbox cannot confine on this machine, or something else forbids the work.
    Refused {
        reason: String,
    },
    NothingToFix {
        reason: String,
    },
    /// Nothing to fix, and CI, which somebody had run again, is green by now: nothing is said.
    PassedMeanwhile,
    GaveUp {
        reason: String,
    },
    /// Why it fails, with the lines that rests on.
    Explained(Box<Explanation>),
    /// A search without a model came to its end, and nothing of it is sure enough to be proposed.
    NotFound {
        reason: String,
        search: Box<Search>,
    },
    /// A limit ended the work; what was found by then is not proved.
    LimitReached {
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Box<Finding>>,
    },
    Superseded {
        head: CommitSha,
    },
    /// The pull request got another base branch, and with it other rules.
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
    /// In a word, for logs and machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Landed { .. } => "landed",
            Self::Written => "written",
            Self::Suggested | Self::NotTaken { .. } => "suggested",
            Self::Rejected { .. } => "rejected",
            Self::Refused { .. } => "refused",
            Self::NothingToFix { .. } | Self::PassedMeanwhile => "nothing-to-fix",
            Self::GaveUp { .. } | Self::NotFound { .. } | Self::LimitReached { .. } => "gave-up",
            Self::Explained(_) => "explained",
            Self::Superseded { .. } | Self::Retargeted { .. } => "superseded",
            Self::Cancelled { .. } => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// What became of one suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The comment that carries it.
    pub comment: u64,
    pub fate: SuggestionState,
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
    Reproduced {
        before: TestRun,
        triage: Triage,
    },
    /// One item of the agent's transcript, opaque here.
    Said(serde_json::Value),
    /// A part of a search without a model.
    Searched(Box<Search>),
    /// The model turned out to act by code alone: it can begin once code may run.
    NeedsExecution,
    /// The model asked for something that its run may not do without asking.
    Deferred(Box<Deferred>),
    /// What came of that, as the next item of the transcript.
    Resolved(serde_json::Value),
    /// The tests of a specification are written and were seen to fail.
    TestsWritten(Box<TestsFirst>),
    /// What the work since the last of these used up besides the model's part, which the transcript tells.
    Spent(Spend),
    Proposed(Box<Proposal>),
    ReviewPosted {
        review: u64,
        /// In how many parts the proposal was posted: its suggestions, and one more for what they do not carry.
        #[serde(default)]
        parts: usize,
        /// The comments of earlier reviews that carry suggestions of this proposal, too.
        #[serde(default)]
        carried: Vec<u64>,
    },
    GateOpened(Gate),
    /// A person's answer, with the comment it was given in, so that a redelivered comment is not a second answer.
    Answered {
        gate: GateId,
        answer: Answer,
        comment: Option<u64>,
        /// When it was taken; earlier versions did not write it down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// Nothing on GitHub vouches for these approvals, so they do not count.
    Unvouched {
        gate: GateId,
        approvals: Vec<Unvouched>,
    },
    /// The approved tree was executed and is better.
    Verified(Box<Evidence>),
    Ended(End),
    /// The end is said on GitHub.
    Announced,
    /// What became of suggestions of this run, once the head moved or the pull request was closed.
    Settled {
        suggestions: Vec<Settled>,
        /// Whether only people with write access can have pushed that: it is on a branch of the repository itself.
        #[serde(default)]
        by_writers: bool,
    },
    /// The base branch moved to this commit since the merge with it was tested, and what was approved lands all the same.
    BaseMoved {
        tip: CommitSha,
    },
    /// What landed was taken back with this commit.
    Undone {
        commit: CommitSha,
    },
}

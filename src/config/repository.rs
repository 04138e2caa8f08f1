//! The settings that a repository makes for itself: `greenlight.toml` of the base branch.
//!
//! It deliberately has no credentials, model or allow-list; see [`super::settings`]. [`super::parse`] parses the file
//! and explains its mistakes; `greenlight.example.toml` is an annotated example.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::field_schema;
use super::protect::Protected;
use super::values::{command, duration, hosts, label, money, size, some_duration, some_money, some_whole, whole};
use super::worker::WorkerConfig;
use crate::domain::budget::Allowance;
use crate::domain::triage::StoppingRules;
use crate::sandbox::Property;

/// The path of the configuration in a repository.
pub const FILE_NAME: &str = "greenlight.toml";

/// Where the JSON schema of this version's `greenlight.toml` is published.
pub const SCHEMA_URL: &str = concat!(
    "https://raw.githubusercontent.com/greenlight-rs/greenlight/v",
    env!("CARGO_PKG_VERSION"),
    "/docs/greenlight.schema.json"
);

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The settings that a repository makes for itself.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct RepoConfig {
    pub execution: Execution,
    pub trigger: Trigger,
    pub test: TestConfig,
    pub triage: Triage,
    pub repair: Repair,
    pub gate: Gate,
    pub limits: RunLimits,
    pub protect: Protect,
    pub sandbox: Sandbox,
    pub worker: WorkerConfig,
}

/// When code may run before anybody approved it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// Never.
    #[default]
    Approve,
    /// In the sandbox, for pull requests whose author has write access. A commit still needs an approval.
    Sandbox,
}

/// What starts a run besides a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Trigger {
    /// Answer red CI on pull requests.
    pub ci: bool,
    /// Answer when this label is added; an empty one disables it.
    #[serde(deserialize_with = "label")]
    #[schemars(schema_with = "field_schema::label")]
    pub label: Option<String>,
}

/// How the tests are run. Missing fields are found automatically.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TestConfig {
    /// Runs the tests, as one line of shell.
    #[serde(deserialize_with = "command")]
    #[schemars(schema_with = "field_schema::command")]
    pub command: Option<String>,
    /// Installs what the tests need, as one line of shell.
    #[serde(deserialize_with = "command")]
    #[schemars(schema_with = "field_schema::command")]
    pub install: Option<String>,
    /// How long one test run may take.
    #[serde(deserialize_with = "duration::<_, 1, { 2 * HOUR }>")]
    #[schemars(schema_with = "field_schema::duration::<1, { 2 * HOUR }>")]
    pub timeout: Duration,
    /// Prove fixes with runs that compile everything themselves, instead of finding dependencies compiled.
    pub cold_proof: bool,
}

/// How triage tells a failing test from a flaky one before any work begins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Triage {
    /// The most runs of a failing test, each on the head and on the merge base.
    #[serde(deserialize_with = "whole::<_, _, 2, 20>")]
    #[schemars(schema_with = "field_schema::whole::<2, 20>")]
    pub runs: u32,
    /// How certain a verdict must be to stop early, in per cent.
    #[serde(deserialize_with = "whole::<_, _, 50, 99>")]
    #[schemars(schema_with = "field_schema::whole::<50, 99>")]
    pub confidence: u32,
}

impl Triage {
    /// When triage stops running a test.
    pub fn stopping_rules(&self) -> StoppingRules {
        StoppingRules {
            runs: self.runs,
            confidence: f64::from(self.confidence) / 100.0,
        }
    }
}

/// How long greenlight searches for a fix without a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Repair {
    /// The most small edits that are tried.
    #[serde(deserialize_with = "whole::<_, _, 1, 1_000_000>")]
    #[schemars(schema_with = "field_schema::whole::<1, 1_000_000>")]
    pub candidates: u32,
    /// The time limit of the search.
    #[serde(deserialize_with = "duration::<_, 1, { 6 * HOUR }>")]
    #[schemars(schema_with = "field_schema::duration::<1, { 6 * HOUR }>")]
    pub wall: Duration,
    /// The time limit if a model continues after an unsuccessful search. With 0, the model starts at once.
    #[serde(deserialize_with = "duration::<_, 0, { 6 * HOUR }>")]
    #[schemars(schema_with = "field_schema::duration::<0, { 6 * HOUR }>")]
    pub before_model: Duration,
}

/// How approvals work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Gate {
    /// How long a gate stays open.
    #[serde(deserialize_with = "duration::<_, MINUTE, { 30 * DAY }>")]
    #[schemars(schema_with = "field_schema::duration::<MINUTE, { 30 * DAY }>")]
    pub expires: Duration,
    /// How many people with write access must approve.
    #[serde(deserialize_with = "whole::<_, _, 1, 10>")]
    #[schemars(schema_with = "field_schema::whole::<1, 10>")]
    pub approvers: u32,
    /// Ask about the tests of a specification before the code for them is written.
    pub tests: bool,
}

/// The limits of one run.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct RunLimits {
    /// Round-trips to the model.
    #[serde(deserialize_with = "whole::<_, _, 1, 200>")]
    #[schemars(schema_with = "field_schema::whole::<1, 200>")]
    pub turns: u32,
    /// Tokens read and written by the model.
    #[serde(deserialize_with = "whole::<_, _, 1_000, 100_000_000>")]
    #[schemars(schema_with = "field_schema::whole::<1_000, 100_000_000>")]
    pub tokens: u64,
    /// Money for the model, in US dollars.
    #[serde(deserialize_with = "money::<_, 1_000>")]
    #[schemars(schema_with = "field_schema::money::<1_000>")]
    pub cost_usd: f64,
    /// Time from start to proposal, without the time that gates are open.
    #[serde(deserialize_with = "duration::<_, MINUTE, { 6 * HOUR }>")]
    #[schemars(schema_with = "field_schema::duration::<MINUTE, { 6 * HOUR }>")]
    pub wall: Duration,
    /// Removed plus added lines of a proposal.
    #[serde(deserialize_with = "whole::<_, _, 1, 10_000>")]
    #[schemars(schema_with = "field_schema::whole::<1, 10_000>")]
    pub patch_lines: u32,
    /// The limits for all runs of one pull request.
    #[serde(deserialize_with = "allowed_pull_request")]
    pub pull_request: Allowed,
    /// The limits for all runs of the repository within 24 hours that one person started.
    pub user: Allowed,
    /// The limits for all runs of the repository within 24 hours.
    #[serde(deserialize_with = "allowed_day")]
    pub day: Allowed,
}

/// What several runs may use together. `None` means that only the limits of each run count. The limits for a pull
/// request and for a day have defaults for turns and tokens, which count even if the model's price is unknown, and
/// for money.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Allowed {
    /// Round-trips to the model.
    #[serde(deserialize_with = "some_whole::<_, _, 1, 1_000_000>")]
    #[schemars(schema_with = "field_schema::whole::<1, 1_000_000>")]
    pub turns: Option<u32>,
    /// Tokens read and written by the model.
    #[serde(deserialize_with = "some_whole::<_, _, 1_000, 100_000_000_000>")]
    #[schemars(schema_with = "field_schema::whole::<1_000, 100_000_000_000>")]
    pub tokens: Option<u64>,
    /// Money for the model, in US dollars.
    #[serde(deserialize_with = "some_money::<_, 1_000_000>")]
    #[schemars(schema_with = "field_schema::money::<1_000_000>")]
    pub cost_usd: Option<f64>,
    /// Working time, over all runs.
    #[serde(deserialize_with = "some_duration::<_, MINUTE, { 1_000 * HOUR }>")]
    #[schemars(schema_with = "field_schema::duration::<MINUTE, { 1_000 * HOUR }>")]
    pub wall: Option<Duration>,
    /// Removed plus added lines of all proposals.
    #[serde(deserialize_with = "some_whole::<_, _, 1, 1_000_000>")]
    #[schemars(schema_with = "field_schema::whole::<1, 1_000_000>")]
    pub patch_lines: Option<u32>,
}

/// What a proposal must not change.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Protect {
    /// Paths in addition to the built-in ones.
    #[schemars(schema_with = "field_schema::patterns")]
    pub paths: Protected,
}

/// What code under test may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Sandbox {
    /// Bytes of memory, over all processes.
    #[serde(deserialize_with = "size::<_, 64, { 1 << 20 }>")]
    #[schemars(schema_with = "field_schema::size::<64, { 1 << 20 }>")]
    pub memory: u64,
    /// Processes and threads at one time.
    #[serde(deserialize_with = "whole::<_, _, 8, 65_536>")]
    #[schemars(schema_with = "field_schema::whole::<8, 65_536>")]
    pub processes: u32,
    /// Bytes written to disk.
    #[serde(deserialize_with = "size::<_, 64, { 16 << 20 }>")]
    #[schemars(schema_with = "field_schema::size::<64, { 16 << 20 }>")]
    pub disk: u64,
    /// Host names that the installation of dependencies may reach. `registries` is one of them, for the registries that
    /// the machine's package tools are configured for. If there are any hosts, dependencies are installed before the
    /// tests run, and approvals name the installation.
    #[serde(deserialize_with = "hosts")]
    #[schemars(schema_with = "field_schema::hosts")]
    pub network: Vec<String>,
    /// Properties that must be enforced in addition to the mandatory ones; otherwise nothing is executed.
    #[schemars(schema_with = "field_schema::properties")]
    pub require: Vec<Property>,
}

impl Default for Trigger {
    fn default() -> Self {
        Self {
            ci: true,
            label: Some("greenlight".into()),
        }
    }
}

impl Default for TestConfig {
    fn default() -> Self {
        Self {
            command: None,
            install: None,
            timeout: Duration::from_secs(10 * MINUTE),
            cold_proof: false,
        }
    }
}

impl Default for Triage {
    fn default() -> Self {
        Self {
            runs: 5,
            confidence: 95,
        }
    }
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            candidates: 20_000,
            wall: Duration::from_secs(10 * MINUTE),
            before_model: Duration::from_secs(30),
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            expires: Duration::from_secs(DAY),
            approvers: 1,
            tests: false,
        }
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            turns: 30,
            tokens: 400_000,
            cost_usd: 2.0,
            wall: Duration::from_secs(30 * MINUTE),
            patch_lines: 200,
            pull_request: PULL_REQUEST,
            user: Allowed::default(),
            day: ONE_DAY,
        }
    }
}

/// The defaults for all runs of a pull request: about five complete runs.
const PULL_REQUEST: Allowed = Allowed {
    turns: Some(150),
    tokens: Some(2_000_000),
    cost_usd: Some(10.0),
    wall: None,
    patch_lines: None,
};

/// The defaults for all runs of a repository within 24 hours: about twenty complete runs.
const ONE_DAY: Allowed = Allowed {
    turns: Some(600),
    tokens: Some(8_000_000),
    cost_usd: Some(40.0),
    wall: None,
    patch_lines: None,
};

fn allowed_pull_request<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Allowed, D::Error> {
    Ok(Allowed::deserialize(deserializer)?.or(PULL_REQUEST))
}

fn allowed_day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Allowed, D::Error> {
    Ok(Allowed::deserialize(deserializer)?.or(ONE_DAY))
}

impl RunLimits {
    /// The limits of one run as an [`Allowance`].
    pub fn allowance(&self) -> Allowance {
        Allowance {
            turns: Some(self.turns),
            tokens: Some(self.tokens),
            cost_micros: Some(micros(self.cost_usd)),
            wall: Some(self.wall),
            patch_lines: Some(u64::from(self.patch_lines)),
        }
    }
}

impl Allowed {
    /// Fills missing limits from `defaults`.
    fn or(self, defaults: Self) -> Self {
        Self {
            turns: self.turns.or(defaults.turns),
            tokens: self.tokens.or(defaults.tokens),
            cost_usd: self.cost_usd.or(defaults.cost_usd),
            wall: self.wall.or(defaults.wall),
            patch_lines: self.patch_lines.or(defaults.patch_lines),
        }
    }

    /// The same as an [`Allowance`].
    pub fn allowance(&self) -> Allowance {
        Allowance {
            turns: self.turns,
            tokens: self.tokens,
            cost_micros: self.cost_usd.map(micros),
            wall: self.wall,
            patch_lines: self.patch_lines.map(u64::from),
        }
    }
}

/// Dollars as millionths. The value is neither negative nor more than a million.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the limits of the file are far below the type's"
)]
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            processes: 1024,
            disk: 4 << 30,
            network: Vec::new(),
            require: Vec::new(),
        }
    }
}

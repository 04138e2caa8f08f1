//! Knows test commands: finds them, runs them in the sandbox, reads their results, distils CI logs.
//!
//! What a test command prints is a claim of the code under test. It is bounded and cleaned, it never steers, and a
//! run counts as passed only when the exit code, the counts and the absence of failures agree.
//!
//! Not in here: whether a change made things better ([`is_better`](greenlight_readers::test_run::is_better)), and what
//! kind of red a red run is.

#![warn(missing_docs)]

mod ci_build;
mod ci_configure;
mod ci_install;
mod ci_log;
mod ci_services;
mod ci_variables;
mod discover;
mod execute;
mod file_lookup;
mod filter;
mod framework;
mod frameworks;
mod install;
mod missing;
mod parse;
mod prebuild;
mod prebuilt;
mod reporters;
mod reports;
mod reuse;
mod run;
mod run_clock;
mod shell;
mod suite;
mod test_command;
mod text;
mod workflow;
mod wrapper;

pub use self::ci_build::BuildCommand;
pub use self::ci_install::CiInstall;
pub use self::ci_log::{Distillate, Distiller, GreenLog, distil, distil_archive};
pub use self::discover::{CommandPart, Hints, NothingFound, Selection, find, find_all, has_member, parts, select};
pub use self::execute::{Job, Packages, Ran, Registry, can_reach, execute, packages, place, registry_hosts};
pub use self::filter::{narrows, package};
pub use self::framework::Framework;
pub use self::frameworks::spec::{Runtime, Snapshots};
pub use self::install::{
    INSTALL_STEP, InstallError, InstallRequest, InstallSettings, Installed, Plan, hosts_of_tools, install,
    old_packages, plan, remove_old_packages,
};
pub use self::missing::{MissingPackage, MissingPackages, list_different_packages, missing_packages};
pub use self::parse::{Report, read};
pub use self::prebuild::compile_shared;
pub use self::prebuilt::{Prebuilt, Stores};
pub use self::reuse::reuse_installed;
pub use self::run::{Error, place_of_tests, prepare, run, run_fresh};
pub use self::run_clock::{Purpose, RunClock, UnderWay};
pub use self::suite::Suite;
pub use self::test_command::{DEFAULT_TIMEOUT, Source, TestCommand, TestSettings};
pub use self::text::clean;
pub use self::workflow::{CiWorkflow, Failed, ReadFile, ci_workflows, failed_step, test_steps};

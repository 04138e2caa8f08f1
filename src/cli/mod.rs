//! One file per subcommand. They print results to standard output, and progress and logs to standard error.

mod action;
mod annotation;
mod answer;
mod app;
mod checkout_settings;
mod completions;
mod config;
mod database;
mod demo;
mod doctor;
mod exit;
mod explain;
mod failures;
mod fix;
mod folder;
mod hidden;
mod init;
mod live;
mod local;
mod mcp;
mod memory;
mod pace;
mod paint;
mod patch_file;
mod progress;
mod prune;
mod ready;
mod redrawn;
mod refactor;
mod replay;
mod runs;
mod sandbox;
mod serve;
mod setup;
mod suggest;
mod tdd;
mod terminal;
mod tests;
mod verify;
mod worker_flags;
mod wrap;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser, Subcommand};
pub use exit::Exit;
use tokio::runtime::Runtime;

/// The stack of a worker thread, in bytes. A run is deeply nested, and unoptimised builds need more than the usual 2 MiB.
pub const STACK: usize = 8 << 20;

/// Flags of all commands come after those of a command itself.
const AFTER_OTHERS: usize = 900;

/// Debugs red CI: finds the failing tests, works out a fix, suggests it, and lands it when a maintainer approves.
#[derive(Debug, Parser)]
#[command(version = env!("GREENLIGHT_VERSION"), about, long_about = None, after_help = exit::HELP)]
pub struct Cli {
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto", display_order = AFTER_OTHERS)]
    color: paint::When,
    /// Leave out progress and notes; results, errors, warnings and questions stay
    #[arg(short, long, global = true, display_order = AFTER_OTHERS)]
    quiet: bool,
    #[command(subcommand)]
    verb: Verb,
}

/// Words that people try, and the command that does it.
const OTHER_WORDS: [(&str, &[&str]); 8] = [
    ("fix", &["debug", "heal", "patch", "repair", "solve"]),
    ("tests", &["check", "run", "test"]),
    ("init", &["configure", "install", "onboard", "setup"]),
    ("serve", &["daemon", "server", "start", "up"]),
    ("runs", &["history", "jobs", "list", "ls", "status"]),
    ("doctor", &["diagnose", "env", "info"]),
    ("config", &["lint", "settings"]),
    ("prune", &["clean", "cleanup", "gc"]),
];

impl Cli {
    /// Reads the command line of this process. Ends it after `--help`, `--version` and mistakes, as clap does.
    pub fn read() -> Self {
        Self::try_parse().unwrap_or_else(|mut error| {
            suggest_command(&mut error);
            error.exit()
        })
    }
}

/// Names the command that people may mean by a word that greenlight does not know: a synonym, or a typo that clap does
/// not recognise in a short word.
fn suggest_command(error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let other = OTHER_WORDS.iter().find(|(_, words)| words.contains(&word.as_str()));
    let command = match other {
        Some((command, _)) => Some((*command).to_owned()),
        None if error.get(ContextKind::SuggestedSubcommand).is_some() => None,
        None => {
            let all = Cli::command();
            let mut names = all.get_subcommands().map(clap::Command::get_name);
            let near = names.find(|name| strsim::damerau_levenshtein(name, word) == 1);
            near.map(ToOwned::to_owned)
        }
    };
    if let Some(command) = command {
        let suggested = ContextValue::Strings(vec![command]);
        error.insert(ContextKind::SuggestedSubcommand, suggested);
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Fix the failing tests of a local checkout
    #[command(after_help = exit::HELP)]
    Fix(fix::FixArguments),
    /// Write the tests of a specification first, see them fail, then write the code that makes them pass; needs a model
    #[command(after_help = exit::HELP)]
    Tdd(tdd::TddArguments),
    /// Change a local checkout towards a goal while its tests stay green and its interface stays the same; needs a model
    #[command(after_help = exit::HELP)]
    Refactor(refactor::RefactorArguments),
    /// Say why the tests of a local checkout fail, and which lines show it; says more with a model
    #[command(after_help = exit::HELP)]
    Explain(explain::ExplainArguments),
    /// Show or forget what is remembered about a local checkout, such as fixes that were turned down
    #[command(after_help = exit::OF_MEMORY)]
    Memory(memory::MemoryArguments),
    /// Run the tests of a checkout in the sandbox, and show how they were found and how the result was read
    #[command(after_help = exit::OF_TESTS)]
    Tests(tests::TestsArguments),
    /// Set up a repository: show the files to add as a diff, and write them
    #[command(after_help = exit::OF_INIT)]
    Init(init::InitArguments),
    /// Check a greenlight.toml, show the settings in effect, or print the JSON schema
    #[command(after_help = exit::OF_CONFIG)]
    Config(config::ConfigArguments),
    /// Recompute the evidence for a fix in a local checkout
    #[command(after_help = exit::OF_VERIFY)]
    Verify(verify::VerifyArguments),
    /// Offer a local checkout's tests and fixes to a coding agent, over the Model Context Protocol on standard input and
    /// output; `init --mcp` sets that up
    #[command(after_help = exit::OF_MCP)]
    Mcp(mcp::McpArguments),
    /// Play the whole story on this machine, without an account, a key or the network
    #[command(after_help = exit::OF_DEMO)]
    Demo(demo::DemoArguments),
    /// Serve a GitHub App: webhooks in, reviews out
    #[command(after_help = exit::OF_SERVING)]
    Serve(serve::ServeArguments),
    /// List runs, with what they wait for
    #[command(after_help = exit::OF_READING)]
    Runs(runs::RunsArguments),
    /// Show how many fixes are accepted, how long they take, and what they cost
    #[command(after_help = exit::OF_READING)]
    Stats(runs::StatsArguments),
    /// Do the work of a `greenlight serve` elsewhere; both share a PostgreSQL database
    #[command(after_help = exit::OF_SERVING)]
    Worker(serve::WorkerArguments),
    /// Create or update the tables of the journal, and exit; `serve` does the same when it starts
    #[command(after_help = exit::OF_MIGRATE)]
    Migrate(database::MigrateArguments),
    /// Delete what `serve` no longer keeps, and show how much space that frees; `serve` does so every day
    #[command(after_help = exit::OF_PRUNE)]
    Prune(prune::PruneArguments),
    /// Handle the event of a GitHub workflow, as one of its steps
    #[command(after_help = exit::OF_ACTION)]
    Action(action::ActionArguments),
    /// Show the review suggestions that a patch becomes on a pull request, or post them
    #[command(after_help = exit::OF_SUGGEST)]
    Suggest(suggest::SuggestArguments),
    /// Run one command in the sandbox, exactly like a test run, and report how it ended
    #[command(after_help = exit::OF_SANDBOX)]
    Sandbox(sandbox::SandboxArguments),
    /// Replay a recorded run offline and show what differs
    #[command(after_help = exit::OF_REPLAY)]
    Replay(replay::ReplayArguments),
    /// Show which sandboxes work on this machine and what each one guarantees, or what the GitHub App lacks
    #[command(after_help = exit::OF_DOCTOR)]
    Doctor(doctor::DoctorArguments),
    /// Print the shell's completions for greenlight's commands and flags
    #[command(after_help = exit::OF_PRINTING)]
    Completions(completions::CompletionsArguments),
    /// Print the manual page, or write those of all commands into a folder
    #[command(after_help = exit::OF_PRINTING)]
    Man(completions::ManArguments),
}

/// Runs one subcommand.
pub fn main(cli: Cli) -> ExitCode {
    cli.color.decide();
    if cli.quiet {
        terminal::be_quiet();
    }
    if let Err(error) = crate::sandbox::harden_self() {
        terminal::tell(&format!(
            "warning: other processes of this user may read greenlight's memory: {error}"
        ));
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = match runtime.thread_stack_size(STACK).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::Fault(format!("threads cannot be started: {error}")).report(),
    };
    let ended = match cli.verb {
        Verb::Fix(arguments) => run(&runtime, fix::fix, arguments).report(),
        Verb::Tdd(arguments) => run(&runtime, tdd::tdd, arguments).report(),
        Verb::Refactor(arguments) => run(&runtime, refactor::refactor, arguments).report(),
        Verb::Explain(arguments) => run(&runtime, explain::explain, arguments).report(),
        Verb::Memory(arguments) => memory::memory(arguments).report(),
        Verb::Tests(arguments) => run(&runtime, tests::tests, arguments).report(),
        Verb::Init(arguments) => run(&runtime, init::init, arguments).report(),
        Verb::Config(arguments) => config::config(arguments).report(),
        Verb::Verify(arguments) => run(&runtime, verify::verify, arguments).report(),
        Verb::Mcp(arguments) => run(&runtime, mcp::mcp, arguments).report(),
        Verb::Demo(arguments) => run(&runtime, demo::demo, arguments).report(),
        Verb::Serve(arguments) => run(&runtime, serve::serve, arguments).report(),
        Verb::Runs(arguments) => run(&runtime, runs::runs, arguments).report(),
        Verb::Stats(arguments) => run(&runtime, runs::stats, arguments).report(),
        Verb::Worker(arguments) => run(&runtime, serve::worker, arguments).report(),
        Verb::Prune(arguments) => run(&runtime, prune::prune, arguments).report(),
        Verb::Migrate(arguments) => run(&runtime, database::migrate, arguments).report(),
        Verb::Action(arguments) => run(&runtime, action::action, arguments).report(),
        Verb::Suggest(arguments) => run(&runtime, suggest::suggest, arguments).report(),
        Verb::Sandbox(arguments) => run(&runtime, sandbox::sandbox, arguments).unwrap_or_else(Exit::report),
        Verb::Replay(arguments) => run(&runtime, replay::replay, arguments).report(),
        Verb::Doctor(arguments) => run(&runtime, doctor::doctor, arguments).report(),
        Verb::Completions(arguments) => completions::completions(arguments).report(),
        Verb::Man(arguments) => completions::man(arguments).report(),
    };
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    ended
}

/// Runs a command. Futures of commands are large, and unoptimised code copies them to the stack. The compiler makes one
/// such function for each command, so the stack holds only the future of the command that runs.
fn run<A, F: Future>(runtime: &Runtime, command: impl FnOnce(A) -> F, arguments: A) -> F::Output {
    let work = Box::pin(command(arguments));
    runtime.block_on(work)
}

//! `greenlight mcp`: tools for coding agents, over the Model Context Protocol on standard input and output.
//!
//! The person who starts it decides everything that matters: which checkout, which sandbox, which model, and whether
//! dependencies are installed. A model that calls the tools chooses only tests and patches. Nothing is ever written to
//! the checkout, and what a model of greenlight's own asks to execute is never approved.

mod answer;
mod channel;
mod schema;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use self::tools::{Decided, Tools};
use super::{Exit, app, folder, patch_file, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, ModelFlags, SandboxFlags};
use crate::config::settings::Settings;

/// How long one message may be, in bytes: a patch as JSON, which escapes line ends and quotes.
const MAX_LINE: usize = 2 * patch_file::MAX_BYTES as usize;
/// How long a call that was stopped may take to end its sandbox.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(super) struct McpArguments {
    /// The checkout. No tool takes a path, so nothing else can be reached
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Let the tools install the dependencies first, from the registries configured for this machine's package tools
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn mcp(arguments: McpArguments) -> Exit {
    try_to(arguments).await.err().unwrap_or(Exit::Done)
}

async fn try_to(arguments: McpArguments) -> Result<(), Exit> {
    let McpArguments {
        path,
        install,
        data,
        model,
        sandbox,
        log,
    } = arguments;
    let flags = Flags {
        storage: data.clone().into(),
        model: model.clone(),
        sandbox: sandbox.clone(),
        log: log.clone(),
        ..Flags::default()
    };
    // What is wrong with the settings is said now, not to each call.
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    terminal::start_logging(&settings, Some("warn"));
    app::model_of(&settings)?;
    app::choice(&settings)?;
    let decided = Decided {
        root: folder::checkout(&path)?,
        install,
        flags: (data, model, sandbox, log),
    };
    if terminal::somebody_reads_and_types() {
        terminal::mention(
            "note: a coding agent starts this, and talks to it on standard input and output; `greenlight init --mcp` sets \
             that up. End it with ctrl-c",
        );
    }
    serve(decided).await
}

/// Serves until the input ends, or somebody asks the process to end. Running calls are stopped then.
async fn serve(decided: Decided) -> Result<(), Exit> {
    let (ended, turn) = (CancellationToken::new(), Arc::<Mutex<()>>::default());
    let (input, output) = channel::take(&ended)
        .map_err(|error| Exit::Usage(format!("standard input or output cannot be used: {error}")))?;
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE);
    let tools = Tools::new(decided, ended.clone(), Arc::clone(&turn));
    let serving = async {
        match rmcp::serve_server(tools, transport).await {
            Ok(service) => match service.waiting().await {
                Ok(_closed) => Ok(()),
                Err(error) => Err(Exit::Fault(error.to_string())),
            },
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => Err(Exit::Usage(
                "the first message is not `initialize`: a client of the Model Context Protocol starts this command"
                    .into(),
            )),
            Err(error) => Err(Exit::Usage(error.to_string())),
        }
    };
    let result = tokio::select! {
        result = serving => result,
        () = terminal::stopped() => Err(Exit::Stopped),
    };
    ended.cancel();
    // The call that runs ends its sandbox before this process ends.
    let _ended_in_time = tokio::time::timeout(GRACE, turn.lock()).await;
    result
}

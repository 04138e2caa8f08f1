//! `greenlight demo`: the whole story on one machine, told as it happens.
//!
//! Only GitHub is played, on loopback; everything else is what `greenlight serve` runs. With `--github-only` the
//! playing half runs alone, for a `greenlight serve` in another process.

mod narrator;
mod scenery;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::{Exit, app, terminal};
use crate::config::allow_list::AllowList;
use crate::config::environment::Environment;
use crate::config::flags::{Flags, LogFlags, ModelFlags};
use crate::config::settings::Settings;
use crate::demo::{Double, MAINTAINER};
use crate::engine::{App, Interrupts};
use crate::github::webhook::WebhookSecret;
use crate::github::{Credentials, GitHub};
use crate::journal::{Journal, Sqlite};
use crate::sandbox::Choice;
use crate::server::{self, Queue};

use narrator::Narrator;

/// The webhook secret of the played GitHub; it protects nothing.
const SECRET: &str = "demo-webhook-secret";
/// How many comments are asked for before the story is over anyway.
const MAX_COMMENTS: usize = 20;
/// When nothing has changed for so long, a `greenlight serve` in another process has nothing more to say.
const QUIET: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Play the maintainer, too: approve the fix without asking
    #[arg(long)]
    approve: bool,
    /// Only play GitHub, for a `greenlight serve` of your own that listens at this address
    #[arg(long, value_name = "URL")]
    github_only: Option<url::Url>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn demo(arguments: Arguments) -> Exit {
    match try_demo(arguments).await {
        Ok(()) => Exit::Done,
        Err(exit) => exit,
    }
}

async fn try_demo(arguments: Arguments) -> Result<(), Exit> {
    let flags = Flags {
        model: arguments.model.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process())?;
    terminal::start_logging(&settings, Some("warn"));
    let folder = tempfile::tempdir().map_err(|error| Exit::Fault(format!("no temporary folder: {error}")))?;
    let double = Double::start(scenery::world()).await.map_err(fault)?;
    let narrator = Narrator::new(double.clone());
    let listening = tokio::spawn(narrator.clone().listen());

    let queue = match &arguments.github_only {
        None => Some(open_door(&double, &settings, folder.path()).await?),
        Some(url) => {
            print_settings(&double, folder.path(), url)?;
            double.set_webhook(url.join("webhook").map_err(fault)?.as_str(), SECRET);
            None
        }
    };
    let number = scenery::red_pull_request(&double, &narrator).await.map_err(fault)?;
    let result = converse(&arguments, (&double, number), queue.as_ref(), &narrator).await;
    settle(&double, queue.as_ref()).await;
    narrator.catch_up();
    listening.abort();
    result?;
    epilogue(&double, number, &narrator)
}

fn fault(error: impl std::fmt::Display) -> Exit {
    Exit::Fault(error.to_string())
}

/// The same door as `greenlight serve`, on a free port of loopback.
async fn open_door(double: &Double, settings: &Settings, folder: &std::path::Path) -> Result<Queue, Exit> {
    let app_credentials = double.app_credentials();
    let credentials = Credentials::App {
        id: app_credentials.app_id,
        key_pem: app_credentials.private_key.into(),
    };
    let api = double.url().parse().map_err(fault)?;
    let journal = Sqlite::open(&folder.join("greenlight.db")).await.map_err(fault)?;
    let sandbox = app::sandbox(Choice::Auto).await?;
    if let Err(unusable) = &sandbox {
        return Err(Exit::Refused(unusable.to_string()));
    }
    let app = App {
        github: GitHub::new(&api, credentials).map_err(fault)?,
        journal: Journal::Sqlite(journal),
        sandbox,
        model: settings.model().map(app::model).transpose()?,
        folder: folder.to_path_buf(),
        allow_list: AllowList::All,
        interrupts: Interrupts::default(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    let queue = Queue::new(Arc::new(app), 1);
    let secret = WebhookSecret::new(SECRET.into()).map_err(fault)?;
    tokio::spawn(server::serve(listener, queue.clone(), secret, std::future::pending()));
    double.set_webhook(&format!("http://{address}/webhook"), SECRET);
    Ok(queue)
}

/// What a `greenlight serve` has to be started with to meet the played GitHub.
fn print_settings(double: &Double, folder: &std::path::Path, url: &url::Url) -> Result<(), Exit> {
    let credentials = double.app_credentials();
    let key = folder.join("app.pem");
    std::fs::write(&key, credentials.private_key).map_err(fault)?;
    terminal::show(&format!(
        "Start greenlight at {url} with these settings, then press Enter here:\n\n\
         export GREENLIGHT_GITHUB_API_URL={}\nexport GREENLIGHT_APP_ID={}\nexport GREENLIGHT_PRIVATE_KEY_FILE={}\n\
         export GREENLIGHT_WEBHOOK_SECRET={SECRET}\n",
        double.url(),
        credentials.app_id,
        key.display()
    ));
    let _waited = std::io::stdin().read_line(&mut String::new());
    Ok(())
}

/// Comments, until the story is over: typed on a terminal, or played with `--approve`.
async fn converse(
    arguments: &Arguments,
    (double, number): (&Double, u64),
    queue: Option<&Queue>,
    narrator: &Narrator,
) -> Result<(), Exit> {
    for _ in 0..MAX_COMMENTS {
        settle(double, queue).await;
        narrator.catch_up();
        if !narrator.waits_for_an_answer() {
            return Ok(());
        }
        let comment = if arguments.approve {
            "/greenlight approve".to_string()
        } else if terminal::somebody_is_there() {
            let question = format!(
                "\nYou are {MAINTAINER}. Your comment (/greenlight approve, /greenlight reject <reason>, /greenlight help):"
            );
            match terminal::ask(&question).await {
                Some(comment) if !comment.is_empty() => comment,
                Some(_) => continue,
                None => return Err(Exit::Refused("not approved; nothing was committed".into())),
            }
        } else {
            return Err(Exit::Refused(
                "nobody is here to approve; `greenlight demo --approve` plays the maintainer".into(),
            ));
        };
        double.comment(number, MAINTAINER, &comment).await.map_err(fault)?;
    }
    Err(Exit::Refused(format!("{MAX_COMMENTS} comments, and no decision")))
}

/// Waits until greenlight has nothing more to say.
async fn settle(double: &Double, queue: Option<&Queue>) {
    let Some(queue) = queue else {
        let mut changes = double.changes();
        let quiet = async { while let Ok(Ok(())) = tokio::time::timeout(QUIET, changes.changed()).await {} };
        let _at_most = tokio::time::timeout(PATIENCE, quiet).await;
        return;
    };
    // What greenlight posts comes back to it as webhooks, which may be work again.
    loop {
        let before = *double.changes().borrow();
        double.delivered().await;
        queue.idle().await;
        if *double.changes().borrow() == before {
            return;
        }
    }
}

/// What became of the pull request, as anybody could check.
fn epilogue(double: &Double, number: u64, narrator: &Narrator) -> Result<(), Exit> {
    let head = double.head(number).map_err(fault)?;
    let is_green = double
        .check_runs(&head)
        .iter()
        .any(|run| run.name == "greenlight" && run.conclusion.as_deref() == Some("success"));
    let commits = double.commits(number).map_err(fault)?;
    if is_green && commits.len() > 1 {
        narrator.say(&format!(
            "The head of the branch is {} now, its tests and its check are green.",
            &head[..7]
        ));
        return Ok(());
    }
    Err(Exit::NoFix("the pull request is as red as before".into()))
}

//! `greenlight demo`: the whole story on one machine, told as it happens.
//!
//! Only GitHub is played, on loopback; everything else is what `greenlight serve` runs. With `--github-only` the
//! playing half runs alone, for a `greenlight serve` in another process.

mod elsewhere;
mod markdown;
mod narrator;
mod scenery;

use std::sync::Arc;

use narrator::Narrator;
use tokio::net::TcpListener;

use super::{Exit, app, terminal};
use crate::config::allow_list::AllowList;
use crate::config::environment::Environment;
use crate::config::flags::{Flags, LogFlags, ModelFlags};
use crate::config::settings::Settings;
use crate::demo::{Double, MAINTAINER};
use crate::domain::command;
use crate::engine::{App, Interrupts, Voices};
use crate::github::webhook::WebhookSecret;
use crate::github::{Credentials, GitHub};
use crate::journal::{Journal, Sqlite};
use crate::server::{self, Queue};

/// The webhook secret of the played GitHub; it protects nothing.
const SECRET: &str = "demo-webhook-secret";
/// How many comments are asked for before the story is over anyway.
const MAX_COMMENTS: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Play the maintainer, too: approve the fix without asking
    #[arg(long)]
    approve: bool,
    /// Only play GitHub, for a `greenlight serve` of your own that listens at this address
    #[arg(long, value_name = "URL", value_parser = http_url)]
    github_only: Option<url::Url>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn demo(arguments: Arguments) -> Exit {
    tokio::select! {
        result = try_demo(arguments) => result.err().unwrap_or(Exit::Done),
        () = terminal::stopped() => Exit::Stopped,
    }
}

async fn try_demo(arguments: Arguments) -> Result<(), Exit> {
    let flags = Flags {
        model: arguments.model.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    terminal::start_logging(&settings, Some("warn"));
    let folder = tempfile::tempdir().map_err(|error| Exit::Fault(format!("no temporary folder: {error}")))?;
    let double = Double::start(scenery::world()).await.map_err(fault)?;
    let narrator = Narrator::new(double.clone());
    let listening = tokio::spawn(narrator.clone().listen());

    let queue = match &arguments.github_only {
        None => Some(open_door(&double, &settings, folder.path()).await?),
        Some(url) => {
            elsewhere::meet(&double, folder.path(), url).await?;
            None
        }
    };
    let number = scenery::red_pull_request(&double, &narrator).await.map_err(fault)?;
    let result = converse(&arguments, (&double, number), queue.as_ref(), &narrator).await;
    narrator.catch_up();
    listening.abort();
    result?;
    epilogue(&double, number, &narrator)
}

fn http_url(text: &str) -> Result<url::Url, String> {
    let url: url::Url = text.parse().map_err(|error: url::ParseError| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || !url.path().ends_with('/') {
        return Err("it is no address such as http://127.0.0.1:8080".into());
    }
    Ok(url)
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
    let sandbox = app::sandbox(settings).await?;
    if let Err(unusable) = &sandbox {
        return Err(Exit::Refused(unusable.to_string()));
    }
    let app = App {
        bundles: None,
        github: GitHub::new(&api, credentials).map_err(fault)?,
        journal: Journal::Sqlite(journal),
        sandbox,
        model: app::model_of(settings)?,
        who: settings.engine(),
        folder: folder.to_path_buf(),
        allow_list: AllowList::All,
        interrupts: Interrupts::default(),
        voices: Voices::default(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    let queue = Queue::new(Arc::new(app), 1);
    let secret = WebhookSecret::new(SECRET.into()).map_err(fault)?;
    tokio::spawn(server::serve(listener, queue.clone(), secret, std::future::pending()));
    double.set_webhook(&format!("http://{address}/webhook"), SECRET);
    Ok(queue)
}

/// Comments, until the story is over: typed on a terminal, or played with `--approve`.
async fn converse(
    arguments: &Arguments,
    (double, number): (&Double, u64),
    queue: Option<&Queue>,
    narrator: &Narrator,
) -> Result<(), Exit> {
    let mut since = None;
    for _ in 0..MAX_COMMENTS {
        match queue {
            Some(queue) => settle(double, queue).await,
            None => elsewhere::settle(double, narrator, since).await,
        }
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
        if let Some(hint) = hint(&comment) {
            terminal::tell(&hint);
            continue;
        }
        // The comment itself is told, too. What is no command gets no answer.
        since = (!command::parse(&comment).is_empty()).then(|| narrator.times() + 1);
        double.comment(number, MAINTAINER, &comment).await.map_err(fault)?;
    }
    Err(Exit::Refused(format!("{MAX_COMMENTS} comments, and no decision")))
}

/// What somebody is told who typed a command without its name.
fn hint(comment: &str) -> Option<String> {
    let meant = format!("/greenlight {}", comment.trim_start_matches('/'));
    let is_command = command::parse(comment).is_empty() && command::parse(&meant).iter().any(Result::is_ok);
    is_command.then(|| format!("Nobody answers that: commands begin with their name. Did you mean `{meant}`?"))
}

/// Waits until greenlight has nothing more to say.
async fn settle(double: &Double, queue: &Queue) {
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
    let check = narrator.check();
    let is_green = check.as_ref().and_then(|check| check.conclusion.as_deref()) == Some("success");
    let commits = double.commits(number).map_err(fault)?;
    if is_green && commits.len() > 1 {
        narrator.say(&format!(
            "The head of the branch is {} now; its tests and its check are green.",
            &head[..7]
        ));
        narrator.say(
            "On GitHub, `/greenlight undo` would take the commit back. Now try `greenlight fix .` in a project of your own.",
        );
        return Ok(());
    }
    let why = check.and_then(|check| check.title).unwrap_or_default();
    if why.contains("Rejected") {
        narrator.say(&format!(
            "{MAINTAINER} rejected it, so nothing was committed. With a reason, as in `/greenlight reject keep the bound`, \
             another fix is looked for."
        ));
        return Ok(());
    }
    if double.reviews(number).is_empty() && why.contains("missing on this machine") {
        return Err(Exit::Usage(
            "the story's repository is a Rust one: install Rust (https://rustup.rs), so that `cargo test` can run"
                .into(),
        ));
    }
    Err(Exit::NoFix(format!("the pull request is as red as before: {why}")))
}

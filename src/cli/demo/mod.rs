//! `greenlight demo`: the whole story on one machine, narrated as it happens.
//!
//! Only GitHub is played, on loopback; everything else is what `greenlight serve` runs. With `--github-only`, GitHub
//! is played for a `greenlight serve` in another process. Without a terminal, the maintainer is played as well.

mod elsewhere;
mod markdown;
mod narrator;
mod needs;
mod scenery;

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use github_double::{Double, MAINTAINER};
use narrator::Narrator;
use tokio::net::TcpListener;
use tokio::time::{Instant, interval_at};

use super::{Exit, app, terminal};
use crate::config::allow_list::AllowList;
use crate::config::environment::Environment;
use crate::config::flags::{Flags, LogFlags, ModelFlags};
use crate::config::settings::Settings;
use crate::domain::{clock, command};
use crate::engine::{Activities, App, Interrupts, ModelStream};
use crate::github::webhook::WebhookSecret;
use crate::github::{Credentials, GitHub};
use crate::journal::{Database, Journal};
use crate::server::{self, Access, LocalPage, Queue};

/// The webhook secret of the played GitHub. It protects nothing.
const SECRET: &str = "demo-webhook-secret";
/// How often a terminal is told that greenlight is still at work.
const STILL: Duration = Duration::from_secs(15);
/// How long a run has to stop after a request.
const GRACE: Duration = Duration::from_secs(5);
/// How many comments the maintainer may write before the demo ends.
const MAX_COMMENTS: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct DemoArguments {
    /// Play the maintainer, too: approve the fix without asking. This is the default without a terminal
    #[arg(long)]
    approve: bool,
    /// Only play GitHub, for your own `greenlight serve` listening at this address; configure the model there
    #[arg(long, value_name = "ADDRESS", value_parser = http_url, conflicts_with = "ModelFlags")]
    github_only: Option<url::Url>,
    /// Keep the page of the run open at the end, until Ctrl-C
    #[arg(long, conflicts_with = "github_only")]
    page: bool,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn demo(arguments: DemoArguments) -> Exit {
    let started = OnceLock::new();
    let mut story = pin!(try_demo(arguments, &started));
    tokio::select! {
        result = story.as_mut() => result.err().unwrap_or(Exit::Done),
        () = terminal::stopped() => {
            if let Some(queue) = started.get() {
                // The run must end before its folder is removed.
                queue.drain(GRACE).await;
            }
            Exit::Stopped
        }
    }
}

async fn try_demo(arguments: DemoArguments, started: &OnceLock<Queue>) -> Result<(), Exit> {
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

    let is_alone = !terminal::somebody_reads_and_types();
    let mut link = None;
    let queue = match &arguments.github_only {
        None => {
            let (queue, page) = open_door(&double, &settings, folder.path()).await?;
            link = Some(page);
            Some(started.get_or_init(|| queue))
        }
        Some(url) => {
            elsewhere::meet(&double, folder.path(), url).await?;
            None
        }
    };
    if is_alone && !arguments.approve {
        narrator.say(&format!(
            "There is no terminal to type at, so the demo also plays the maintainer, {MAINTAINER}."
        ));
    }
    let number = scenery::red_pull_request(&double, &narrator).await.map_err(fault)?;
    let is_played = arguments.approve || is_alone;
    let result = converse(is_played, (&double, number), queue, &narrator).await;
    narrator.catch_up();
    listening.abort();
    result?;
    let ended = epilogue(&double, number, &narrator);
    if let Some(link) = link.filter(|_| !matches!(ended, Err(Exit::Fault(_)))) {
        show_page(&narrator, &link, arguments.page).await;
    }
    ended
}

/// Names the page of the run, and keeps it open if somebody asked for that.
async fn show_page(narrator: &Narrator, link: &str, is_kept: bool) {
    if is_kept {
        narrator.say("The run is in a browser, until you press Ctrl-C. The link works once:");
        terminal::show_exactly(&format!("{link}\n"));
        std::future::pending::<()>().await;
    }
    let origin = link.split("/enter").next().unwrap_or_default();
    narrator.say(&format!(
        "The page of this run was at {origin}. `greenlight demo --page` keeps it open, and prints a link to it."
    ));
}

/// Parses a URL, or a host and port.
fn http_url(text: &str) -> Result<url::Url, String> {
    let wrong = || "it is not an address such as http://127.0.0.1:8080".to_string();
    let has_port = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    let whole = match text.contains("://") {
        true => text.to_string(),
        false if has_port => format!("http://{text}"),
        false => return Err(wrong()),
    };
    let url: url::Url = whole.parse().map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.path().ends_with('/') {
        return Err(wrong());
    }
    Ok(url)
}

fn fault(error: impl std::fmt::Display) -> Exit {
    Exit::Fault(error.to_string())
}

/// The same server as `greenlight serve`, on a free loopback port, and the link to its page.
async fn open_door(double: &Double, settings: &Settings, folder: &std::path::Path) -> Result<(Queue, String), Exit> {
    let app_credentials = double.app_credentials();
    let credentials = Credentials::App {
        id: app_credentials.app_id,
        key_pem: app_credentials.private_key.into(),
    };
    let api = double.url().parse().map_err(fault)?;
    let journal = Database::open(&folder.join("greenlight.db")).await.map_err(fault)?;
    let sandbox = app::sandbox(settings).await?;
    match &sandbox {
        Ok(sandbox) => needs::check(sandbox, folder).await?,
        Err(unusable) => return Err(Exit::Refused(unusable.to_string())),
    }
    let app = App {
        bundles: None,
        retention: settings.retention,
        github: GitHub::new(&api, credentials).map_err(fault)?,
        journal: Journal::Database(journal),
        sandbox,
        model: app::model_of(settings)?,
        who: settings.engine(),
        folder: folder.to_path_buf(),
        allow_list: AllowList::All,
        interrupts: Interrupts::default(),
        activities: Activities::default(),
        voices: ModelStream::default(),
        labels: None,
        traces: None,
        metrics: Arc::default(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(fault)?;
    let address = listener.local_addr().map_err(fault)?;
    let queue = Queue::new(Arc::new(app), 1);
    let (page, link) = LocalPage::new(address).map_err(fault)?;
    let access = Access {
        webhook: WebhookSecret::new(SECRET.into()).map_err(fault)?,
        metrics: None,
        page: Some(page),
        sign_in: None,
    };
    tokio::spawn(server::serve(listener, queue.clone(), access, std::future::pending()));
    double.set_webhook(&format!("http://{address}/webhook"), SECRET);
    Ok((queue, link))
}

/// Posts comments until the story is over: typed on a terminal, or played.
async fn converse(
    is_played: bool,
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
        let comment = if is_played {
            "/greenlight approve".to_string()
        } else {
            let question = format!(
                "\nYou are {MAINTAINER}. Your comment (/greenlight approve, /greenlight reject <reason>, /greenlight \
                 help):"
            );
            match terminal::ask(&question).await {
                Some(comment) if !comment.is_empty() => comment,
                Some(_) => continue,
                None => return Err(Exit::Refused("not approved; nothing was committed".into())),
            }
        };
        if let Some(hint) = hint(&comment) {
            terminal::tell(&hint);
            continue;
        }
        // The comment itself is narrated as well. Text without a command gets no answer.
        since = (!command::parse(&comment).is_empty()).then(|| narrator.times() + 1);
        double.comment(number, MAINTAINER, &comment).await.map_err(fault)?;
    }
    Err(Exit::Refused(format!("{MAX_COMMENTS} comments, and no decision")))
}

/// What to say to somebody who typed a command without `/greenlight`.
fn hint(comment: &str) -> Option<String> {
    let meant = format!("/greenlight {}", comment.trim_start_matches('/'));
    let is_command = command::parse(comment).is_empty() && command::parse(&meant).iter().any(Result::is_ok);
    is_command.then(|| format!("greenlight ignores that: a command starts with `/greenlight`. Did you mean `{meant}`?"))
}

/// Waits until greenlight has nothing more to do, and says now and then that it is still at work.
async fn settle(double: &Double, queue: &Queue) {
    // greenlight's own posts come back as webhooks, which may be more work.
    let settled = async {
        loop {
            let before = *double.changes().borrow();
            double.delivered().await;
            queue.idle().await;
            if *double.changes().borrow() == before {
                return;
            }
        }
    };
    tokio::pin!(settled);
    let begun = Instant::now();
    let mut tick = interval_at(begun + STILL, STILL);
    loop {
        tokio::select! {
            () = &mut settled => return,
            _ = tick.tick(), if terminal::somebody_watches() => {
                let now = queue.app().activities.any();
                let what = now.map_or_else(String::new, |now| format!(", {}", now.what));
                let so_far = clock::in_words(Duration::from_secs(begun.elapsed().as_secs()));
                terminal::mention(&format!("\n… greenlight has been at work for {so_far}{what}"));
            }
        }
    }
}

/// Says how the pull request ended, from what anybody could check.
fn epilogue(double: &Double, number: u64, narrator: &Narrator) -> Result<(), Exit> {
    let head = double.head(number).map_err(fault)?;
    let check = narrator.check();
    let is_green = check.as_ref().and_then(|check| check.conclusion.as_deref()) == Some("success");
    let commits = double.commits(number).map_err(fault)?;
    if is_green && commits.len() > 1 {
        narrator.say(&format!(
            "Landed as commit {head}, which is now the head of the branch; its tests and its check are green."
        ));
        narrator.say(
            "On GitHub, `/greenlight undo` would revert the commit. Now try `greenlight fix .` in your own project.",
        );
        return Ok(());
    }
    let why = check.and_then(|check| check.title).unwrap_or_default();
    if why.contains("Rejected") {
        narrator.say(&format!(
            "{MAINTAINER} rejected it, so nothing was committed. With a reason, as in `/greenlight reject keep the \
             bound`, greenlight looks for another fix."
        ));
        return Ok(());
    }
    Err(Exit::NoFix(format!("the pull request is as red as before: {why}")))
}

//! `greenlight suggest`: shows the review that a patch would become, from a formatter, a codemod or a person, or
//! posts it.
//!
//! Nothing in the repository is executed. The printed review uses the diff that GitHub would show for the two
//! commits, the posted one GitHub's own diff.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Exit, app, patch_file, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, GithubFlags, LogFlags};
use crate::config::settings::Settings;
use crate::domain::anchor::{self, Cut, MAX_SUGGESTIONS};
use crate::domain::count::count;
use crate::domain::id::{CommitSha, PullRequestId, RepoPath, RepositoryName};
use crate::domain::patch::Patch;
use crate::domain::reply::{Name, SUGGESTION_MARKER, Source};
use crate::engine::Broken;
use crate::engine::suggest::{self, Posted, Words};
use crate::git::{self, LocalRepository};
use crate::github::{self, GitHub, MAX_COMMENTS, ReviewComment};

#[derive(Debug, clap::Args)]
pub(super) struct SuggestArguments {
    /// The patch for the head: a unified diff from git, `diff -u` or a formatter; `-` reads it from standard input
    #[arg(long, value_name = "FILE")]
    patch: PathBuf,
    /// The branch that the pull request is merged into; its diff starts at the merge base. With --pull-request,
    /// GitHub provides it
    #[arg(
        long,
        value_name = "REV",
        required_unless_present = "pull_request",
        conflicts_with = "pull_request"
    )]
    base: Option<String>,
    /// The head of the pull request, which the patch applies to
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Post the review on this pull request, whose head must be the local head
    #[arg(long, value_name = "NUMBER")]
    pull_request: Option<u64>,
    /// The repository of the pull request; defaults to that of the remote `origin` [env: GITHUB_REPOSITORY]
    #[arg(long, value_name = "OWNER/NAME", requires = "pull_request")]
    repository: Option<String>,
    /// What the patch does; the first sentence of the review
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    summary: String,
    /// Distinguishes this patch from others on the same head; a later one with the same name replaces it
    #[arg(long, value_name = "NAME", default_value = "patch")]
    name: Name,
    #[command(flatten)]
    github: GithubFlags,
    #[command(flatten)]
    log: LogFlags,
}

/// A patch that was checked.
struct CheckedPatch {
    base: CommitSha,
    head: CommitSha,
    patch: Patch,
    cut: Cut,
    /// The hash of the head's tree with the patch.
    tree: String,
}

pub(super) async fn suggest(arguments: SuggestArguments) -> Exit {
    let as_json = arguments.json;
    let exit = run(arguments).await.err().unwrap_or(Exit::Done);
    if let (true, Exit::Usage(text) | Exit::Refused(text) | Exit::Fault(text)) = (as_json, &exit) {
        terminal::show_document(&json!({ "error": text }));
    }
    exit
}

async fn run(arguments: SuggestArguments) -> Result<(), Exit> {
    let environment = Environment::of_this_process();
    let flags = Flags {
        github: arguments.github.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &environment)?;
    terminal::start_logging(&settings, Some("warn"));
    match arguments.pull_request {
        Some(number) => post(arguments, (&settings, &environment), number).await,
        None => print(arguments).await,
    }
}

async fn print(arguments: SuggestArguments) -> Result<(), Exit> {
    let (as_json, words) = (arguments.json, words(&arguments));
    let found = blocking(move || find(&arguments)).await?;
    let (body, comments) = suggest::given(&found.head, &words, (&found.patch, &found.cut));
    if as_json {
        terminal::show_document(&document(&found, (&body, &comments)));
    } else {
        show(&found, &comments);
    }
    Ok(())
}

fn words(arguments: &SuggestArguments) -> Words {
    Words {
        source: Source::Given(arguments.name.clone()),
        summary: arguments.summary.clone(),
    }
}

/// Cuts the patch along the diff that GitHub would show, and proves the result.
fn find(arguments: &SuggestArguments) -> Result<CheckedPatch, Exit> {
    let repository = LocalRepository::open(Path::new(".")).map_err(usage)?;
    let head = repository.resolve(&arguments.head).map_err(usage)?;
    let base = repository
        .resolve(arguments.base.as_deref().unwrap_or_default())
        .map_err(usage)?;
    let patch = read_patch(&repository, &head, &arguments.patch)?;
    let base = repository.merge_base(&base, &head).map_err(usage)?;
    if base == head {
        let named = arguments.base.as_deref().unwrap_or_default();
        terminal::mention(&format!(
            "note: {named} already contains {}, so no line can carry a suggestion",
            head.short()
        ));
    }
    let changed: HashSet<&str> = patch.paths().map(RepoPath::as_str).collect();
    let shown = repository
        .diff_files(&base, &head, &|path| changed.contains(path))
        .map_err(usage)?;
    let diff = anchor::diff_files(shown.iter().map(|(path, hunks)| (path.as_str(), hunks.as_deref())));
    let cut = anchor::cut_within(&patch, &diff, MAX_SUGGESTIONS);
    let tree = repository.tree_with(&head, &patch).map_err(usage)?;
    Ok(CheckedPatch {
        base,
        head,
        patch,
        cut,
        tree,
    })
}

fn read_patch(repository: &LocalRepository, head: &CommitSha, file: &Path) -> Result<Patch, Exit> {
    let patch = repository.apply(head, &patch_file::read(file)?).map_err(usage)?;
    if patch.is_empty() {
        return Err(Exit::Usage(format!(
            "{}: changes nothing in {}",
            file.display(),
            head.short()
        )));
    }
    Ok(patch)
}

async fn post(
    arguments: SuggestArguments,
    (settings, environment): (&Settings, &Environment),
    number: u64,
) -> Result<(), Exit> {
    let named = arguments.repository.clone();
    let named = named.or_else(|| environment.get("GITHUB_REPOSITORY").map(str::to_owned));
    let (as_json, words) = (arguments.json, words(&arguments));
    let (id, head, patch) = blocking(move || {
        let repository = LocalRepository::open(Path::new(".")).map_err(usage)?;
        let named = named.or_else(|| repository.origin()).ok_or_else(|| {
            let nobody = "there is no remote `origin` that says which repository this is";
            Exit::Usage(format!("{nobody}; name it with --repository owner/name"))
        })?;
        let name: RepositoryName = named
            .parse()
            .map_err(|error| Exit::Usage(format!("--repository: {error}")))?;
        let id = PullRequestId {
            repository: name.into(),
            number,
        };
        let head = repository.resolve(&arguments.head).map_err(usage)?;
        let patch = read_patch(&repository, &head, &arguments.patch)?;
        Ok((id, head, patch))
    })
    .await?;
    let github = app::github(settings).await?;
    let posted = put(&github, &id, (&head, &patch, &words)).await?;
    if as_json {
        terminal::show_document(&json!({
            "pull_request": id.to_string(),
            "review": posted.review,
            "suggestions": posted.cut.suggestions.len(),
            "remainder": posted.cut.remainder.unified(),
        }));
    } else {
        terminal::show(&format!("posted on {id}: {}", counted(&posted.cut)));
    }
    Ok(())
}

/// Posts on the current pull request, if the patch was made for its head.
async fn put(
    github: &GitHub,
    id: &PullRequestId,
    (head, patch, words): (&CommitSha, &Patch, &Words),
) -> Result<Posted, Exit> {
    let broken = |error: github::Error| Exit::from(Broken::GitHub(error));
    let client = github.client(None, &id.repository).await.map_err(broken)?;
    let me = github.me().await.map_err(broken)?;
    let now = client.pull_request(id).await.map_err(|error| match error.status() {
        Some(404) => Exit::Usage(format!(
            "there is no pull request {id}, or these credentials may not see it"
        )),
        _ => broken(error),
    })?;
    if !now.is_open {
        return Err(Exit::Refused(format!("{id} is closed; nothing was posted")));
    }
    let moved = |now: &CommitSha| {
        let (now, head) = (now.short(), head.short());
        Exit::Refused(format!(
            "the head of {id} is {now}, and the patch is for {head}; nothing was posted"
        ))
    };
    if now.head != *head {
        return Err(moved(&now.head));
    }
    match suggest::post(&client, me, &now, patch, words).await {
        Err(Broken::HeadMoved { head }) => Err(moved(&head)),
        posted => Ok(posted?),
    }
}

fn document(found: &CheckedPatch, (body, comments): (&str, &[ReviewComment])) -> Value {
    let left_out: Vec<Value> = found
        .cut
        .left_out
        .iter()
        .map(|(path, reasons)| {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            json!({ "path": path.as_str(), "reasons": reasons })
        })
        .collect();
    let comments: Vec<Value> = comments.iter().map(ReviewComment::wire).collect();
    let batches: Vec<usize> = comments.chunks(MAX_COMMENTS).map(<[Value]>::len).collect();
    json!({
        "base": found.base.as_str(),
        "head": found.head.as_str(),
        "body": body,
        "comments": comments,
        "batches": batches,
        "remainder": found.cut.remainder.unified(),
        "left_out": left_out,
        "proof": { "holds": true, "tree": found.tree, "patch": found.patch.digest() },
    })
}

fn show(found: &CheckedPatch, comments: &[ReviewComment]) {
    terminal::show(&counted(&found.cut));
    for comment in comments {
        let lines = if comment.start_line == comment.line {
            comment.line.to_string()
        } else {
            format!("{}-{}", comment.start_line, comment.line)
        };
        terminal::show(&format!("\n{}:{lines}", comment.path));
        terminal::show_code(without_marker(&comment.body));
    }
    for (path, reasons) in &found.cut.left_out {
        let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
        terminal::show(&format!("\nin {path}, not as a suggestion: {}", reasons.join("; ")));
    }
    if !found.cut.remainder.is_empty() {
        terminal::show("\nremainder, on top of the suggestions:");
        let diff = found.cut.remainder.unified();
        terminal::show_diff(diff.strip_suffix('\n').unwrap_or(&diff));
    }
    terminal::show(&format!(
        "\nproved: committing the suggestions on {} and applying the remainder gives tree {}, byte for byte",
        found.head.short(),
        found.tree,
    ));
}

/// A comment without its last line, the hidden marker by which greenlight recognises it.
fn without_marker(body: &str) -> &str {
    match body.trim_end().rsplit_once('\n') {
        Some((shown, last)) if last.starts_with(SUGGESTION_MARKER) => shown.trim_end(),
        _ => body,
    }
}

fn counted(cut: &Cut) -> String {
    let plural = |number: usize, what: &str| count(number as u64, what);
    let files = cut.remainder.paths().count();
    let rest = if files == 0 {
        "no remainder".to_string()
    } else {
        format!("a remainder in {}", plural(files, "file"))
    };
    format!("{}, {rest}", plural(cut.suggestions.len(), "suggestion"))
}

fn usage(error: git::Error) -> Exit {
    Exit::Usage(error.to_string())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Exit> + Send + 'static) -> Result<T, Exit> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Exit::Fault(error.to_string()))?
}

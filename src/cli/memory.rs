//! `greenlight memory`: shows what greenlight remembers about a local checkout, and forgets entries.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::local::memory_file;
use super::{Exit, exit, folder, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags};
use crate::config::settings::Settings;
use crate::domain::memory::{Fix, Memory, Rejection};
use crate::domain::patch::Patch;
use crate::domain::redact;

/// How much of a summary or a reason is shown, in characters.
const MAX_TEXT: usize = 300;
/// How much of a diff is shown, in bytes.
const MAX_DIFF: usize = 4 << 10;

#[derive(Debug, clap::Args)]
pub(super) struct MemoryArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show the fixes that were accepted or turned down in a checkout, with their names
    #[command(after_help = exit::OF_MEMORY)]
    List(ListArguments),
    /// Forget one of them, or all of them, so that a rejected fix may be offered again
    #[command(after_help = exit::OF_MEMORY)]
    Forget(Forget),
}

#[derive(Debug, clap::Args)]
struct ListArguments {
    /// The checkout
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: FolderFlags,
}

#[derive(Debug, clap::Args)]
struct Forget {
    /// The name shown by `greenlight memory list`, or its first characters
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The checkout; `.` if not given
    path: Option<PathBuf>,
    /// Forget everything about the checkout
    #[arg(long)]
    all: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: FolderFlags,
}

pub(super) fn memory(arguments: MemoryArguments) -> Exit {
    let done = match arguments.verb {
        Verb::List(list) => listed(list),
        Verb::Forget(forget) => forgotten(forget),
    };
    done.err().unwrap_or(Exit::Done)
}

fn listed(ListArguments { path, json, data }: ListArguments) -> Result<(), Exit> {
    let (_, memory) = open(data, &path)?;
    if json {
        terminal::show_document(&document(&memory));
    } else {
        show(&memory);
    }
    Ok(())
}

fn forgotten(arguments: Forget) -> Result<(), Exit> {
    // With `--all` there is no name, so the first argument is the checkout.
    let (id, path) = match (arguments.all, arguments.id, arguments.path) {
        (true, Some(_), Some(_)) => {
            return Err(Exit::Usage(
                "name one entry to forget, or give `--all`, not both".into(),
            ));
        }
        (false, None, _) => {
            return Err(Exit::Usage(
                "say what to forget: a name that `greenlight memory list` shows, or `--all`".into(),
            ));
        }
        (true, path, None) => (None, path.map(PathBuf::from)),
        (_, id, path) => (id, path),
    };
    let (file, mut memory) = open(arguments.data, path.as_deref().unwrap_or(Path::new(".")))?;
    let names = match &id {
        None => {
            let names = memory.fixes.iter().map(Fix::id);
            let names = names.chain(memory.rejections.iter().map(Rejection::id)).collect();
            memory = Memory::default();
            names
        }
        Some(id) => match memory.forget(id).as_slice() {
            [] => {
                return Err(Exit::Usage(format!(
                    "no remembered fix of this checkout has the name `{id}`; `greenlight memory list` shows them"
                )));
            }
            [one] => vec![one.clone()],
            several => {
                return Err(Exit::Usage(format!(
                    "`{id}` could be any of {}; nothing was forgotten",
                    several.join(", ")
                )));
            }
        },
    };
    memory_file::write(&file, &memory).map_err(|error| unusable(&file, &error))?;
    if arguments.json {
        terminal::show_document(&json!({ "forgotten": names }));
    } else if names.is_empty() {
        terminal::show("nothing was remembered about this checkout");
    } else {
        terminal::show(&format!("forgotten: {}", names.join(", ")));
    }
    Ok(())
}

/// The memory of a checkout, and its file.
fn open(data: FolderFlags, path: &Path) -> Result<(PathBuf, Memory), Exit> {
    let flags = Flags {
        storage: data.into(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    let root = folder::checkout(path)?;
    let file = memory_file::file(&folder::stores(&settings.data_dir()?, &root).repository);
    let memory = memory_file::read(&file).map_err(|error| unusable(&file, &error))?;
    Ok((file, memory))
}

fn unusable(file: &Path, error: &std::io::Error) -> Exit {
    Exit::Usage(format!("the memory file {} cannot be used: {error}", file.display()))
}

fn show(memory: &Memory) {
    if memory.fixes.is_empty() && memory.rejections.is_empty() {
        terminal::show("nothing is remembered about this checkout: no fix was accepted or rejected here");
        return;
    }
    for down in &memory.rejections {
        let entry = MemoryEntry {
            id: down.id(),
            what: "turned down",
            at: &down.at,
            summary: &down.summary,
            reason: Some(&down.reason),
        };
        entry.show(down.edit.as_ref());
    }
    for fix in &memory.fixes {
        let entry = MemoryEntry {
            id: fix.id(),
            what: "accepted",
            at: &fix.at,
            summary: &fix.summary,
            reason: None,
        };
        entry.show(Some(&fix.patch));
    }
    terminal::show(
        "\nRejected fixes are not offered again while the same tests fail in the same way, and accepted fixes are \
         tried first. `greenlight memory forget ID` forgets one entry, `greenlight memory forget --all` all of them",
    );
}

struct MemoryEntry<'a> {
    id: String,
    what: &'a str,
    at: &'a jiff::Timestamp,
    summary: &'a str,
    reason: Option<&'a str>,
}

impl MemoryEntry<'_> {
    fn show(&self, patch: Option<&Patch>) {
        let mut text = format!(
            "{}  {} on {}",
            self.id,
            self.what,
            self.at.strftime("%Y-%m-%d %H:%M UTC")
        );
        if !self.summary.is_empty() {
            let _in_memory = write!(text, ": {}", one_line(self.summary));
        }
        if let Some(reason) = self.reason.filter(|reason| !reason.is_empty()) {
            let _in_memory = write!(text, "\n  because: {}", one_line(reason));
        }
        terminal::show(&text);
        if let Some(patch) = patch {
            let diff = redact::bounded(patch.unified().trim_end(), MAX_DIFF);
            let lines: Vec<String> = diff.lines().map(|line| format!("  | {line}")).collect();
            terminal::show_code(&lines.join("\n"));
        }
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MAX_TEXT).collect()
}

fn document(memory: &Memory) -> Value {
    let fixes = memory.fixes.iter().map(|fix| {
        json!({
            "id": fix.id(),
            "at": fix.at,
            "summary": fix.summary,
            "patch": fix.patch.unified(),
        })
    });
    let rejections = memory.rejections.iter().map(|down| {
        json!({
            "id": down.id(),
            "at": down.at,
            "summary": down.summary,
            "reason": down.reason,
            "patch": down.edit.as_ref().map(Patch::unified),
        })
    });
    json!({
        "test_command": memory.test_command,
        "accepted": fixes.collect::<Vec<_>>(),
        "turned_down": rejections.collect::<Vec<_>>(),
    })
}

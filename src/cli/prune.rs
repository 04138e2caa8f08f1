//! `greenlight prune`: shows what `serve` keeps no longer, and deletes it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Exit, database, folder, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, RecordFlags, RetentionFlags, StorageFlags};
use crate::config::settings::Settings;
use crate::domain::size;
use crate::engine::{self, Amount, Prunable, Stored};
use crate::journal::Journal;

#[derive(Debug, clap::Args)]
pub(super) struct PruneArguments {
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    storage: StorageFlags,
    #[command(flatten)]
    retention: RetentionFlags,
    #[command(flatten)]
    record: RecordFlags,
}

pub(super) async fn prune(arguments: PruneArguments) -> Exit {
    try_prune(arguments).await.err().unwrap_or(Exit::Done)
}

async fn try_prune(arguments: PruneArguments) -> Result<(), Exit> {
    let flags = Flags {
        storage: arguments.storage,
        retention: arguments.retention,
        record: arguments.record,
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process())?;
    let data = settings.data_dir()?;
    // `serve` deletes at its own times, and two processes would count the same data.
    let _taken = match arguments.dry_run {
        true => None,
        false => Some(folder::take(&data)?),
    };
    let journal = Journal::Database(database::open(&settings).await?);
    let stored = Stored {
        journal: &journal,
        retention: settings.retention,
        folder: &data,
        bundles: settings.bundles.as_deref(),
    };
    let now = Timestamp::now();
    let found = engine::prunable(stored, now).await?;
    if !arguments.dry_run {
        engine::prune(stored, now).await?;
    }
    if arguments.json {
        terminal::show_document(&document(&found, arguments.dry_run));
    } else {
        terminal::show(&text(&found, arguments.dry_run));
    }
    Ok(())
}

/// What takes space, by name.
fn amounts(found: &Prunable) -> [(&'static str, Amount); 4] {
    [
        ("runs", found.runs),
        ("bundles", found.bundles),
        ("packages", found.packages),
        ("mirrors", found.mirrors),
    ]
}

fn text(found: &Prunable, is_dry: bool) -> String {
    let row =
        |(name, amount): &(&str, Amount)| format!("{name:<10} {:>8}  {}", amount.number, size::in_words(amount.bytes));
    let all = amounts(found);
    let total = all.iter().map(|(_, amount)| amount.bytes).sum();
    let title = match is_dry {
        true => "Nothing was deleted. This would be:",
        false => "Deleted:",
    };
    let mut lines = vec![title.to_string(), format!("deliveries {:>8}", found.deliveries)];
    lines.extend(all.iter().map(row));
    lines.push(format!("in total {:>10}  {}", "", size::in_words(total)));
    lines.join("\n")
}

fn document(found: &Prunable, is_dry: bool) -> Value {
    let amount = |amount: Amount| json!({ "number": amount.number, "bytes": amount.bytes });
    let members = amounts(found).map(|(name, found)| (name.to_string(), amount(found)));
    let mut document: serde_json::Map<String, Value> = members.into_iter().collect();
    document.insert("deliveries".into(), json!({ "number": found.deliveries }));
    document.insert("dry_run".into(), json!(is_dry));
    Value::Object(document)
}

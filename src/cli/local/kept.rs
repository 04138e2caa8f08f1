//! What a local checkout taught, in a file of greenlight's own folder: accepted fixes and reasons of rejections.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;

use super::super::terminal;
use super::Asked;
use super::report::Report;
use crate::domain::id::RunId;
use crate::domain::memory::{Fingerprint, Fix, Memory, Rejection};
use crate::private;

/// A larger file is not read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// What is remembered; nothing if that cannot be read, which costs no more than trying it again.
pub(super) fn recall(file: &Path) -> Memory {
    let is_small = fs::metadata(file).is_ok_and(|meta| meta.len() <= MAX_FILE);
    let text = is_small.then(|| fs::read(file).ok()).flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// Adds what this run taught.
pub(super) fn learn(file: &Path, asked: &Asked<'_>, report: &Report) {
    let mut memory = asked.memory.clone();
    let (before, _) = asked.before;
    let at = Timestamp::now();
    let fingerprint = Fingerprint::of(before);
    if let (true, Some(proposal), Some(fingerprint)) = (report.is_applied, &report.proposal, &fingerprint)
        && asked.mode.is_debug()
        && proposal.weakens.is_empty()
    {
        let digest = proposal.patch.digest();
        memory.fixes.retain(|fix| fix.patch.digest() != digest);
        memory.fixes.insert(
            0,
            Fix {
                fingerprint: fingerprint.clone(),
                patch: proposal.patch.clone(),
                summary: proposal.summary.clone(),
                run: RunId(format!("local-{}", at.as_millisecond())),
                commit: None,
                at,
            },
        );
        memory.test_command.clone_from(&report.command);
    }
    for (patch, reason) in &report.turned_down {
        memory.rejections.insert(
            0,
            Rejection {
                fingerprint: fingerprint.clone(),
                patch: patch.clone(),
                reason: reason.clone(),
                at,
            },
        );
    }
    if memory == *asked.memory {
        return;
    }
    memory.forget_the_oldest();
    if let Err(error) = write(file, &memory) {
        terminal::tell(&format!(
            "note: what this run taught cannot be kept in {}: {error}",
            file.display()
        ));
    }
}

fn write(file: &Path, memory: &Memory) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    private::folder(folder)?;
    let mut place = tempfile::NamedTempFile::new_in(folder)?;
    place.write_all(&serde_json::to_vec(memory)?)?;
    place.persist(file).map_err(|error| error.error)?;
    Ok(())
}

//! The memory of a local checkout, in a file of greenlight's own folder: accepted fixes, and reasons of rejections.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::{Exit, terminal};
use crate::domain::memory::{Fingerprint, Fix, Memory, Rejection};
use crate::domain::redact;
use crate::domain::run::{End, Run, TurnedDown};
use crate::private;

/// The format of the file. The first versions did not record it.
const FORMAT: u32 = 1;
/// A larger file is not read, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// How many bytes of a summary are kept.
const MAX_SUMMARY: usize = 500;

#[derive(Serialize)]
struct MemoryFile<'a> {
    format: u32,
    #[serde(flatten)]
    memory: &'a Memory,
}

/// The part that is read first, because a newer version may write the rest differently.
#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    format: u32,
}

/// The file of a checkout's memory, beside its installed packages.
pub(in super::super) fn file(packages: &Path) -> PathBuf {
    packages.with_extension("memory.json")
}

/// That file, and the one of a run that is not over.
pub(super) fn with_run(packages: &Path) -> (PathBuf, PathBuf) {
    (file(packages), packages.with_extension("run.jsonl"))
}

/// The memory of a checkout. If it cannot be read, it is empty, which only costs trying the same fixes again.
pub(super) fn recall(file: &Path) -> Memory {
    read(file).unwrap_or_else(|error| {
        if is_newer(&error) {
            terminal::tell(&format!("note: {} is not used: {error}", file.display()));
        }
        Memory::default()
    })
}

/// The memory of a checkout. Empty if there is no file.
///
/// # Errors
/// When the file cannot be read, or has another format.
pub(in super::super) fn read(file: &Path) -> io::Result<Memory> {
    let meta = match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Memory::default()),
        meta => meta?,
    };
    if meta.len() > MAX_FILE {
        return Err(io::Error::other("it is too large"));
    }
    let text = fs::read(file)?;
    let Format { format } = serde_json::from_slice(&text)?;
    if format > FORMAT {
        let why = "a newer greenlight wrote it: upgrade greenlight to use it";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(serde_json::from_slice(&text)?)
}

fn is_newer(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

/// How many fixes of this failure somebody turned down, now or earlier, which are therefore left out.
pub(super) fn left_out(run: &Run, memory: &Memory) -> usize {
    let Some((before, _)) = run.reproduced.as_ref().filter(|_| run.started.mode.is_debug()) else {
        return 0;
    };
    let earlier = memory.turned_down(before).map(|down| down.patch.clone());
    let now = reasons(run).map(|(down, _)| down.proposal.patch.digest());
    earlier.chain(now).collect::<BTreeSet<_>>().len()
}

/// Says before the work how many fixes are left out.
pub(super) fn tell_left_out(count: usize, path: &Path) {
    match count {
        0 => {}
        1 => terminal::mention(&format!(
            "note: 1 fix turned down earlier is left out; {}",
            fix_hint(path)
        )),
        count => terminal::mention(&format!(
            "note: {count} fixes turned down earlier are left out; {}",
            fix_hint(path)
        )),
    }
}

/// Adds to an end without a fix what to do about the fixes that are left out.
pub(super) fn with_left_out(exit: Exit, count: usize, path: &Path) -> Exit {
    match exit {
        Exit::NoFix(_) | Exit::Limit(_) if count > 0 => {
            exit.reworded(|text| format!("{}: {}", text.trim_end_matches('.'), fix_hint(path)))
        }
        exit => exit,
    }
}

fn fix_hint(path: &Path) -> String {
    let path = match path {
        path if path == Path::new(".") => String::new(),
        path => format!(" {}", path.display()),
    };
    format!(
        "`greenlight memory list{path}` shows what was turned down, `greenlight memory forget ID{path}` offers it again"
    )
}

/// The proposals that were turned down with a reason, however short. A plain no ends the run, and says nothing about
/// the fix.
fn reasons(run: &Run) -> impl Iterator<Item = (&TurnedDown, &str)> {
    let gates = run.gates.iter().filter(|asked| asked.gate.kind.lands());
    let answers = gates.filter_map(|asked| asked.rejected.as_ref());
    let turned_down = run.turned_down.iter().zip(answers);
    turned_down.filter_map(|(down, (_, reason))| Some((down, reason.as_deref()?)))
}

/// Adds what this run learned to the memory, and saves it.
pub(super) fn learn(file: &Path, run: &Run, earlier: &Memory) {
    let Some((before, _)) = &run.reproduced else { return };
    let mut memory = earlier.clone();
    let at = Timestamp::now();
    let fingerprint = Fingerprint::of(before);
    if let (Some(End::Written), Some(proposal), Some(fingerprint)) = (&run.end, &run.proposal, &fingerprint)
        && run.started.mode.is_debug()
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
                run: run.id().clone(),
                commit: None,
                at,
            },
        );
        memory.test_command = Some(before.command.clone());
    }
    for (TurnedDown { proposal, .. }, reason) in reasons(run) {
        // An interrupted run may have recorded it already.
        let digest = proposal.patch.digest();
        let is_it = |known: &Rejection| known.patch == digest && known.reason == reason;
        if memory.rejections.iter().any(is_it) {
            continue;
        }
        memory.rejections.insert(
            0,
            Rejection {
                fingerprint: fingerprint.clone(),
                patch: digest,
                edit: Some(proposal.patch.clone()),
                summary: redact::bounded(&proposal.summary, MAX_SUMMARY),
                reason: reason.into(),
                at,
            },
        );
    }
    if memory == *earlier {
        return;
    }
    memory.forget_the_oldest();
    // The file of a newer version is never overwritten. That was reported before.
    let is_left_alone = read(file).is_err_and(|error| is_newer(&error));
    if !is_left_alone && let Err(error) = write(file, &memory) {
        terminal::tell(&format!(
            "note: what this run learned cannot be saved in {}: {error}",
            file.display()
        ));
    }
}

/// Saves the memory.
///
/// # Errors
/// When the file cannot be written.
pub(in super::super) fn write(file: &Path, memory: &Memory) -> io::Result<()> {
    private::folder(file.parent().unwrap_or(Path::new(".")))?;
    let format = FORMAT;
    private::replace(file, &serde_json::to_vec(&MemoryFile { format, memory })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_written_with_its_format_and_read_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept/x.memory.json");
        let memory = Memory {
            test_command: Some("pytest".into()),
            ..Memory::default()
        };
        write(&file, &memory).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("{\"format\":1,"), "{text}");
        assert_eq!(read(&file).unwrap(), memory);
        fs::write(&file, serde_json::to_vec(&memory).unwrap()).unwrap();
        assert_eq!(read(&file).unwrap(), memory);
    }

    #[test]
    fn the_memory_of_a_newer_greenlight_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.memory.json");
        fs::write(&file, "{\"format\":2,\"fixes\":\"elsewhere\"}").unwrap();
        let refused = read(&file).unwrap_err();
        assert!(is_newer(&refused), "{refused}");
        assert_eq!(recall(&file), Memory::default());
    }
}

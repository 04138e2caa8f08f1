//! The descendants of a command without a process namespace: an outer process keeps track of them, and kills them.

use std::collections::BTreeSet;
use std::time::Duration;
use std::{fs, io, thread};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

/// How many rounds of killing there are. After that, a tree that forks faster than it is killed is abandoned.
const ROUNDS: usize = 1000;

/// Makes every orphaned descendant a child of this process.
pub(crate) fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills descendants until there are none. They are stopped first, parents before children: a stopped process cannot
/// fork, but still counts towards the process limit.
pub(crate) fn end() {
    let mut stopped = BTreeSet::new();
    for round in 0..ROUNDS {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let found = walk(|process| {
            let _ = kill_process(process, Signal::STOP);
        });
        if found.is_empty() {
            return;
        }
        let news = found
            .iter()
            .filter(|process| stopped.insert(process.as_raw_pid()))
            .count();
        // A tree that forks endlessly is stopped for a limited time; then the killing begins in any case.
        if news == 0 || round > ROUNDS / 10 {
            for process in found {
                let _ = kill_process(process, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Every descendant of this process, parents first.
pub(crate) fn descendants() -> Vec<Pid> {
    walk(|_| ())
}

/// Visits every descendant before its children are looked up.
fn walk(mut visit: impl FnMut(Pid)) -> Vec<Pid> {
    let mut found = children_of("self");
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        visit(process);
        found.extend(children_of(&process.as_raw_pid().to_string()));
        next += 1;
    }
    found
}

/// Every visible process except this one, which shares its namespace only with them.
pub(crate) fn others() -> Vec<Pid> {
    let list = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = list.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    numbers.filter(|process| *process != getpid()).collect()
}

/// The first child of a process with this user.
pub(crate) fn child_of(process: u32) -> Option<u32> {
    let child = children_of(&process.to_string()).first()?.as_raw_pid();
    u32::try_from(child).ok()
}

fn children_of(process: &str) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
        .collect()
}

//! What little can be done for a command that runs with the rights of its caller (`--sandbox none`): its descendants
//! stay in sight of the supervisor and are killed with it.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

/// How often the orphans are looked for; a tree that forks faster than it is killed is given up after that.
const ROUNDS: usize = 1000;

/// Makes every descendant that loses its parent a child of this process.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills children until there are none. The children of a killed child come next.
pub(super) fn end_orphans() {
    for _ in 0..ROUNDS {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
        .collect()
}

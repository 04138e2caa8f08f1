//! Reads what processes used, and prints rows.

use std::time::Duration;

use anyhow::Context as _;

/// What several processes used.
#[derive(Default)]
pub(crate) struct Processes {
    pub(crate) cpu: Duration,
}

/// Lets time pass, as part of a measurement.
pub(crate) async fn pause(length: Duration) {
    let _passed = tokio::time::timeout(length, std::future::pending::<()>()).await;
}

pub(crate) fn print(what: &str, sqlite: &str, postgres: &str) {
    println!("| {what} | {sqlite} | {postgres} |");
}

/// A percentile.
pub(crate) fn of_hundred(times: &mut [Duration], percent: usize) -> String {
    times.sort_unstable();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times
        .get(at)
        .map_or_else(String::new, |time| format!("{:.1} ms", time.as_secs_f64() * 1e3))
}

/// The processor time of all threads of a process that have not ended.
pub(crate) fn cpu_of(process: u32) -> anyhow::Result<Duration> {
    let mut spent = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end meanwhile.
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
            continue;
        };
        let nanoseconds = text.split(' ').next().context("no time")?.parse()?;
        spent += Duration::from_nanos(nanoseconds);
    }
    Ok(spent)
}

/// The resident memory of a process.
pub(crate) fn memory_of(process: u32) -> anyhow::Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: f64 = line.context("no memory")?.trim().trim_end_matches(" kB").parse()?;
    Ok(format!("{:.0} MiB", kibibytes / 1024.0))
}

/// The processes of the server of a URL. Those of SQLite are none.
pub(crate) fn processes_of_postgres(database: &str) -> anyhow::Result<Processes> {
    let Some((_, folder)) = database.split_once("?host=") else {
        return Ok(Processes::default());
    };
    let text = std::fs::read_to_string(format!("{folder}/data/postmaster.pid"))?;
    let server: u32 = text.lines().next().context("no process")?.trim().parse()?;
    let mut all = Processes { cpu: cpu_of(server)? };
    for entry in std::fs::read_dir("/proc")? {
        let Ok(process) = entry?.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // After the name in parentheses come the state and the parent.
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        if parent == Some(&server.to_string()) {
            all.cpu += cpu_of(process).unwrap_or_default();
        }
    }
    Ok(all)
}

//! A soak of several processes that share PostgreSQL, in the manner of Jepsen: real doors and workers are killed,
//! stopped beyond their leases and cut off from the database, the database crashes and recovers, and clocks jump, while
//! people ask for fixes and approve them on a double of GitHub. Afterwards the double's own records show whether anything was lost, done twice, or done without an approval.
//!
//! `cargo bench --bench fleet -- 60 24` lasts 60 seconds with 24 pull requests, and then waits until all is done.
//! The seed of the random choices is a third argument. GitHub's limits are lifted, because a real fleet has an
//! installation for each of its owners; they have tests elsewhere. Needs PostgreSQL; see `tests/it/harness/postgres.rs`. Clocks
//! jump if Debian's `libfaketime` is installed.

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the tests use the rest, and fail like this"
)]
#[path = "../tests/it/harness/postgres.rs"]
mod postgres;

use std::collections::{BTreeMap, HashSet};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use github_double::{AUTHOR, Double, Fault, MAINTAINER, NewPullRequest, World};
use rustix::process::{Pid, Signal, kill_process};
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

const SECRET: &str = "soak-webhook-secret";
const DOORS: usize = 3;
const WORKERS: usize = 6;
/// More pull requests of the repository than there are workers.
const AT_ONCE: &str = "32";
/// Time between two disturbances.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a stopped process stays stopped: longer than its leases last.
const STOPPED: Duration = Duration::from_secs(28);
/// What gives a process another clock. <https://github.com/wolfcw/libfaketime>
const FAKE_TIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// How far clocks jump, in seconds. GitHub refuses a token of an App whose clock is a minute ahead.
const JUMPS: [i64; 4] = [-3_000, -40, 20, 40];
/// Requests that fail once in a while, and how.
const FAULTY: [(&str, &str); 7] = [
    ("GET", "/pulls/"),
    ("POST", "/reviews"),
    ("POST", "/comments"),
    ("POST", "/check-runs"),
    ("PATCH", "/check-runs/"),
    ("POST", "/git/commits"),
    ("POST", "/graphql"),
];
const FAULTS: [Fault; 6] = [
    Fault::BadGatewayBefore,
    Fault::BadGatewayAfter,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::BadCredentials,
    Fault::SecondaryLimit { retry_after: 5 },
];
/// How long everything may take to calm down afterwards. Missed deliveries are looked for every three minutes.
const PATIENCE: Duration = Duration::from_secs(900);

const BUG: &str =
    "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef change(paid, stops):\n    return paid + fare(stops)\n";
const TESTS: &str = "import unittest\n\nfrom fare import change, fare\n\n\nclass Fares(unittest.TestCase):\n    def \
                     test_stops(self):\n        self.assertEqual(fare(2), 300)\n\n    def test_change(self):\n        \
                     self.assertEqual(change(500, 2), 200)\n\n    def test_more(self):\n        \
                     self.assertEqual(change(900, 4), 500)\n";

/// Xorshift, so that a run can be repeated. <https://www.jstatsoft.org/article/view/v008i14>
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap_or_default()
    }
}

/// A process of the service, which is started again when it was killed.
struct Member {
    arguments: Vec<String>,
    variables: BTreeMap<&'static str, String>,
    data: TempDir,
    child: Child,
    /// When it continues, if it is stopped.
    continues: Option<Instant>,
}

impl Member {
    fn start(arguments: &[&str], variables: &BTreeMap<&'static str, String>) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let mut variables = variables.clone();
        variables.insert("GREENLIGHT_DATA_DIR", data.path().display().to_string());
        if std::path::Path::new(FAKE_TIME).exists() {
            let clock = data.path().join("clock");
            std::fs::write(&clock, "+0")?;
            variables.insert("LD_PRELOAD", FAKE_TIME.into());
            variables.insert("FAKETIME_TIMESTAMP_FILE", clock.display().to_string());
            variables.insert("FAKETIME_CACHE_DURATION", "1".into());
            variables.insert("FAKETIME_DONT_FAKE_MONOTONIC", "1".into());
        }
        let child = spawn(&arguments, &variables)?;
        Ok(Self {
            arguments,
            variables,
            data,
            child,
            continues: None,
        })
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a process has an id")?;
        Ok(kill_process(pid, signal)?)
    }

    fn replace(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.continues = None;
        self.child = spawn(&self.arguments, &self.variables)?;
        Ok(())
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        self.continues = Some(Instant::now() + STOPPED);
        self.signal(Signal::STOP)
    }

    /// Lets the clock jump by this much, seen from the right time. Returns whether it can.
    fn jump(&self, seconds: i64) -> anyhow::Result<bool> {
        let Some(clock) = self.variables.get("FAKETIME_TIMESTAMP_FILE") else {
            return Ok(false);
        };
        std::fs::write(clock, format!("{seconds:+}"))?;
        Ok(true)
    }

    /// Starts it again if it ended, as a supervisor does: with a wrong clock, GitHub refuses it at its start.
    fn restart_if_it_ended(&mut self) -> anyhow::Result<()> {
        if self.child.try_wait()?.is_some() {
            self.child = spawn(&self.arguments, &self.variables)?;
        }
        Ok(())
    }

    fn go_on_if_due(&mut self, now: Instant) -> anyhow::Result<()> {
        if self.continues.is_some_and(|at| at <= now) {
            self.continues = None;
            self.signal(Signal::CONT)?;
        }
        Ok(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _gone = (self.child.kill(), self.child.wait());
        let _kept_until_here = &self.data;
    }
}

#[expect(clippy::disallowed_methods, reason = "the bench starts the program itself")]
fn spawn(arguments: &[String], variables: &BTreeMap<&'static str, String>) -> anyhow::Result<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenlight"));
    command.args(arguments).envs(variables);
    let log = match std::env::var_os("GREENLIGHT_SOAK_LOG") {
        Some(path) => Stdio::from(std::fs::File::options().create(true).append(true).open(path)?),
        None => Stdio::null(),
    };
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?)
}

/// Stops the server without a checkpoint, as a crash does, and starts it again.
#[expect(clippy::disallowed_methods, reason = "the server runs beside the bench")]
fn restart(url: &SecretString) -> anyhow::Result<()> {
    let (_, folder) = url.expose_secret().split_once("?host=").context("no socket")?;
    let programs = postgres::programs().context("PostgreSQL is not installed")?;
    let mut control = Command::new(programs.join("pg_ctl"));
    control.args([
        "-w",
        "-m",
        "immediate",
        "-D",
        &format!("{folder}/data"),
        "-l",
        &format!("{folder}/log"),
        "restart",
    ]);
    control.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(
        postgres::as_nobody(&mut control).status()?.success(),
        "PostgreSQL does not start again"
    );
    Ok(())
}

struct Soak {
    double: Double,
    url: SecretString,
    numbers: Vec<u64>,
    doors: Vec<(Member, String)>,
    workers: Vec<Member>,
    chance: Chance,
    disturbances: BTreeMap<&'static str, usize>,
    approved: HashSet<u64>,
}

impl Soak {
    /// `None` without PostgreSQL.
    async fn begin(pulls: usize, seed: u64) -> anyhow::Result<Option<Self>> {
        let Some(url) = postgres::new_database().await else {
            return Ok(None);
        };
        let files: [(&str, &[u8]); 2] = [("README.md", b"Fares.\n"), ("greenlight.toml", b"[triage]\nruns = 2\n")];
        let double = Double::start(World::with_repository("acme/rail", &files)).await?;
        double.limit_content(false);
        double.leave_requests(u32::MAX, 24 * 3_600);
        let key = tempfile::NamedTempFile::new()?;
        let app = double.app_credentials();
        std::fs::write(key.path(), app.private_key)?;
        let (_, key) = key.keep()?;
        let variables = BTreeMap::from([
            ("GREENLIGHT_GITHUB_API_URL", double.url()),
            ("GREENLIGHT_APP_ID", app.app_id.to_string()),
            ("GREENLIGHT_PRIVATE_KEY_FILE", key.display().to_string()),
            ("GREENLIGHT_WEBHOOK_SECRET", SECRET.to_string()),
            ("GREENLIGHT_DATABASE_URL", url.expose_secret().to_string()),
        ]);
        let mut doors = Vec::new();
        for _ in 0..DOORS {
            let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
            let arguments = [
                "serve",
                "--workers",
                "0",
                "--max-per-repository",
                AT_ONCE,
                "--listen",
                &address,
            ];
            let member = Member::start(&arguments, &variables)?;
            doors.push((member, format!("http://{address}")));
        }
        let arguments = ["worker", "--workers", "2", "--max-per-repository", AT_ONCE];
        let workers = (0..WORKERS).map(|_| Member::start(&arguments, &variables));
        let workers = workers.collect::<Result<_, _>>()?;
        let mut numbers = Vec::new();
        for nth in 0..pulls {
            let new = NewPullRequest::new(AUTHOR, &format!("change-{nth}"), "Give change")
                .write("fare.py", BUG)
                .write("test_fare.py", TESTS);
            numbers.push(double.open_pull_request(new).await?);
        }
        Ok(Some(Self {
            double,
            url,
            numbers,
            doors,
            workers,
            chance: Chance(seed | 1),
            disturbances: BTreeMap::new(),
            approved: HashSet::new(),
        }))
    }

    /// Sends webhooks to a door that answers, as a load balancer does.
    async fn balance(&mut self) {
        let first = self.chance.below(DOORS);
        for at in (0..DOORS).map(|at| (first + at) % DOORS) {
            let url = &self.doors[at].1;
            let ready = reqwest::Client::new().get(format!("{url}/readyz"));
            let ready = ready.timeout(Duration::from_secs(1)).send().await;
            if ready.is_ok_and(|answer| answer.status().is_success()) {
                self.double.set_webhook(&format!("{url}/webhook"), SECRET);
                return;
            }
        }
    }

    async fn disturb(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        for member in self
            .workers
            .iter_mut()
            .chain(self.doors.iter_mut().map(|(door, _)| door))
        {
            member.go_on_if_due(now)?;
            member.restart_if_it_ended()?;
        }
        let (door, worker) = (self.chance.below(DOORS), self.chance.below(WORKERS));
        let what = match self.chance.below(11) {
            0 | 1 => {
                self.workers[worker].replace()?;
                "workers killed"
            }
            2 => {
                self.doors[door].0.replace()?;
                "doors killed"
            }
            3 | 4 => {
                self.workers[worker].stop()?;
                "workers stopped beyond their leases"
            }
            5 => {
                restart(&self.url)?;
                "crashes of PostgreSQL"
            }
            6 | 7 => {
                let seconds = JUMPS[self.chance.below(JUMPS.len())];
                match self.workers[worker].jump(seconds)? && self.doors[door].0.jump(seconds)? {
                    true => "jumps of clocks",
                    false => "jumps of clocks that need libfaketime",
                }
            }
            8 | 9 => {
                let (method, path) = FAULTY[self.chance.below(FAULTY.len())];
                self.double
                    .plan_fault(method, path, FAULTS[self.chance.below(FAULTS.len())]);
                "faults of GitHub"
            }
            _ => {
                let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \
                           datname = current_database()";
                postgres::execute(&self.url, all).await;
                "times all connections cut"
            }
        };
        *self.disturbances.entry(what).or_default() += 1;
        Ok(())
    }

    /// Approves what asks for it, once each, and with the command that the comment names: clocks may differ by more than
    /// the time between the request and the answer.
    async fn approve(&mut self) -> anyhow::Result<()> {
        let waiting: Vec<u64> = self
            .numbers
            .iter()
            .copied()
            .filter(|number| !self.approved.contains(number))
            .collect();
        for number in waiting {
            let comments = self.double.comments(number);
            let mut ours = comments.iter().filter(|comment| comment.author.ends_with("[bot]"));
            let asks = ours.find_map(|comment| {
                let (_, rest) = comment.body.split_once("`/greenlight approve g")?;
                Some(format!("/greenlight approve g{}", rest.split_once('`')?.0))
            });
            if let Some(command) = asks {
                self.approved.insert(number);
                self.double.comment(number, MAINTAINER, &command).await?;
            }
        }
        Ok(())
    }

    fn landed(&self) -> usize {
        let has_landed = |number: &&u64| self.double.commits(**number).is_ok_and(|commits| commits.len() > 1);
        self.numbers.iter().filter(has_landed).count()
    }

    /// What was lost, done twice, or done without an approval, by the records of the double.
    fn check(&self) -> anyhow::Result<()> {
        for &number in &self.numbers {
            let commits = self.double.commits(number)?;
            ensure!(
                commits.len() == 2,
                "#{number} has {} commits instead of 2",
                commits.len()
            );
            ensure!(self.approved.contains(&number), "#{number} landed without an approval");
            let reviews = self.double.reviews(number).len();
            ensure!(reviews == 1, "#{number} has {reviews} reviews");
            for commit in commits {
                let mut names = HashSet::new();
                for run in self.double.check_runs(&commit.sha) {
                    ensure!(
                        names.insert(run.name.clone()),
                        "#{number} has two check runs {}",
                        run.name
                    );
                }
            }
            let comments = self.double.comments(number);
            let ours = comments.iter().filter(|comment| comment.author.ends_with("[bot]"));
            let sticky = ours
                .filter(|comment| comment.body.contains("greenlight:sticky"))
                .count();
            ensure!(sticky == 1, "#{number} has {sticky} status comments");
        }
        let violations = self.double.violations();
        ensure!(violations.is_empty(), "{violations:?}");
        Ok(())
    }

    /// Waits until every delivery that was accepted is worked off.
    async fn work_off(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut tick = tokio::time::interval(Duration::from_millis(500));
        loop {
            tick.tick().await;
            let left = postgres::count(&self.url, "SELECT count(*) FROM delivery WHERE done = 0").await;
            if left == 0 {
                return Ok(());
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "{left} deliveries were accepted and not worked off"
            );
        }
    }

    #[expect(clippy::print_stdout, reason = "the result of the bench")]
    fn print(&self, during: usize, took: Duration, seed: u64) {
        println!("| | |\n|---|---|");
        println!(
            "| pull requests fixed, approved and landed once | {} |",
            self.numbers.len()
        );
        println!("| of them during the disturbances | {during} |");
        for (what, times) in &self.disturbances {
            println!("| {what} | {times} |");
        }
        println!("| seconds until all was done | {:.0} |", took.as_secs_f64());
        println!("| seed | {seed} |");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let length = Duration::from_secs(numbers.next().unwrap_or(60));
    let pulls = usize::try_from(numbers.next().unwrap_or(24))?;
    let seed = numbers.next().unwrap_or(20_261_126);
    let Some(mut soak) = Soak::begin(pulls, seed).await? else {
        return Ok(());
    };
    let began = Instant::now();
    let mut asked = soak.numbers.clone().into_iter();
    let each = length.div_f64(1.5 * pulls.max(1) as f64);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let (mut next_ask, mut next_disturbance) = (Instant::now(), Instant::now() + PAUSE);
    while began.elapsed() < length {
        tick.tick().await;
        if Instant::now() >= next_ask
            && let Some(number) = asked.next()
        {
            next_ask += each;
            soak.balance().await;
            soak.double.comment(number, MAINTAINER, "/greenlight fix").await?;
        }
        if Instant::now() >= next_disturbance {
            next_disturbance += PAUSE;
            soak.disturb().await?;
        }
        soak.approve().await?;
    }
    let during = soak.landed();
    for member in soak
        .workers
        .iter_mut()
        .chain(soak.doors.iter_mut().map(|(door, _)| door))
    {
        member.jump(0)?;
        member.replace()?;
    }
    for number in asked {
        soak.double.comment(number, MAINTAINER, "/greenlight fix").await?;
    }
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    while soak.landed() < pulls && began.elapsed() < length + PATIENCE {
        tick.tick().await;
        soak.balance().await;
        soak.approve().await?;
    }
    soak.work_off().await?;
    soak.check()?;
    soak.print(during, began.elapsed(), seed);
    Ok(())
}

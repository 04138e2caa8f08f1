//! A soak of several processes that share PostgreSQL, in the manner of Jepsen: real doors and workers are killed,
//! stopped beyond their leases and cut off from the database, the database crashes and recovers, and clocks jump, while
//! people ask for fixes and approve them on a double of GitHub, some of whose answers fail. Afterwards the double's own
//! records show whether anything was lost, done twice, or done without an approval.
//!
//! `cargo bench --bench fleet -- 60 24` lasts 60 seconds with 24 pull requests, and then waits until all is done.
//! The seed of the random choices is a third argument. GitHub's limits are lifted, because a real fleet has an
//! installation for each of its owners; they have tests elsewhere. Needs PostgreSQL; see
//! `tests/it/harness/postgres.rs`. Clocks jump if Debian's `libfaketime` is installed.

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the tests use the rest, and fail like this"
)]
#[path = "../tests/it/harness/postgres.rs"]
mod postgres;

#[path = "fleet/checks.rs"]
mod checks;
#[path = "fleet/disturbances.rs"]
mod disturbances;
#[path = "fleet/member.rs"]
mod member;

use std::collections::{BTreeMap, HashSet};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::ensure;
use disturbances::Chance;
use github_double::{AUTHOR, Double, MAINTAINER, NewPullRequest, World};
use member::Member;
use secrecy::{ExposeSecret as _, SecretString};

const SECRET: &str = "soak-webhook-secret";
const DOORS: usize = 3;
const WORKERS: usize = 6;
/// More pull requests of the repository than there are workers.
const AT_ONCE: &str = "32";
/// Time between two disturbances.
const PAUSE: Duration = Duration::from_secs(2);
/// How long everything may take to calm down afterwards. Missed deliveries are looked for every three minutes.
const PATIENCE: Duration = Duration::from_secs(900);

const BUG: &str =
    "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef change(paid, stops):\n    return paid + fare(stops)\n";
const TESTS: &str = "import unittest\n\nfrom fare import change, fare\n\n\nclass Fares(unittest.TestCase):\n    def \
                     test_stops(self):\n        self.assertEqual(fare(2), 300)\n\n    def test_change(self):\n        \
                     self.assertEqual(change(500, 2), 200)\n\n    def test_more(self):\n        \
                     self.assertEqual(change(900, 4), 500)\n";

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
            // The double answers on this thread, too.
            tokio::task::yield_now().await;
            let comments = self.double.comments(number);
            let mut ours = comments.iter().filter(|comment| comment.author.ends_with("[bot]"));
            let asks = ours.find_map(|comment| {
                let (_, rest) = comment.body.split_once("`/greenlight approve g")?;
                Some(format!("/greenlight approve g{}", rest.split_once('`')?.0))
            });
            if let Some(command) = asks {
                ensure!(
                    self.double.commits(number)?.len() == 1,
                    "#{number} landed before its approval"
                );
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

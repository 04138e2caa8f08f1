//! A real PostgreSQL server for this test process, started as an ordinary user on a Unix socket, and stopped when the
//! process ends, however it ends.

#![expect(
    clippy::disallowed_methods,
    reason = "the server runs beside the tests, not in a sandbox"
)]

use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

/// How long PostgreSQL may take to start, in seconds. `pg_ctl` gives up after 60 by default, and CI's machine is busy.
pub(crate) const START_SECONDS: &str = "300";

/// Set where PostgreSQL must be there: a test that needs it fails otherwise.
const REQUIRED: &str = "GREENLIGHT_TEST_POSTGRES";
/// The folder of another server's programs, such as that of the newest version.
const PROGRAMS: &str = "GREENLIGHT_TEST_POSTGRES_PROGRAMS";
/// An account without rights, for the server, which refuses to run as root.
const NOBODY: u32 = 65534;

/// The server. Its folder is removed by the process that watches over it.
struct Server {
    folder: PathBuf,
    databases: AtomicUsize,
}

static SERVER: OnceLock<Option<Server>> = OnceLock::new();

/// The URL of a new, empty database. `None` if PostgreSQL is not installed, which is said once.
pub(crate) async fn new_database() -> Option<SecretString> {
    let server = SERVER.get_or_init(start).as_ref()?;
    let name = format!("story{}", server.databases.fetch_add(1, Ordering::Relaxed));
    let mut connection = PgConnection::connect(&server.url("postgres")).await.unwrap();
    let create = format!("CREATE DATABASE {name}");
    sqlx::query(sqlx::AssertSqlSafe(create))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    Some(server.url(&name).into())
}

/// Executes a statement in a database.
pub(crate) async fn execute(url: &SecretString, statement: &'static str) {
    let mut connection = PgConnection::connect(url.expose_secret()).await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The number that a query returns.
pub(crate) async fn count(url: &SecretString, query: &'static str) -> i64 {
    let mut connection = PgConnection::connect(url.expose_secret()).await.unwrap();
    let number = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    number
}

/// Ends all leases, as if the time of processes that were killed had passed.
pub(crate) async fn let_leases_end(url: &SecretString) {
    let mut connection = PgConnection::connect(url.expose_secret()).await.unwrap();
    // A new database has no tables yet.
    let _none = sqlx::query("UPDATE lane SET until = now()")
        .execute(&mut connection)
        .await;
    connection.close().await.unwrap();
}

/// Every row of every table that contains this text.
pub(crate) async fn rows_with(url: &SecretString, text: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(url.expose_secret()).await.unwrap();
    let mut found = Vec::new();
    for table in [
        "delivery",
        "run",
        "step",
        "repository",
        "mark",
        "push",
        "arrival",
        "lane",
        "work",
        "turn",
        "interrupt",
        "said",
    ] {
        let select = format!("SELECT row::text FROM {table} AS row WHERE strpos(row::text, $1) > 0");
        let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(select))
            .bind(text)
            .fetch_all(&mut connection)
            .await;
        found.extend::<Vec<String>>(rows.unwrap());
    }
    connection.close().await.unwrap();
    found
}

impl Server {
    fn url(&self, database: &str) -> String {
        format!(
            "postgres://greenlight@localhost/{database}?host={}",
            self.folder.display()
        )
    }
}

/// The folder of the server's programs: the one that was named, or else the newest of Debian's packages.
pub(crate) fn programs() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS) {
        return Some(named.into());
    }
    let folders = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = folders.flatten().map(|entry| entry.path().join("bin"));
    let mut found: Vec<PathBuf> = folders.filter(|folder| folder.join("initdb").exists()).collect();
    found.sort();
    found.pop()
}

fn start() -> Option<Server> {
    let Some(programs) = programs() else {
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "{REQUIRED} is set, but PostgreSQL is not installed"
        );
        let line = "UNAVAILABLE here, and not tested: PostgreSQL (install the Debian package `postgresql`)\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    };
    // The path of a socket has at most 107 bytes.
    let folder = TempDir::with_prefix_in("pg", "/tmp").unwrap().keep();
    if rustix::process::geteuid().is_root() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let data = folder.join("data");
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args([
        "-U",
        "greenlight",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
        "-D",
    ]);
    let made = as_nobody(&mut initdb).arg(&data).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let options = format!(
        "-k {} -c listen_addresses= -c fsync=off -c max_connections=200",
        folder.display()
    );
    let mut control = Command::new(programs.join("pg_ctl"));
    control
        .args(["-w", "-t", START_SECONDS, "-o", &options, "-D"])
        .arg(&data)
        .arg("-l")
        .arg(folder.join("log"))
        .arg("start");
    control.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(
        as_nobody(&mut control).status().unwrap().success(),
        "PostgreSQL does not start: {}",
        std::fs::read_to_string(folder.join("log")).unwrap_or_default()
    );
    stop_at_the_end(&programs, (&folder, &data));
    let databases = AtomicUsize::new(0);
    Some(Server { folder, databases })
}

/// Starts a shell that stops the server when this process is gone: the shell's standard input ends then.
fn stop_at_the_end(programs: &Path, (folder, data): (&Path, &Path)) {
    let script = "read -r _; \"$1/pg_ctl\" -D \"$2\" -m immediate stop; rm -rf \"$3\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(programs).arg(data).arg(folder);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C goes to the group of the tests, and must not stop the shell first.
    shell.process_group(0);
    let mut child = as_nobody(&mut shell).spawn().unwrap();
    // Kept open until the process ends.
    std::mem::forget(child.stdin.take());
    std::thread::spawn(move || child.wait());
}

/// The same command, as an account without rights if this is root.
pub(crate) fn as_nobody(command: &mut Command) -> &mut Command {
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    }
    command
}

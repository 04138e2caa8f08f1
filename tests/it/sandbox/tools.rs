//! Ordinary work inside the sandbox, which must keep working.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use greenlight::sandbox::{Network, Outcome};

use super::{Lab, PATIENCE};

super::each_backend! {
    cargo_test_runs_offline,
    python_tests_run,
    python_programs_find_what_they_need,
    node_tests_run,
    go_is_found_and_stays_offline,
    a_command_starts_where_it_should,
    the_exit_code_is_that_of_the_command,
    what_cannot_start_says_why,
}

/// Fails with the output of the command.
#[track_caller]
fn expect_success(output: &greenlight::sandbox::Output, text: &str) {
    let all = format!("{}{}", output.stdout.text(), output.stderr.text());
    assert!(
        output.outcome == Outcome::Exited(0) && all.contains(text),
        "{:?}: {all}",
        output.outcome
    );
}

impl Lab {
    /// The directory that contains this program, if the command's user cannot enter it: root runs commands as another
    /// user, who cannot pass through root's home without mounts.
    fn closed_directory_of(&self, program: &str) -> Option<String> {
        let directory = self
            .sandbox
            .search_path()
            .split(':')
            .find(|directory| Path::new(directory).join(program).exists())?;
        let is_closed = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 1 == 0;
        let is_lent = self.is_landlock() && rustix::process::geteuid().is_root();
        (is_lent && Path::new(directory).ancestors().any(is_closed)).then(|| directory.to_owned())
    }
}

async fn cargo_test_runs_offline(lab: Lab) {
    let lab = lab
        .network(Network::Loopback)
        .limit(|limits| (limits.memory, limits.wall) = (1 << 30, 5 * PATIENCE));
    lab.file(
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    lab.file(
        "src/lib.rs",
        "pub fn two() -> u32 { 2 }\n\n#[test]\nfn it_is_two() { assert_eq!(two(), 2); }\n",
    );
    let output = lab.exec(&lab.command(["cargo", "test"])).await;
    if let Some(closed) = lab.closed_directory_of("cargo") {
        let Outcome::DidNotStart(reason) = output.outcome else {
            panic!("{output:?}")
        };
        for text in ["start cargo", &closed, "install the tools where everyone may pass"] {
            assert!(reason.contains(text), "{text}: {reason}");
        }
        return;
    }
    expect_success(&output, "1 passed");
    // Run it again with the build of the first run.
    expect_success(&lab.exec(&lab.command(["cargo", "test", "--quiet"])).await, "1 passed");
}

async fn python_tests_run(lab: Lab) {
    let lab = lab.network(Network::Loopback);
    lab.file(
        "test_sample.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1 + 1, 2)\n",
    );
    expect_success(&lab.exec(&lab.command(["python3", "-m", "unittest", "-v"])).await, "OK");
}

async fn python_programs_find_what_they_need(lab: Lab) {
    if lab.is_landlock() {
        return python_programs_find_what_there_is(lab).await;
    }
    let script = "
import asyncio, concurrent.futures, multiprocessing, multiprocessing.shared_memory, pty, sqlite3, ssl, tempfile, getpass, venv
async def serve():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b''
asyncio.run(serve())
def square(x):
    return x * x
with multiprocessing.Pool(4) as pool:
    assert pool.map(square, range(10))[3] == 9
multiprocessing.shared_memory.SharedMemory(create=True, size=4096).unlink()
assert getpass.getuser() == 'sandbox' and os.path.expanduser('~') == os.environ['HOME']
assert socket.gethostbyname('localhost') == '127.0.0.1'
ssl.create_default_context()
with tempfile.TemporaryDirectory() as directory:
    sqlite3.connect(directory + '/db').execute('create table t (x)')
pty.spawn(['true'])
assert subprocess.run(['sh', '-c', 'echo $0 | cat'], capture_output=True, text=True).stdout == 'sh\\n'
assert len(os.urandom(8)) == 8 and open('/dev/stdin').read() == ''
";
    lab.network(Network::Loopback).attack(script).await;
}

/// The same without sockets, shared memory (which Python's pools use for locks) and terminals. Missing features are
/// rejected at once.
async fn python_programs_find_what_there_is(lab: Lab) {
    let script = "
import asyncio, concurrent.futures, multiprocessing, multiprocessing.shared_memory, pty, sqlite3, ssl, tempfile, getpass, venv
async def talk():
    process = await asyncio.create_subprocess_exec('echo', 'hello', stdout=subprocess.PIPE)
    assert (await process.communicate())[0] == b'hello\\n'
    return await asyncio.to_thread(lambda: 7)
assert asyncio.run(talk()) == 7
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert list(pool.map(lambda x: x * x, range(10)))[3] == 9
ours, theirs = multiprocessing.Pipe()
child = multiprocessing.Process(target=lambda: theirs.send('hello'))
child.start()
assert ours.recv() == 'hello'
child.join()
assert getpass.getuser() == 'sandbox', getpass.getuser()
assert os.path.expanduser('~') == os.environ['HOME']
ssl.create_default_context()
with tempfile.TemporaryDirectory() as directory:
    sqlite3.connect(directory + '/db').execute('create table t (x)')
assert subprocess.run(['sh', '-c', 'echo $0 | cat'], capture_output=True, text=True).stdout == 'sh\\n'
assert len(os.urandom(8)) == 8 and sys.stdin.read() == ''
refused('server', lambda: socket.create_server(('127.0.0.1', 0)), errno.EPERM)
refused('pool', lambda: multiprocessing.Pool(4), errno.EACCES)
refused('shared memory', lambda: multiprocessing.shared_memory.SharedMemory(create=True, size=4096), errno.EACCES)
refused('terminal', pty.openpty)
";
    lab.network(Network::Loopback).attack(script).await;
}

async fn node_tests_run(lab: Lab) {
    let lab = lab.network(Network::Loopback);
    lab.file(
        "sample.test.js",
        "require('node:test')('it', () => require('node:assert').strictEqual(1 + 1, 2));\n",
    );
    expect_success(&lab.exec(&lab.command(["node", "--test"])).await, "pass 1");
}

/// Building anything would compile Go's standard library first, because its cache is empty: minutes on a small
/// machine.
async fn go_is_found_and_stays_offline(lab: Lab) {
    let lab = lab.network(Network::Loopback);
    lab.file("go.mod", "module sample\n\ngo 1.20\n");
    lab.file("sample.go", "package sample\n");
    expect_success(
        &lab.sh("test -z \"$(gofmt -l .)\" && go list ./... && go env GOPROXY")
            .await,
        "sample\noff\n",
    );
}

async fn a_command_starts_where_it_should(lab: Lab) {
    lab.file("a/b/file", "content");
    let mut command = lab.command(["sh", "-c", "pwd; cat file"]);
    command.cwd = Path::new("a/b").into();
    let expected = format!("{}/a/b\ncontent", lab.inside().display());
    assert_eq!(lab.exec(&command).await.stdout.text(), expected);
}

async fn the_exit_code_is_that_of_the_command(lab: Lab) {
    for (script, outcome) in [
        ("exit 0", Outcome::Exited(0)),
        ("exit 1", Outcome::Exited(1)),
        ("exit 125", Outcome::Exited(125)),
        ("exit 255", Outcome::Exited(255)),
        ("kill -TERM $$", Outcome::Signalled(15)),
        ("kill -KILL $$", Outcome::Signalled(9)),
    ] {
        assert_eq!(lab.sh(script).await.outcome, outcome, "{script}");
    }
}

async fn what_cannot_start_says_why(lab: Lab) {
    lab.file("not_executable", "");
    for (argv, text) in [
        ("no-such-program", "no-such-program"),
        ("./not_executable", "Permission denied"),
        ("./missing", "No such file"),
    ] {
        let Outcome::DidNotStart(reason) = lab.exec(&lab.command([argv])).await.outcome else {
            panic!("{argv} started")
        };
        assert!(reason.contains(text), "{argv}: {reason}");
    }
    let mut command = lab.command(["true"]);
    command.workspace = "/no/such/workspace".into();
    let Outcome::DidNotStart(reason) = lab.exec(&command).await.outcome else {
        panic!("it started")
    };
    assert!(reason.contains("workspace"), "{reason}");
}

//! Sessions: ordinary use, and attacks by hostile code on the driver, its pipes, and greenlight's patience.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use futures::future::join_all;
use greenlight::sandbox::{Cell, CellOutcome, Language, LostReason, Session, SessionPaths};
use tokio_util::sync::CancellationToken;

use super::{Alive, Lab, PATIENCE, SLOW_START};

/// A short time limit for code that never ends.
const MOMENT: Duration = Duration::from_millis(300);

super::each_backend! {
    state_persists,
    a_value_is_shown,
    an_error_is_shown_with_its_line,
    output_belongs_to_its_execution,
    output_of_the_background_belongs_to_the_next_execution,
    awaiting_works_outside_of_functions,
    ordinary_programs_work,
    modules_of_the_workspace_are_found,
    a_failing_command_does_not_end_bash,
    an_interrupt_keeps_the_state,
    a_swallowed_interrupt_is_an_interrupt,
    the_stuck_are_killed_and_that_is_said_once,
    an_exit_is_reported,
    what_is_too_long_is_shortened_or_refused,
    a_flood_of_output_is_bounded,
    output_need_not_be_text,
    a_memory_bomb_loses_the_state,
    forged_answers_are_ignored,
    a_flood_of_answers_ends_the_session,
    an_answer_without_end_ends_the_session,
    an_answer_given_twice_counts_once,
    closed_pipes_end_the_session,
    a_killed_driver_is_noticed,
    a_fork_answers_nothing,
    an_interpreter_that_ignores_its_pipes_is_given_up,
    an_interpreter_that_cannot_start_says_so,
    a_cancellation_loses_the_state,
    dropping_an_execution_loses_the_state,
    dropping_a_session_ends_it,
    an_idle_session_ends,
    the_time_of_a_session_is_bounded,
    restarts_are_bounded,
    two_sessions_do_not_meet,
    nothing_of_the_host_is_seen,
    what_a_session_took_is_known,
}

async fn open(lab: &Lab, language: Language) -> Session {
    open_at(lab, language, &SessionPaths::new(lab.path())).await
}

async fn open_at(lab: &Lab, language: Language, place: &SessionPaths) -> Session {
    lab.sandbox.session(language, place, &lab.policy).await.unwrap()
}

async fn run(session: &mut Session, code: &str) -> Cell {
    within(session, code, PATIENCE).await
}

async fn within(session: &mut Session, code: &str, limit: Duration) -> Cell {
    session.execute(code, limit, &CancellationToken::new()).await.unwrap()
}

/// Executes code that succeeds, and returns its value.
#[track_caller]
fn value(session: &mut Session, code: &str) -> impl Future<Output = String> {
    let caller = std::panic::Location::caller();
    async move {
        let cell = run(session, code).await;
        assert_eq!(cell.outcome, CellOutcome::Ok, "{caller}: {code}: {cell:?}");
        cell.value
    }
}

/// Executes code that loses its interpreter, and returns the reason.
#[track_caller]
fn loss(session: &mut Session, code: &str, limit: Duration) -> impl Future<Output = LostReason> {
    let caller = std::panic::Location::caller();
    async move {
        match within(session, code, limit).await {
            Cell {
                outcome: CellOutcome::StateLost(why),
                ..
            } => why,
            cell => panic!("{caller}: {code}: {cell:?}"),
        }
    }
}

async fn state_persists(lab: Lab) {
    let mut python = open(&lab, Language::Python).await;
    assert_eq!(
        value(&mut python, "x = 20\ndef double(n):\n    return 2 * n\n").await,
        ""
    );
    assert_eq!(value(&mut python, "import os\ndouble(x) + 2").await, "42");
    let mut node = open(&lab, Language::Node).await;
    assert_eq!(
        value(
            &mut node,
            "const x = 20; let y = 1; function double(n) { return 2 * n }"
        )
        .await,
        ""
    );
    assert_eq!(value(&mut node, "y += 1; double(x) + y").await, "42");
    let mut bash = open(&lab, Language::Bash).await;
    run(
        &mut bash,
        "x=20; declare -a list=(a 'b c'); double() { echo $((2 * $1)); }; mkdir d; cd d",
    )
    .await;
    let cell = run(&mut bash, "double $x; echo ${#list[@]} \"${list[1]}\" ${PWD##*/}").await;
    assert_eq!(cell.stdout.text(), "40\n2 b c d\n");
}

async fn a_value_is_shown(lab: Lab) {
    for (language, cases) in [
        (
            Language::Python,
            &[
                ("'ä\\ud800'", "'ä\\ud800'"),
                ("x = 1", ""),
                ("None", ""),
                ("", ""),
                ("# nothing", ""),
                ("for i in range(3):\n    i", ""),
                ("class Odd:\n    def __repr__(self): return '\\ud800'\nOdd()", "\\ud800"),
                ("__name__", "'__main__'"),
            ][..],
        ),
        (
            Language::Node,
            &[
                ("[1, {a: 'ä'}]", "[ 1, { a: 'ä' } ]"),
                ("{a: 1}", "{ a: 1 }"),
                ("{ let a = 1; a + 1 }", "2"),
                ("undefined", ""),
                ("", ""),
                ("if (true) { 7 }", "7"),
                ("typeof require('node:fs').readFileSync", "'function'"),
            ],
        ),
        (
            Language::Bash,
            &[
                ("true", "0"),
                ("", "0"),
                ("echo ä 'a\\nb' \\\\ \"%s\"\n# nothing", "0"),
                ("return", "0"),
            ],
        ),
    ] {
        let mut session = open(&lab, language).await;
        for (code, expected) in cases {
            assert_eq!(value(&mut session, code).await, *expected, "{language:?}: {code}");
        }
    }
}

async fn an_error_is_shown_with_its_line(lab: Lab) {
    for (language, code, texts) in [
        (
            Language::Python,
            "def fail():\n    raise ValueError('no')  # here\nfail()",
            &["<cell 1>", "# here", "ValueError: no"][..],
        ),
        (Language::Python, "x = (1\ny y", &["<cell 1>", "SyntaxError"]),
        (Language::Python, "raise BaseException('odd')", &["BaseException: odd"]),
        (
            Language::Python,
            "class E(Exception):\n    def __str__(self): raise E\nraise E",
            &["E: <exception str() failed>"],
        ),
        (
            Language::Node,
            "function fail() {\n  throw new TypeError('no');\n}\nfail()",
            &["TypeError: no", "<cell 1>:2"],
        ),
        (Language::Node, "let let = 1 1", &["<cell 1>", "SyntaxError"]),
        (Language::Node, "throw 'text'", &["text"]),
        (Language::Bash, "(exit 3)", &["3"]),
        (Language::Bash, "if then", &[]),
        (Language::Bash, "no-such-program", &["127"]),
        (Language::Bash, "return 4", &["4"]),
    ] {
        let mut session = open(&lab, language).await;
        let cell = run(&mut session, code).await;
        assert_eq!(cell.outcome, CellOutcome::Error, "{code}: {cell:?}");
        for text in texts {
            assert!(cell.value.contains(text), "{code}: {text}: {}", cell.value);
        }
        assert!(!cell.value.contains("driver"), "{code}: {}", cell.value);
        run(&mut session, "1").await;
    }
}

async fn output_belongs_to_its_execution(lab: Lab) {
    for (language, code) in [
        (
            Language::Python,
            "import sys, os\nprint('NUMBER')\nprint('oops', file=sys.stderr)\n_ = os.system('echo child')",
        ),
        (
            Language::Node,
            "console.log('NUMBER'); console.error('oops'); require('child_process').execSync('echo child', {stdio: 'inherit'}); 1",
        ),
        (Language::Bash, "echo NUMBER; echo oops >&2; sh -c 'echo child'"),
    ] {
        let mut session = open(&lab, language).await;
        for number in 0..20 {
            let cell = run(&mut session, &code.replace("NUMBER", &number.to_string())).await;
            assert_eq!(
                (cell.outcome, cell.stdout.text(), cell.stderr.text()),
                (CellOutcome::Ok, format!("{number}\nchild\n"), "oops\n".into()),
                "{language:?}: {}",
                cell.value
            );
        }
    }
}

async fn output_of_the_background_belongs_to_the_next_execution(lab: Lab) {
    let mut session = open(&lab, Language::Python).await;
    let code = "
import os, threading
asked, said = threading.Event(), threading.Event()
def later():
    asked.wait()
    print('later')
    said.set()
threading.Thread(target=later, daemon=True).start()
print('now')";
    assert_eq!(run(&mut session, code).await.stdout.text(), "now\n");
    let cell = run(&mut session, "asked.set(); said.wait()").await;
    assert_eq!((cell.stdout.text(), cell.value), ("later\n".into(), "True".into()));
}

async fn awaiting_works_outside_of_functions(lab: Lab) {
    let mut python = open(&lab, Language::Python).await;
    let code = "import asyncio\nasync def seven():\n    await asyncio.sleep(0)\n    return 7\nx = await seven()\nx + 1";
    assert_eq!(value(&mut python, code).await, "8");
    assert_eq!(value(&mut python, "asyncio.run(seven())").await, "7");
    assert_eq!(value(&mut python, "await seven() + x").await, "14");
    let mut node = open(&lab, Language::Node).await;
    assert_eq!(value(&mut node, "const x = await Promise.resolve(7); x + 1").await, "8");
    assert_eq!(value(&mut node, "x + (await import('node:path')).sep").await, "'7/'");
    let cell = run(&mut node, "await Promise.reject(new Error('no'))").await;
    assert!(
        cell.outcome == CellOutcome::Error && cell.value.contains("Error: no"),
        "{cell:?}"
    );
}

async fn ordinary_programs_work(lab: Lab) {
    let mut python = open(&lab, Language::Python).await;
    // A process pool needs shared memory for its locks.
    let pool = if lab.is_landlock() { "Thread" } else { "Process" };
    let code = "
import sys, pickle, concurrent.futures, dataclasses
@dataclasses.dataclass
class Point:
    x: int
def square(n):
    return n * n
if __name__ == '__main__':
    with concurrent.futures.POOLPoolExecutor(2) as pool:
        squares = list(pool.map(square, range(4)))
(squares, pickle.loads(pickle.dumps(Point(1))), sys.argv, sys.stdin.read())";
    let code = code.replace("POOL", pool);
    assert_eq!(value(&mut python, &code).await, "([0, 1, 4, 9], Point(x=1), [''], '')");
    let mut bash = open(&lab, Language::Bash).await;
    let code = "cat; read x; while read -r line; do echo \"<$line>\"; done <<'END'\n\\a b\nEND\n(sleep 1000 &) ; echo $((1 << 3)) | cat";
    assert_eq!(run(&mut bash, code).await.stdout.text(), "<\\a b>\n8\n");
}

async fn modules_of_the_workspace_are_found(lab: Lab) {
    lab.file("sub/mine.py", "seven = 7");
    lab.file("sub/mine.js", "exports.seven = 7");
    let place = SessionPaths {
        cwd: "sub".into(),
        ..SessionPaths::new(lab.path())
    };
    let mut python = open_at(&lab, Language::Python, &place).await;
    assert_eq!(value(&mut python, "import mine\nmine.seven").await, "7");
    let mut node = open_at(&lab, Language::Node, &place).await;
    assert_eq!(value(&mut node, "require('./mine').seven").await, "7");
}

async fn a_failing_command_does_not_end_bash(lab: Lab) {
    let mut bash = open(&lab, Language::Bash).await;
    for code in [
        "set -e; false",
        "set -x; false",
        "IFS=0123; false",
        "break 1; false",
        "read() { :; }; printf() { :; }; source() { :; }; echo() { :; }; false",
        "trap 'echo debug' DEBUG; trap - INT; false",
        "exec 3<&- 4>&-; false",
    ] {
        let cell = run(&mut bash, code).await;
        assert_eq!((cell.outcome, cell.value), (CellOutcome::Error, "1".into()), "{code}");
    }
    let cell = run(&mut bash, "unset -f echo; echo fine").await;
    assert_eq!(
        (cell.stdout.text(), cell.stderr.text()),
        ("fine\n".into(), String::new())
    );
}

async fn an_interrupt_keeps_the_state(lab: Lab) {
    for (language, keep, stuck, show, kept) in [
        (
            Language::Python,
            // A module whose loading is interrupted stays half loaded.
            "import asyncio, subprocess, time; x = 7",
            &[
                "while True: pass",
                "import time; time.sleep(1000)",
                "import asyncio\nawait asyncio.sleep(1000)",
                "await asyncio.Future()",
                "import subprocess; subprocess.run(['sleep', '1000'])",
                "class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()",
            ][..],
            "x",
            "7",
        ),
        (
            Language::Node,
            "const x = 7",
            &[
                "while (true) {}",
                "await new Promise(() => {})",
                "require('child_process').spawnSync('sleep', ['1000']); while (true) {}",
            ],
            "x",
            "7",
        ),
        (
            Language::Bash,
            "x=7; f() { while :; do :; done; }",
            &[
                "sleep 1000; echo not reached",
                "while :; do f; done; echo not reached",
                "while :; do sleep 1000; done; echo not reached",
                "y=$(sleep 1000); echo not reached",
                "sleep 1000 | cat; echo not reached",
                "sleep 1000 & wait; echo not reached",
            ],
            "[[ $x == 7 ]]",
            "0",
        ),
    ] {
        let mut session = open(&lab, language).await;
        value(&mut session, keep).await;
        for code in stuck {
            let cell = within(&mut session, code, MOMENT).await;
            assert_eq!(cell.outcome, CellOutcome::Interrupted, "{language:?}: {code}: {cell:?}");
            assert_eq!(cell.stdout.text(), "", "{code}");
        }
        assert_eq!(value(&mut session, show).await, kept);
    }
}

async fn a_swallowed_interrupt_is_an_interrupt(lab: Lab) {
    let mut session = open(&lab, Language::Python).await;
    let code = "import time\ntry: time.sleep(1000)\nexcept KeyboardInterrupt: x = 7";
    assert_eq!(
        within(&mut session, code, MOMENT).await.outcome,
        CellOutcome::Interrupted
    );
    assert_eq!(value(&mut session, "x").await, "7");
}

async fn the_stuck_are_killed_and_that_is_said_once(lab: Lab) {
    // At the same time: each is given some seconds to obey.
    join_all(
        [
            (
                Language::Python,
                "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('seen')\nwhile True: pass",
            ),
            (
                Language::Python,
                "import time; print('seen')\nwhile True:\n    try: time.sleep(1000)\n    except BaseException: pass",
            ),
            (
                Language::Node,
                "console.log('seen'); setTimeout(() => { while (true) {} }); await new Promise(() => {})",
            ),
            (Language::Bash, "trap '' INT; echo seen; while :; do :; done"),
            (Language::Bash, "echo seen; kill -STOP $$"),
        ]
        .map(async |(language, stuck)| {
            let mut session = open(&lab, language).await;
            let mut limit = MOMENT;
            let mut cell = within(&mut session, stuck, limit).await;
            // On a busy machine, it may not be stuck yet.
            while cell.outcome == CellOutcome::Interrupted && limit < 100 * MOMENT {
                limit *= 2;
                cell = within(&mut session, stuck, limit).await;
            }
            assert_eq!(
                (cell.outcome, cell.stdout.text()),
                (CellOutcome::StateLost(LostReason::TimedOut), "seen\n".into()),
                "{stuck}"
            );
            let cell = run(&mut session, "1").await;
            assert_eq!(cell.restarted, Some(LostReason::TimedOut));
            assert_eq!(run(&mut session, "1").await.restarted, None);
        }),
    )
    .await;
}

async fn an_exit_is_reported(lab: Lab) {
    let mut python = open(&lab, Language::Python).await;
    let cell = run(&mut python, "x = 7\nimport sys; sys.exit(3)").await;
    assert!(
        cell.outcome == CellOutcome::Error && cell.value.contains("SystemExit: 3"),
        "{cell:?}"
    );
    assert_eq!(value(&mut python, "x").await, "7");
    for (language, code, why) in [
        (Language::Python, "import os; os._exit(3)", LostReason::Exited(3)),
        (Language::Node, "process.exit(4)", LostReason::Exited(4)),
        (Language::Bash, "exit 5", LostReason::Exited(5)),
        (Language::Bash, "set -u; echo $no_such", LostReason::Exited(1)),
        (Language::Bash, "exec true", LostReason::Exited(0)),
        (Language::Bash, "kill -SEGV $$", LostReason::Signalled(11)),
    ] {
        let mut session = open(&lab, language).await;
        assert_eq!(loss(&mut session, code, PATIENCE).await, why, "{code}");
        assert_eq!(run(&mut session, "1").await.restarted, Some(why));
    }
}

async fn what_is_too_long_is_shortened_or_refused(lab: Lab) {
    let mut python = open(&lab, Language::Python).await;
    let long = value(&mut python, "'a' * 10_000_000").await;
    assert!(long.len() <= 64 << 10 && long.starts_with("'aaa") && long.ends_with("aaa'") && long.contains("[...]"));
    let cell = run(&mut python, "raise Exception('ä' * 10_000_000)").await;
    assert!(cell.value.len() <= 64 << 10 && cell.value.starts_with("Traceback"));
    let mut node = open(&lab, Language::Node).await;
    assert!(value(&mut node, "'ä'.repeat(10_000_000)").await.len() <= 64 << 10);

    let long = format!("x = '{}'\nlen(x)", "a".repeat((1 << 20) - 20));
    assert_eq!(value(&mut python, &long).await, ((1 << 20) - 20).to_string());
    let cancel = CancellationToken::new();
    let refused = python.execute(&"#".repeat((1 << 20) + 1), PATIENCE, &cancel).await;
    assert!(refused.unwrap_err().to_string().contains("1 MiB"));
    let mut bash = open(&lab, Language::Bash).await;
    let refused = bash.execute("echo a\0b", PATIENCE, &cancel).await;
    assert!(refused.unwrap_err().to_string().contains("NUL"));
}

async fn a_flood_of_output_is_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.output = 1000);
    for (language, code) in [
        (
            Language::Python,
            "import sys\nfor _ in range(1600): _ = sys.stdout.write('x' * 65536)",
        ),
        (
            Language::Node,
            "for (let i = 0; i < 1600; i++) process.stdout.write('x'.repeat(65536)); 1",
        ),
        (Language::Bash, "head -c 104857600 /dev/zero"),
    ] {
        let mut session = open(&lab, language).await;
        let cell = run(&mut session, code).await;
        assert_eq!(
            (cell.outcome, cell.stdout.total),
            (CellOutcome::Ok, 100 << 20),
            "{language:?}"
        );
        assert_eq!((cell.stdout.head.len(), cell.stdout.tail.len()), (500, 500));
        assert_eq!(run(&mut session, "1").await.stdout.total, 0);
    }
    // Output that never stops is cut off at the answer.
    let mut session = open(&lab, Language::Bash).await;
    let some = "{ yes | head -c 2000; echo > begun; exec yes; } & until [ -e begun ]; do :; done";
    let cell = run(&mut session, some).await;
    assert!(cell.outcome == CellOutcome::Ok && cell.stdout.total > 1000, "{cell:?}");
    assert_eq!(run(&mut session, "kill %1; wait").await.outcome, CellOutcome::Ok);
}

async fn output_need_not_be_text(lab: Lab) {
    let mut session = open(&lab, Language::Bash).await;
    let cell = run(&mut session, "printf '\\xff\\x00\\n1 ok 0\\n2 ok 0\\n'").await;
    assert_eq!(cell.stdout.head, b"\xff\0\n1 ok 0\n2 ok 0\n");
    let mut session = open(&lab, Language::Python).await;
    let cell = run(&mut session, "import os; os.write(1, b'\\xfe'); os.write(2, b'\\xff')").await;
    assert_eq!((cell.stdout.head, cell.stderr.head), (vec![0xfe], vec![0xff]));
}

async fn a_memory_bomb_loses_the_state(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 128 << 20);
    let mut session = open(&lab, Language::Python).await;
    let bomb = "kept = []\nwhile True: kept.append(b'x' * (1 << 20))";
    assert_eq!(loss(&mut session, bomb, PATIENCE).await, LostReason::OutOfMemory);
    let cell = run(&mut session, "1 + 1").await;
    assert_eq!(
        (cell.value, cell.restarted),
        ("2".into(), Some(LostReason::OutOfMemory))
    );
    assert!(session.end().await.unwrap().peak_memory > 64 << 20);
}

/// Finds the driver's pipes from code in a session.
const PIPES: &str = "
import fcntl, os, stat
pipes = {}
for fd in range(3, 64):
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            is_read = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            pipes['requests' if is_read else 'responses'] = fd
    except OSError:
        continue
def say(text):
    os.write(pipes['responses'], text.encode())
";

async fn hostile(lab: &Lab) -> Session {
    let mut session = open(lab, Language::Python).await;
    value(&mut session, PIPES).await;
    assert_eq!(value(&mut session, "len(pipes)").await, "2");
    session
}

async fn forged_answers_are_ignored(lab: Lab) {
    let mut session = hostile(&lab).await;
    let forge = "for line in ['99 ok Zm9yZ2Vk', '0 ok Zm9yZ2Vk', '2 ok Zm9yZ2Vk', 'x', '', '3 yes', '3 ok #', '\\0\\x7f']: say(line + '\\n')\n7";
    assert_eq!(value(&mut session, forge).await, "7");
    assert_eq!(value(&mut session, "8").await, "8");
}

async fn a_flood_of_answers_ends_the_session(lab: Lab) {
    let mut session = hostile(&lab).await;
    let why = loss(&mut session, "while True: say('99 ok Zm9yZ2Vk\\n' * 1000)", PATIENCE).await;
    assert!(matches!(why, LostReason::ChannelBroken(_)), "{why:?}");
}

async fn an_answer_without_end_ends_the_session(lab: Lab) {
    let mut session = hostile(&lab).await;
    let why = loss(&mut session, "while True: say('3 ok ' + 'A' * 65536)", PATIENCE).await;
    assert!(matches!(why, LostReason::ChannelBroken(_)), "{why:?}");
}

async fn an_answer_given_twice_counts_once(lab: Lab) {
    let mut session = hostile(&lab).await;
    let code = "say('3 ok Zm9yZ2Vk\\n')\n'true'";
    assert_eq!(value(&mut session, code).await, "forged");
    // The true answer comes late, and is discarded.
    assert_eq!(value(&mut session, "4").await, "4");
    value(&mut session, "say('6 ok Zm9yZ2Vk\\n')").await;
    assert_eq!(value(&mut session, "6").await, "6");
}

async fn closed_pipes_end_the_session(lab: Lab) {
    join_all(
        [
            "os.close(pipes['responses'])",
            "os.closerange(3, 1000)",
            "os.closerange(3, 1000)\nwhile True: pass",
            "os.close(pipes['requests'])\nos.close(pipes['responses'])\nimport time; time.sleep(1000)",
        ]
        .map(async |code| {
            let mut session = hostile(&lab).await;
            let why = loss(&mut session, code, PATIENCE).await;
            assert!(
                matches!(why, LostReason::ChannelBroken(_) | LostReason::Exited(_)),
                "{code}: {why:?}"
            );
            assert_eq!(value(&mut session, "1").await, "1");
        }),
    )
    .await;
    // That a pipe is no longer read is noticed at the next execution.
    let mut session = hostile(&lab).await;
    value(
        &mut session,
        "os.dup2(os.open('/dev/null', os.O_RDONLY), pipes['requests'])",
    )
    .await;
    loss(&mut session, "1", PATIENCE).await;
    // Another process reads the driver's input.
    let mut session = hostile(&lab).await;
    let thief = "
import threading
def steal():
    while True: os.read(pipes['requests'], 1)
threading.Thread(target=steal, daemon=True).start()";
    value(&mut session, thief).await;
    within(&mut session, &format!("'{}'", "a".repeat(200_000)), MOMENT).await;
}

async fn a_killed_driver_is_noticed(lab: Lab) {
    let mut python = open(&lab, Language::Python).await;
    assert_eq!(
        loss(&mut python, "import os; os.kill(os.getpid(), 9)", PATIENCE).await,
        LostReason::Signalled(9)
    );
    let mut bash = open(&lab, Language::Bash).await;
    value(&mut bash, "(while :; do [[ -e go ]] && kill -9 $$; done) &").await;
    assert_eq!(
        loss(&mut bash, "touch go; while :; do :; done", PATIENCE).await,
        LostReason::Signalled(9)
    );
}

async fn a_fork_answers_nothing(lab: Lab) {
    let mut session = open(&lab, Language::Python).await;
    let code =
        "import os\nchild = os.fork()\nif child == 0: print('child')\nelse: print(os.waitpid(child, 0)[1])\nchild > 0";
    let cell = run(&mut session, code).await;
    assert_eq!((cell.value, cell.stdout.text()), ("True".into(), "child\n0\n".into()));
    let code =
        "child = os.fork()\nif child == 0: raise SystemExit(3)\nos.waitstatus_to_exitcode(os.waitpid(child, 0)[1])";
    assert_eq!(value(&mut session, code).await, "3");
}

/// Paths at which `python3` is a script of the workspace, and nothing else is found.
fn hijacked(lab: &Lab, script: &str) -> SessionPaths {
    lab.file("bin/python3", script);
    fs::set_permissions(lab.path().join("bin/python3"), fs::Permissions::from_mode(0o755)).unwrap();
    let bin = lab.inside().join("bin").display().to_string();
    SessionPaths {
        env: [("PATH".into(), bin)].into(),
        ..SessionPaths::new(lab.path())
    }
}

async fn an_interpreter_that_ignores_its_pipes_is_given_up(lab: Lab) {
    // The session's time is up before that of its start.
    let lab = lab.limit(|limits| limits.wall = Duration::from_secs(1));
    let mut session = open_at(&lab, Language::Python, &hijacked(&lab, "#!/bin/sh\n/bin/sleep 1000\n")).await;
    assert_eq!(loss(&mut session, "1", PATIENCE).await, LostReason::TimedOut);
    let again = session.execute("1", PATIENCE, &CancellationToken::new()).await;
    assert!(again.unwrap_err().to_string().contains("open a new session"));
}

async fn an_interpreter_that_cannot_start_says_so(lab: Lab) {
    let mut session = open_at(
        &lab,
        Language::Python,
        &hijacked(&lab, "#!/bin/sh\necho oops >&2; exit 9\n"),
    )
    .await;
    let cell = run(&mut session, "1").await;
    assert_eq!(
        (cell.outcome, cell.stderr.text()),
        (CellOutcome::StateLost(LostReason::Exited(9)), "oops\n".into())
    );
    let mut session = open_at(&lab, Language::Python, &hijacked(&lab, "#!/no/such\n")).await;
    let why = loss(&mut session, "1", PATIENCE).await;
    assert!(matches!(why, LostReason::DidNotStart(_)), "{why:?}");
    let elsewhere = SessionPaths {
        cwd: "../..".into(),
        ..SessionPaths::new(lab.path())
    };
    assert!(
        lab.sandbox
            .session(Language::Bash, &elsewhere, &lab.policy)
            .await
            .is_err()
    );
}

/// Opens a pipe of the workspace and keeps running.
const STAY: &str = "exec 7>alive; echo up >&7; sleep 1000";

async fn a_cancellation_loses_the_state(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let mut session = open(&lab, Language::Bash).await;
    let cancel = CancellationToken::new();
    let (cell, ()) = tokio::join!(session.execute(STAY, PATIENCE, &cancel), async {
        alive.has_started().await;
        cancel.cancel();
    });
    assert_eq!(cell.unwrap().outcome, CellOutcome::StateLost(LostReason::Cancelled));
    alive.has_ended().await;
    assert_eq!(run(&mut session, "true").await.restarted, Some(LostReason::Cancelled));
}

async fn dropping_an_execution_loses_the_state(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let mut session = open(&lab, Language::Bash).await;
    let cancel = CancellationToken::new();
    tokio::select! {
        _ = session.execute(STAY, PATIENCE, &cancel) => panic!("it ended by itself"),
        () = alive.has_started() => {}
    }
    alive.has_ended().await;
    assert_eq!(run(&mut session, "true").await.restarted, Some(LostReason::Cancelled));
}

async fn dropping_a_session_ends_it(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let mut session = open(&lab, Language::Bash).await;
    value(&mut session, "exec 7>alive; echo up >&7").await;
    alive.has_started().await;
    drop(session);
    alive.has_ended().await;
}

async fn an_idle_session_ends(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let place = SessionPaths {
        idle: MOMENT,
        ..SessionPaths::new(lab.path())
    };
    let mut session = open_at(&lab, Language::Bash, &place).await;
    run(&mut session, "exec 7>alive; echo up >&7; sleep 0.5").await;
    alive.has_started().await;
    alive.has_ended().await;
    // greenlight may notice it a moment later.
    let cell = run(&mut session, "true").await;
    assert!(
        cell.restarted == Some(LostReason::Idle) || cell.outcome == CellOutcome::StateLost(LostReason::Idle),
        "{cell:?}"
    );
}

async fn the_time_of_a_session_is_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = Duration::from_secs(1));
    let mut session = open(&lab, Language::Python).await;
    let why = loss(&mut session, "import time; time.sleep(1000)", PATIENCE).await;
    assert_eq!(why, LostReason::TimedOut);
    let again = session.execute("1", PATIENCE, &CancellationToken::new()).await;
    assert!(again.unwrap_err().to_string().contains("open a new session"));
}

async fn restarts_are_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = 18 * SLOW_START);
    let mut session = open(&lab, Language::Bash).await;
    for _ in 0..17 {
        assert_eq!(loss(&mut session, "exit 1", PATIENCE).await, LostReason::Exited(1));
    }
    let again = session.execute("true", PATIENCE, &CancellationToken::new()).await;
    assert!(again.unwrap_err().to_string().contains("died too often"));
    assert_eq!(session.end().await.unwrap().restarts, 16);
}

async fn two_sessions_do_not_meet(lab: Lab) {
    let other = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (
        open(&lab, Language::Python).await,
        open_at(&lab, Language::Python, &SessionPaths::new(other.path())).await,
    );
    tokio::join!(value(&mut one, "x = 1"), value(&mut two, "x = 2"));
    let (first, second) = tokio::join!(value(&mut one, "x"), value(&mut two, "x"));
    assert_eq!((first.as_str(), second.as_str()), ("1", "2"));
    assert_eq!(
        loss(&mut one, "import os; os.kill(os.getpid(), 9)", PATIENCE).await,
        LostReason::Signalled(9)
    );
    assert_eq!(value(&mut two, "x").await, "2");
}

async fn nothing_of_the_host_is_seen(lab: Lab) {
    let canary = tempfile::NamedTempFile::new().unwrap();
    let mut session = open(&lab, Language::Python).await;
    let code = format!(
        "
import os, socket, sys
def refused(call):
    try:
        call()
    except OSError:
        return True
frame = sys._getframe()
while frame.f_back:
    frame = frame.f_back
directory = os.path.dirname(frame.f_code.co_filename)
[
    refused(lambda: open('{}')),
    refused(lambda: open('/etc/shadow')),
    refused(lambda: socket.create_connection(('127.0.0.1', 22), 1)),
    refused(lambda: socket.create_connection(('1.1.1.1', 53), 1)),
    refused(lambda: open(directory + '/x', 'w')),
    refused(lambda: open(directory + '/driver.py', 'w')),
    os.listdir(directory),
    sorted(name for name in os.environ if 'TOKEN' in name or 'CARGO_PKG' in name),
    os.getpid() > 1,
]",
        canary.path().display()
    );
    let expected = "[True, True, True, True, True, True, ['driver.py'], [], True]";
    assert_eq!(value(&mut session, &code).await, expected);
}

async fn what_a_session_took_is_known(lab: Lab) {
    let mut session = open(&lab, Language::Python).await;
    value(&mut session, "for _ in range(5_000_000): pass").await;
    run(&mut session, "1 / 0").await;
    let spent = session.end().await.unwrap();
    assert_eq!((spent.cells, spent.restarts), (2, 0));
    assert!(
        spent.cpu > Duration::ZERO && spent.peak_memory > 0 && spent.wall > Duration::ZERO,
        "{spent:?}"
    );
}

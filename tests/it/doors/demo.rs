//! `greenlight demo`: played to its end, read by a newcomer, answered at a terminal, and used from another process.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::terminal::Terminal;
use super::{A_MOMENT, Door, PATIENCE, ended, signal};

const QUESTION: &str = "You are mia. Your comment";

/// Fails unless the text contains these parts in this order.
#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?} does not come next in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

/// With pipes and `/dev/null`, as in a script or a CI job: nothing is asked, and nothing is left out.
#[tokio::test]
async fn the_whole_story_plays_by_itself() {
    let played = Door::new().run(["demo"]).await.with(0);
    assert_eq!(played.err, "");
    in_order(
        &played.out,
        &[
            "── There is no terminal to type at, so the demo also plays the maintainer, mia.",
            "── acme/rail #1: Say how many passengers are on board",
            "● ada pushes",
            "✗ github-actions / test on",
            "… greenlight on",
            "● greenlight[bot] reviews",
            "2 red in 5 of 5 runs → 9 of 9 green",
            "src/lib.rs:65",
            "│ -         let is_on_board = |journey: &&Journey| journey.from <= stop && stop <= journey.to;",
            "│ +         let is_on_board = |journey: &&Journey| journey.from <= stop && stop < journey.to;",
            "● greenlight[bot] comments",
            "Approve to commit 1 changed file to `passenger-counts`, exactly as tested.",
            "● mia comments\n  │ /greenlight approve\n",
            "● greenlight[bot] pushes",
            "Approved-by: mia",
            "● greenlight[bot] edits the comment\n  │ 🟢 Landed as",
            "✓ greenlight on",
            "── Landed as commit ",
        ],
    );
    // Requests that do not depend on each other are sent together: on a busy machine, either may be seen first.
    in_order(
        &played.out,
        &[
            "… greenlight on",
            "! greenlight on",
            "● mia comments",
            "  👀 greenlight[bot]",
        ],
    );
    let (_, landed) = played.out.rsplit_once("Landed as commit ").unwrap();
    let (sha, rest) = landed.split_once(',').unwrap();
    assert!(
        sha.len() == 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{sha}"
    );
    assert!(rest.contains("its tests and its check are green."), "{rest}");
    assert!(
        rest.contains("── The page of this run was at http://127.0.0.1:"),
        "{rest}"
    );
    for noise in ["<!--", "<details>", "<sub>", "```", "edits it", "\u{1b}"] {
        assert!(!played.out.contains(noise), "{noise:?} in\n{}", played.out);
    }
    assert_eq!(played.out.matches("● mia comments").count(), 1);
    assert!(played.out.contains("greenlight fix ."), "{}", played.out);
}

/// Colours if the terminal supports them, and a hint for people who forget the slash.
#[tokio::test]
async fn a_newcomer_plays_the_maintainer() {
    let mut terminal = Terminal::start(Door::new().with("TERM", "xterm-256color").command(["demo", "--page"]));
    terminal.shows("\u{1b}[31m✗ github-actions").await;
    terminal.shows("\u{1b}[32m  │ +").await;
    terminal.shows(QUESTION).await;
    terminal.types("help");
    terminal.shows("Did you mean `/greenlight help`?").await;
    terminal.shows(QUESTION).await;
    terminal.types("/greenlight help");
    terminal.shows("`/greenlight reject [id] [reason]`").await;
    terminal.shows(QUESTION).await;
    terminal.types("What does it do?");
    terminal.shows("● mia comments").await;
    terminal.shows(QUESTION).await;
    terminal.types("/greenlight aprove");
    terminal.shows("Did you mean `/greenlight approve`?").await;
    terminal.shows(QUESTION).await;
    terminal.types("/greenlight approve");
    terminal.shows("🟢 Landed as").await;
    // The page of the run stays open until somebody has seen enough.
    terminal.shows("http://127.0.0.1:").await;
    let link = format!("http://127.0.0.1:{}", terminal.line().await);
    let client = crate::harness::http().redirect(reqwest::redirect::Policy::none());
    let client = client.build().unwrap();
    let entered = client.get(&link).send().await.unwrap();
    let cookie = entered.headers()["set-cookie"].to_str().unwrap().to_string();
    let overview = link.split("/enter").next().unwrap();
    let overview = client.get(overview).header("cookie", cookie).send().await.unwrap();
    let overview = overview.text().await.unwrap();
    assert!(
        overview.contains("acme/rail#1") && overview.contains("landed"),
        "{overview}"
    );
    signal(&terminal.child, rustix::process::Signal::INT);
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(130), "{shown}");
    assert!(!shown.contains("ERROR"), "{shown}");
}

/// `stories::reject` tells what another fix would be; the demo has no other fix that means something different.
#[tokio::test]
async fn without_a_toolchain_it_says_what_the_story_needs() {
    let door = Door::new();
    for name in ["cargo", "rustc"] {
        std::fs::write(door.data().join(name), "not a program").unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", door.data().display());
    let home = door.data().display().to_string();
    let door = door
        .with("PATH", path)
        .with("HOME", home)
        .without("CARGO_HOME")
        .without("RUSTUP_HOME");
    let played = door
        .run(["demo"])
        .await
        .with(2)
        .saying("`cargo` is missing on this machine");
    assert!(played.err.contains("https://rustup.rs"), "{}", played.err);
    // It ends before anything is played, and does not say that there is nothing to fix.
    assert!(!played.out.contains("acme/rail"), "{}", played.out);
    assert!(!played.out.contains("othing to fix"), "{}", played.out);
}

/// rustup installs `cargo` before it installs any toolchain.
#[tokio::test]
async fn a_cargo_that_does_not_work_is_told_in_its_own_words() {
    use std::os::unix::fs::PermissionsExt as _;
    let door = Door::new();
    let folder = door.data().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("cargo");
    std::fs::write(
        &program,
        "#!/bin/sh\necho 'error: no toolchain is chosen' >&2; exit 1\n",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let home = folder.display().to_string();
    let door = door
        .with("PATH", path)
        .with("HOME", home)
        .without("CARGO_HOME")
        .without("RUSTUP_HOME");
    let played = door.run(["demo"]).await.with(2);
    assert!(played.err.contains("the demo did not start"), "{}", played.err);
}

#[tokio::test]
async fn a_rejection_commits_nothing_and_colours_can_be_turned_off() {
    let door = Door::new().with("NO_COLOR", "1").with("TERM", "xterm");
    let mut terminal = Terminal::start(door.command(["demo"]));
    terminal.shows(QUESTION).await;
    terminal.types("/greenlight reject");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert!(shown.contains("so nothing was committed"), "{shown}");
    assert!(!shown.contains("as red as before"), "{shown}");
}

/// CI is red long before greenlight has found anything.
#[tokio::test]
async fn colours_can_be_turned_on() {
    let mut always = Door::new().command(["--color", "always", "demo", "--approve"]);
    let mut always = always.spawn().unwrap();
    let mut lines = BufReader::new(always.stdout.take().unwrap()).lines();
    let coloured = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("\u{1b}[31m") {
                return;
            }
        }
        panic!("no line is red");
    };
    tokio::time::timeout(PATIENCE, coloured).await.expect("a red line");
    signal(&always, rustix::process::Signal::INT);
    assert_eq!(ended(always).await.code, Some(130));
}

/// Also while a run is at work, which then reports no error.
#[tokio::test]
async fn ctrl_c_ends_the_story() {
    for (arguments, until) in [(["demo"].as_slice(), QUESTION), (&["demo", "--approve"], "Working on")] {
        let mut terminal = Terminal::start(Door::new().command(arguments));
        terminal.shows(until).await;
        signal(&terminal.child, rustix::process::Signal::INT);
        let (code, shown) = tokio::time::timeout(A_MOMENT, terminal.ends())
            .await
            .expect("a moment is enough");
        assert_eq!(code, Some(130), "{shown}");
        assert!(!shown.contains("ERROR"), "{shown}");
    }
}

/// The GitHub double alone: it says how to connect another process, which answers as it would on GitHub.
#[tokio::test]
async fn a_greenlight_elsewhere_meets_the_played_github() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let mut command = Door::new().command(["demo", "--approve", "--github-only", &url]);
    let mut playing = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut keyboard = playing.stdin.take().unwrap();
    let mut lines = BufReader::new(playing.stdout.take().unwrap()).lines();
    let mut door = Door::new();
    let mut arguments = Vec::new();
    let mut rest = None;
    while rest.is_none() {
        let line = tokio::time::timeout(PATIENCE, lines.next_line())
            .await
            .expect("the settings")
            .unwrap()
            .unwrap();
        if let Some((name, value)) = line.strip_prefix("export ").and_then(|line| line.split_once('=')) {
            door = door.with(name, value);
        }
        if let Some(words) = line.strip_prefix("greenlight ") {
            arguments = words.split(' ').map(ToString::to_string).collect();
        }
        if line.starts_with("curl ") {
            rest = Some(line);
        }
    }
    // It is too early: nothing listens yet, and the demo says so.
    keyboard.write_all(b"\n").await.unwrap();
    let mut errors = BufReader::new(playing.stderr.take().unwrap()).lines();
    let said = tokio::time::timeout(PATIENCE, errors.next_line())
        .await
        .expect("an answer")
        .unwrap()
        .unwrap();
    assert!(said.contains("does not answer"), "{said}");

    let mut serving = door
        .with("GREENLIGHT_LOG_FORMAT", "json")
        .command(&arguments)
        .spawn()
        .unwrap();
    let mut log = BufReader::new(serving.stderr.take().unwrap()).lines();
    loop {
        let line = tokio::time::timeout(PATIENCE, log.next_line())
            .await
            .expect("it listens")
            .unwrap();
        if line.expect("it does not end").contains("listening") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
    let rest = rest.expect("a line for REST");
    assert_eq!(pasted(&rest).await, "200", "{rest}");
    keyboard.write_all(b"\n").await.unwrap();
    let mut told = String::new();
    while let Some(line) = tokio::time::timeout(PATIENCE, lines.next_line())
        .await
        .expect("the story")
        .unwrap()
    {
        told += &line;
        told.push('\n');
    }
    assert!(told.contains("its tests and its check are green"), "{told}");
    assert_eq!(playing.wait().await.unwrap().code(), Some(0));
    signal(&serving, rustix::process::Signal::TERM);
    assert_eq!(ended(serving).await.code, Some(0));
}

/// The status that `serve` returns for the printed REST command.
#[expect(clippy::disallowed_methods, reason = "a person would paste this into a shell")]
async fn pasted(line: &str) -> String {
    let answer = tokio::process::Command::new("sh")
        .args(["-c", &format!("{line} -s -o /dev/null -w '%{{http_code}}'")])
        .output()
        .await
        .unwrap();
    String::from_utf8_lossy(&answer.stdout).into_owned()
}

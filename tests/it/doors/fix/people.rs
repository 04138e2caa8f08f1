//! `greenlight fix` with a person at the keyboard: questions, answers, interrupts.

use rustix::process::Signal;

use super::{GREEN, RED, sums};
use crate::doors::terminal::Terminal;
use crate::doors::{A_MOMENT, Door, ended, is_running, signal, tree, until};

fn at_a_terminal(door: &Door, root: &std::path::Path) -> Terminal {
    Terminal::start(door.command(["fix".as_ref(), root.as_os_str()]))
}

const QUESTION: &str = "Write this to the working tree? [y]es, [n]o, or [a]nother fix:";

#[tokio::test]
async fn a_yes_writes_and_a_no_does_not() {
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let door = Door::new();

    let mut terminal = at_a_terminal(&door, checkout.path());
    terminal.shows("+    return numbers[0] + numbers[1]").await;
    terminal.shows(QUESTION).await;
    terminal.types("n");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("not approved; nothing was written"), "{shown}");
    assert_eq!(tree(checkout.path()), before);

    let mut terminal = at_a_terminal(&door, checkout.path());
    terminal.shows(QUESTION).await;
    terminal.types("y");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);

    // Settings of a service that cannot be used do not matter.
    let door = door.with("GREENLIGHT_PRIVATE_KEY_FILE", "/missing.pem");
    let document = async |arguments: &[&str]| {
        let ran = door.run(arguments).await.with(0);
        serde_json::from_str::<serde_json::Value>(&ran.out).unwrap()
    };
    let listed = document(&["runs", "--json"]).await;
    let root = checkout.path().canonicalize().unwrap();
    let runs: Vec<_> = listed["runs"].as_array().unwrap().iter().collect();
    let states: Vec<_> = runs.iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["written", "rejected"]);
    assert!(
        runs.iter().all(|run| run["checkout"] == *root.to_str().unwrap()),
        "{listed}"
    );
    let shown = document(&["runs", "show", runs[0]["id"].as_str().unwrap(), "--json"]).await;
    let mut timeline = shown["timeline"].as_array().unwrap().iter();
    assert!(
        timeline.any(|entry| entry["kind"] == "end" && entry["what"] == "written"),
        "{shown}"
    );
    let counted = document(&["stats", "--json"]).await;
    let statistics = &counted["statistics"];
    assert_eq!(
        (&statistics["proposed"], &statistics["accepted"]),
        (&2.into(), &1.into())
    );
}

#[tokio::test]
async fn a_reason_leads_to_another_fix() {
    // Both operators make the tests pass.
    let program = "def total(numbers):\n    return 3 if numbers[0] > numbers[1] else 0\n";
    let checkout = sums(program, &[]);
    let door = Door::new();
    let mut terminal = at_a_terminal(&door, checkout.path());
    terminal.shows("+    return").await;
    terminal.shows(QUESTION).await;
    terminal.types("I would rather not touch that");
    terminal.shows("looking for another fix").await;
    terminal.shows(QUESTION).await;
    terminal.types("y");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    let proposed: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("+ "))
        .map(str::trim_end)
        .collect();
    let [first, second] = proposed[..] else {
        panic!("{shown}")
    };
    assert_ne!(first, second);
    let sums = std::fs::read_to_string(checkout.path().join("sums.py")).unwrap();
    assert!(sums.contains(&second[1..]), "{sums}\n{second}");
}

#[tokio::test]
async fn what_was_changed_meanwhile_is_not_overwritten() {
    let checkout = sums(RED, &[]);
    let door = Door::new();
    let mut terminal = at_a_terminal(&door, checkout.path());
    terminal.shows(QUESTION).await;
    let mine = format!("{RED}\n# Do not lose this.\n");
    std::fs::write(checkout.path().join("sums.py"), &mine).unwrap();
    terminal.types("y");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("sums.py changed meanwhile"), "{shown}");
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), mine);
}

/// Ctrl-c during a question, and during tests that would never end.
#[tokio::test]
async fn an_interrupt_ends_it_and_leaves_nothing_behind() {
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let door = Door::new();
    let mut terminal = at_a_terminal(&door, checkout.path());
    terminal.shows(QUESTION).await;
    signal(&terminal.child, Signal::INT);
    let (code, shown) = tokio::time::timeout(A_MOMENT, terminal.ends())
        .await
        .expect("a moment is enough");
    assert_eq!(code, Some(130), "{shown}");
    assert_eq!(tree(checkout.path()), before);
    assert_eq!(local(&door).collect::<Vec<_>>(), [".lock"]);

    for how in [Signal::INT, Signal::TERM, Signal::KILL] {
        let never_ends = format!(
            "sleep 9{}",
            std::process::id() + u32::try_from(how.as_raw()).unwrap() * 10_000_000
        );
        let config = format!("[test]\ncommand = \"{never_ends}\"\n");
        let checkout = sums(RED, &[("greenlight.toml", &config)]);
        let before = tree(checkout.path());
        let door = Door::new();
        let child = door
            .command(["fix".as_ref(), "--yes".as_ref(), checkout.path().as_os_str()])
            .spawn()
            .unwrap();
        until("the tests run", || is_running(&never_ends)).await;
        signal(&child, how);
        let ended = tokio::time::timeout(A_MOMENT, ended(child))
            .await
            .expect("a moment is enough");
        assert_eq!(ended.code, (how != Signal::KILL).then_some(130), "{ended:#?}");
        until("nothing of it runs", || !is_running(&never_ends)).await;
        assert_eq!(tree(checkout.path()), before);
        let left = || local(&door).filter(|name| name != ".lock").count();
        if how == Signal::KILL {
            assert_eq!(left(), 1);
            let green = sums(GREEN, &[]);
            door.run(["fix".as_ref(), green.path().as_os_str()]).await.with(0);
        }
        assert_eq!(left(), 0);
    }
}

/// The files in the folder for local work.
fn local(door: &Door) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(door.data().join("local")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

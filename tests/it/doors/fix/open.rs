//! `greenlight fix --open`: the page of the run, in the browser, until somebody has read it.

use std::os::unix::fs::PermissionsExt as _;

use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::redirect;

use super::{RED, sums};
use crate::doors::Door;
use crate::doors::terminal::Terminal;

const QUESTION: &str = "Write this to the working tree? [y]es, [n]o, or [a]nother fix:";

#[tokio::test]
async fn the_run_is_shown_in_the_browser_until_somebody_has_read_it() {
    let checkout = sums(RED, &[]);
    let folder = tempfile::tempdir().unwrap();
    let (browser, told) = (folder.path().join("browser"), folder.path().join("told"));
    // The whole environment of the browser, and the link.
    let script = format!(
        "#!/bin/sh\n(env; echo \"link=$2\") > {0}.new && mv {0}.new {0}\n",
        told.display()
    );
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let door = Door::new()
        .with("BROWSER", format!("{} --new:other", browser.display()))
        .with("GREENLIGHT_MODEL_API_KEY", "sesame");
    let arguments = ["fix".as_ref(), "--open".as_ref(), checkout.path().as_os_str()];
    let mut terminal = Terminal::start(door.command(arguments));
    terminal
        .shows("Opening the page of this run in your browser (the link works once): http://127.0.0.1:")
        .await;
    terminal.shows(QUESTION).await;
    let told = std::fs::read_to_string(&told).unwrap();
    assert!(!told.contains("sesame") && !told.contains("GREENLIGHT_"), "{told}");
    let link = told.lines().find_map(|line| line.strip_prefix("link=")).unwrap();
    let client = crate::harness::http()
        .redirect(redirect::Policy::none())
        .build()
        .unwrap();
    let entered = client.get(link).send().await.unwrap();
    let cookie = entered.headers()[SET_COOKIE]
        .to_str()
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_string();
    let site = link.split("/enter").next().unwrap();
    let get = async |path: &str| client.get(format!("{site}{path}")).header(COOKIE, &cookie).send().await;
    let start = get("/").await.unwrap();
    let run = start.headers()["location"].to_str().unwrap().to_string();
    let page = get(&run).await.unwrap().text().await.unwrap();
    assert!(
        page.contains("Answer in the terminal") && page.contains("class=\"added\""),
        "{page}"
    );
    assert!(!page.contains("method=\"post\""), "{page}");
    assert_eq!(get("/runs/local-1").await.unwrap().status(), 404);
    assert_eq!(client.get(format!("{site}{run}")).send().await.unwrap().status(), 404);
    assert_eq!(client.get(link).send().await.unwrap().status(), 403);
    let others = client.get(site).send().await.unwrap().text().await.unwrap();
    assert!(
        others.starts_with("This is the page of one run on this machine."),
        "{others}"
    );
    terminal.types("y");
    terminal
        .shows("The page of this run stays open. Press Enter to close it.")
        .await;
    let page = get(&run).await.unwrap().text().await.unwrap();
    assert!(
        page.contains("Written to the working tree.") && !page.contains("data-events"),
        "{page}"
    );
    terminal.types("");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(get(&run).await.is_err());
}

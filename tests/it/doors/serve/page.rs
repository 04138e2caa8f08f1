//! `--page`: the link is printed, works once, and is not in the log.

use super::*;

const WITH_PAGE: [&str; 6] = ["serve", "--page", "--listen", "127.0.0.1:0", "--log-format", "json"];

#[tokio::test]
async fn the_link_is_printed_for_one_browser() {
    let stage = Stage::new("").await;
    let door = stage.app();
    let mut child = door.command(WITH_PAGE).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let link = line.split_once("http://").expect("a link").1;
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let entered = client.get(format!("http://{link}")).send().await.unwrap();
    let cookie = entered.headers()["set-cookie"].to_str().unwrap().to_string();
    let (address, token) = link.split_once("/enter?link=").unwrap();
    let get = async |with: &str| {
        let overview = client
            .get(format!("http://{address}/"))
            .header("cookie", with)
            .send()
            .await
            .unwrap();
        overview.text().await.unwrap()
    };
    assert!(get(&cookie).await.contains("Waiting for somebody"));
    assert!(get("").await.starts_with("This is greenlight."));
    signal(&child, Signal::TERM);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("listening") && !log.contains(token), "{log}");
}

#[tokio::test]
async fn other_machines_get_no_page() {
    let stage = Stage::new("").await;
    let everywhere = WITH_PAGE.map(|argument| {
        if argument == "127.0.0.1:0" {
            "0.0.0.0:0"
        } else {
            argument
        }
    });
    let refused = stage.app().run(everywhere).await;
    refused.with(2).saying("is not a loopback address");
}

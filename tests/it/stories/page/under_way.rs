//! What the page says of work that is not done yet.

use futures::StreamExt as _;
use github_double::MAINTAINER;
use reqwest::header::COOKIE;

use super::{Open, PATIENCE};
use crate::harness::story::Scene;

#[tokio::test]
async fn the_last_row_of_the_timeline_is_what_is_under_way() {
    let story = Scene::tested_by("sleep 3000").begin().await;
    let (number, double) = (story.number, &story.double);
    double.comment(number, MAINTAINER, "/greenlight fix").await.unwrap();
    story.until_it_works().await;
    let open = Open::of(&story).await;
    let cookie = open.enter().await;
    let run = format!("/runs/{}", story.run().await.id());
    let row = |page: &str| {
        let row = page.split_once("<tr class=\"now\">")?.1.split_once("</tr>")?.0;
        Some(row.to_string())
    };
    // The page says where to hear of what is newer than itself.
    let until_tests_run = async {
        loop {
            let page = open.page(&run, &cookie).await;
            match row(&page) {
                Some(row) if row.contains("<b>tests</b> running the tests") => return (page, row),
                _ => {}
            }
            let events = page.split_once("data-events=\"").unwrap().1.split_once('"').unwrap().0;
            let events = events.replace("&amp;", "&");
            let told = open.client.get(format!("{}{events}", open.url)).header(COOKIE, &cookie);
            told.send().await.unwrap().bytes_stream().next().await;
        }
    };
    let (page, row_then) = tokio::time::timeout(PATIENCE, until_tests_run).await.unwrap();
    assert!(page.contains("Now running the tests."), "{page}");
    assert!(
        row_then.contains("data-elapsed=\"") && row_then.contains("<svg"),
        "{row_then}"
    );
    story.maintainer_says("/greenlight cancel").await;
    assert_eq!(row(&open.page(&run, &cookie).await), None, "it is over");
    story.finish().await;
}

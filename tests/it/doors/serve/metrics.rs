//! The metrics of a real process, over real connections.

use super::{Serving, Stage};

#[tokio::test]
async fn metrics_are_for_this_machine_and_for_the_token() {
    let stage = Stage::new("").await;
    let door = stage.app().with("GREENLIGHT_METRICS_TOKEN", "sesame-metrics-token");
    let serving = Serving::start(&door).await;
    let get = || {
        crate::harness::http()
            .build()
            .unwrap()
            .get(format!("{}/metrics", serving.url))
    };
    let here = get().send().await.unwrap();
    assert_eq!(here.status(), 200);
    let version = format!("greenlight_build_info{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"));
    assert!(here.text().await.unwrap().contains(&version));
    let forwarded = || get().header("x-forwarded-for", "192.0.2.7");
    assert_eq!(forwarded().send().await.unwrap().status(), 401);
    let wrong = forwarded().bearer_auth("sesame");
    assert_eq!(wrong.send().await.unwrap().status(), 401);
    let right = forwarded().bearer_auth("sesame-metrics-token");
    assert_eq!(right.send().await.unwrap().status(), 200);
    assert!(!serving.log().contains("sesame"), "{}", serving.log());
}

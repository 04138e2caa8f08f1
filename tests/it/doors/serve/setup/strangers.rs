//! What strangers get from a setup page: nothing.

use super::*;

#[tokio::test]
async fn a_scanner_and_a_second_browser_learn_nothing() {
    let stage = Stage::new("").await;
    let setting_up = SettingUp::start(&door(&stage), "127.0.0.1:0").await;
    let stranger = Person::anybody(&setting_up);
    let plain = stranger.get("/").send().await.unwrap().text().await.unwrap();
    assert!(plain.starts_with("This is greenlight. It is being set up"), "{plain}");
    let guess = format!("/enter?link={}", "0".repeat(64));
    for (path, status) in [
        ("/setup", 404),
        ("/setup/created?code=a&state=b", 404),
        (guess.as_str(), 403),
        ("/enter", 404),
        ("/api/v1/runs", 404),
        ("/metrics", 404),
    ] {
        assert_eq!(stranger.get(path).send().await.unwrap().status(), status, "{path}");
    }
    for path in ["/setup", "/setup/again"] {
        assert_eq!(stranger.post(path).send().await.unwrap().status(), 404, "{path}");
    }
    let webhook = stranger.post("/webhook").body("{}").send().await.unwrap();
    assert_eq!(webhook.status(), 503);
    // A name that somebody rebinds to this address does not use up the link.
    let rebound = stranger.http.get(&setting_up.link).header("host", "evil.example");
    assert_eq!(rebound.send().await.unwrap().status(), 404);
    let (_, token) = setting_up.link.split_once("?link=").unwrap();
    let forged = filled(stranger.post("/enter"), &[("link", token)]).header("sec-fetch-site", "cross-site");
    assert_eq!(forged.send().await.unwrap().status(), 404);
    // Nor does a program that looks at links.
    for method in [reqwest::Method::HEAD, reqwest::Method::GET] {
        let looked = stranger.http.request(method, &setting_up.link).send().await.unwrap();
        assert_eq!(
            (looked.status().as_u16(), looked.headers().get(SET_COOKIE)),
            (200, None)
        );
    }
    let wrong = stranger.get(&guess).send().await.unwrap();
    assert!(wrong.text().await.unwrap().contains("This link is wrong"));
    let person = setting_up.enter().await;
    for second in [
        stranger.http.get(&setting_up.link),
        filled(stranger.post("/enter"), &[("link", token)]),
    ] {
        let second = second.send().await.unwrap();
        assert_eq!(second.status(), 403);
        assert!(second.text().await.unwrap().contains("This link was used"));
    }
    let again = person.get(&format!("/enter?link={token}")).send().await.unwrap();
    assert_eq!((again.status().as_u16(), location(&again).as_str()), (303, "/"));
}

#[tokio::test]
async fn other_sites_cannot_use_the_persons_browser() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let setting_up = SettingUp::start(&door, "127.0.0.1:0").await;
    let person = setting_up.enter().await;
    let fields = [
        ("name", "x"),
        ("owner", "person"),
        ("public_url", "https://evil.example"),
    ];
    for (header, value, status) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("sec-fetch-site", "cross-site", 404),
        ("sec-fetch-site", "same-site", 404),
        ("host", "evil.example", 404),
        ("x-forwarded-for", "10.0.0.1", 404),
    ] {
        for path in ["/setup", "/setup/again"] {
            let mut request = filled(person.post(path), &fields).build().unwrap();
            request.headers_mut().insert(header, value.parse().unwrap());
            let response = person.http.execute(request).await.unwrap();
            assert_eq!(response.status(), status, "{path} with {header}: {value}");
        }
    }
    // GitHub's answer is forged, or belongs to an older form.
    let old = person.create(&setting_up.url).await;
    let (_, state) = old.split_once("&state=").unwrap();
    let forged = |code: &str, state: &str| format!("{}/setup/created?code={code}&state={state}", setting_up.url);
    let newer = person.create(&setting_up.url).await;
    for url in [
        old.clone(),
        forged("mine", state),
        forged("mine", ""),
        forged("mine", &"0".repeat(64)),
    ] {
        assert_eq!(person.comes_back(&url).await.status(), 403, "{url}");
    }
    let nothing = format!("{}/setup/created?code=mine", setting_up.url);
    assert_eq!(person.comes_back(&nothing).await.status(), 403);
    // A stranger's browser has the right state, but not the cookie.
    assert_eq!(Person::anybody(&setting_up).comes_back(&newer).await.status(), 404);
    assert!(!door.data().join("github-app.json").exists());
    let conversions = stage
        .double
        .requests()
        .into_iter()
        .filter(|one| one.path.starts_with("/app-manifests"));
    assert_eq!(conversions.count(), 0);
    assert_eq!(person.comes_back(&newer).await.status(), 303);
}

/// The form goes to the GitHub that was configured, no matter what was filled in.
#[tokio::test]
async fn what_is_filled_in_is_checked_and_escaped() {
    let stage = Stage::new("").await;
    let setting_up = SettingUp::start(&door(&stage), "127.0.0.1:0").await;
    let person = setting_up.enter().await;
    let hostile = "\"><script>alert(1)</script>";
    for (organization, public) in [
        (hostile, "https://bots.example"),
        ("acme", hostile),
        ("../x", "https://a.example"),
        ("acme", "http://bots.example"),
        ("acme", "https://bots.example/sub"),
        ("", "https://bots.example"),
    ] {
        let fields = [
            ("name", hostile),
            ("owner", "organization"),
            ("organization", organization),
            ("public_url", public),
        ];
        let response = filled(person.post("/setup"), &fields).send().await.unwrap();
        assert_eq!(response.status(), 422);
        let page = response.text().await.unwrap();
        assert!(page.contains("role=\"alert\"") && !page.contains("<script>"), "{page}");
    }
    let large = filled(person.post("/setup"), &[("name", &"x".repeat(20 << 10))])
        .send()
        .await
        .unwrap();
    assert_eq!(large.status(), 400);
    let fields = [
        ("name", hostile),
        ("owner", "person"),
        ("public_url", "https://bots.example"),
    ];
    let review = filled(person.post("/setup"), &fields).send().await.unwrap();
    let policy = review.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_string();
    let github = stage.double.web_url();
    assert!(policy.contains(&format!("form-action 'self' {github};")), "{policy}");
    let page = review.text().await.unwrap();
    assert!(
        page.contains(&format!("action=\"{github}/settings/apps/new?state=")),
        "{page}"
    );
    assert!(
        !page.contains("<script") && page.contains("pull_requests: write"),
        "{page}"
    );
}

/// There the secret in the link is all there is: a proxy may be in front.
#[tokio::test]
async fn on_other_addresses_only_the_link_opens_the_page() {
    let stage = Stage::new("").await;
    let setting_up = SettingUp::start(&door(&stage), "0.0.0.0:0").await;
    assert!(setting_up.link.starts_with("http://localhost:"), "{}", setting_up.link);
    setting_up.until_printed("ssh -L").await;
    let stranger = Person::anybody(&setting_up);
    assert_eq!(
        stranger
            .get("/setup/created?code=a&state=b")
            .send()
            .await
            .unwrap()
            .status(),
        404
    );
    let person = setting_up.enter().await;
    let fields = [
        ("name", "x"),
        ("owner", "person"),
        ("public_url", "https://bots.example"),
    ];
    let through_proxy = |origin: &str| {
        let mut request = filled(person.post("/setup"), &fields).build().unwrap();
        for (name, value) in [("x-forwarded-host", "bots.example"), ("origin", origin)] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        person.http.execute(request)
    };
    assert_eq!(through_proxy("https://evil.example").await.unwrap().status(), 403);
    let review = through_proxy("https://bots.example").await.unwrap();
    let page = unescaped(&review.text().await.unwrap());
    assert!(
        page.contains("\"redirect_url\":\"https://bots.example/setup/created\""),
        "{page}"
    );
}

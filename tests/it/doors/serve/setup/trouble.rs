//! GitHub or the disk fails in the middle: the person is told what to do, and nothing is lost.

use github_double::Fault;

use super::*;

async fn begun(door: &Door) -> (SettingUp, Person, String) {
    let setting_up = SettingUp::start(door, "127.0.0.1:0").await;
    let person = setting_up.enter().await;
    let back = person.create(&setting_up.url).await;
    (setting_up, person, back)
}

async fn again(person: &Person) -> u16 {
    person.post("/setup/again").send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_code_is_kept_while_github_does_not_answer() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let (setting_up, person, back) = begun(&door).await;
    for fault in [
        Fault::BadGatewayBefore,
        Fault::ResetBefore,
        Fault::TooManyRequests { retry_after: 60 },
    ] {
        stage.double.plan_fault("POST", "/app-manifests/", fault);
    }
    let failed = person.comes_back(&back).await;
    assert_eq!(failed.status(), 502);
    let page = failed.text().await.unwrap();
    assert!(
        page.contains("Nothing is lost") && page.contains("GitHub answered 502"),
        "{page}"
    );
    setting_up.until_printed("the setup did not get further").await;
    // The form would forget the code.
    assert_eq!(person.get("/").send().await.unwrap().status(), 409);
    assert_eq!(again(&person).await, 502);
    assert_eq!(again(&person).await, 502);
    assert_eq!(again(&person).await, 303);
    is_stored(&setting_up, &door).await;
}

#[tokio::test]
async fn a_code_that_github_does_not_know_leads_to_the_form() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let (setting_up, person, back) = begun(&door).await;
    stage.double.age_codes();
    let failed = person.comes_back(&back).await;
    assert_eq!(failed.status(), 502);
    let page = failed.text().await.unwrap();
    assert!(
        page.contains("older than an hour") && page.contains("Delete it there"),
        "{page}"
    );
    assert_eq!(person.get("/").send().await.unwrap().status(), 200);
    let back = person.create(&setting_up.url).await;
    assert_eq!(person.comes_back(&back).await.status(), 303);
    is_stored(&setting_up, &door).await;
}

/// The answer to the exchange was lost, so nobody has the key.
#[tokio::test]
async fn a_lost_answer_is_told_as_it_is() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let (_setting_up, person, back) = begun(&door).await;
    stage.double.plan_fault("POST", "/app-manifests/", Fault::ResetAfter);
    assert_eq!(person.comes_back(&back).await.status(), 502);
    let page = person.post("/setup/again").send().await.unwrap().text().await.unwrap();
    assert!(page.contains("nobody has its key"), "{page}");
}

#[tokio::test]
async fn a_key_is_kept_in_memory_while_it_cannot_be_stored() {
    let stage = Stage::new("").await;
    let door = door(&stage);
    let (setting_up, person, back) = begun(&door).await;
    let file = door.data().join("github-app.json");
    std::fs::write(&file, "of somebody else").unwrap();
    let failed = person.comes_back(&back).await;
    assert_eq!(failed.status(), 507);
    let page = failed.text().await.unwrap();
    assert!(
        page.contains("cannot be stored") && page.contains("github-app.json"),
        "{page}"
    );
    assert_eq!(again(&person).await, 507);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of somebody else");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(again(&person).await, 303);
    is_stored(&setting_up, &door).await;
    let conversions = stage
        .double
        .requests()
        .into_iter()
        .filter(|one| one.path.starts_with("/app-manifests"));
    assert_eq!(conversions.count(), 1);
}

/// The App is stored, its server starts, and no secret was printed.
async fn is_stored(setting_up: &SettingUp, door: &Door) {
    setting_up.until_printed("\"listening\"").await;
    for secret in secrets(door) {
        assert!(!setting_up.printed().contains(&secret), "{secret}");
    }
}

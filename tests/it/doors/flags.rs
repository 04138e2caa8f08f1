//! How the program is asked: help, version, and what it says to arguments it does not know.

use super::Door;

#[tokio::test]
async fn every_subcommand_explains_itself() {
    let door = Door::new();
    let help = door.run(["--help"]).await.with(0);
    for part in [
        "fix",
        "demo",
        "serve",
        "action",
        "sandbox",
        "doctor",
        "Exit codes: 0 fixed",
        "ctrl-c",
    ] {
        assert!(help.out.contains(part), "{part}: {}", help.out);
    }
    for (verb, part) in [
        ("fix", "--yes"),
        ("demo", "--approve"),
        ("serve", "GREENLIGHT_WEBHOOK_SECRET_FILE"),
        ("action", "GITHUB_TOKEN"),
        ("sandbox", "--network"),
        ("doctor", "--json"),
    ] {
        let help = door.run([verb, "--help"]).await.with(0);
        assert!(help.out.contains(part), "{part}: {}", help.out);
        assert_eq!(help.err, "");
    }
    let version = door.run(["--version"]).await.with(0);
    assert_eq!(version.out, format!("greenlight {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn what_is_not_known_is_a_usage_error() {
    let door = Door::new();
    for (arguments, part) in [
        (&[] as &[&str], "Usage: greenlight"),
        (&["fixx"], "'fix'"),
        (&["fix", "--yess"], "'--yes'"),
        (&["fix", "one", "two"], "unexpected argument 'two'"),
        (&["fix", "--sandbox", "some"], "there is no sandbox \"some\""),
        (&["serve", "--workers", "0"], "--workers"),
        (&["serve", "--listen", "8080"], "--listen"),
        (&["demo", "--github-only", "nowhere"], "--github-only"),
        (&["demo", "--approve", "--github-only"], "--github-only"),
    ] {
        let ended = door.run(arguments).await.with(2).saying(part);
        assert_eq!(ended.out, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn odd_settings_are_named() {
    let door = Door::new();
    for (name, value) in [
        ("GREENLIGHT_LOG", "info,="),
        ("GREENLIGHT_LOG_FORMAT", "xml"),
        ("GREENLIGHT_MODEL_BASE_URL", "nowhere"),
        ("GREENLIGHT_GITHUB_API_URL", "nowhere"),
    ] {
        // What only a service needs is none of a local verb's business.
        let of_a_service = name == "GREENLIGHT_GITHUB_API_URL";
        let verbs = if of_a_service {
            &["serve", "action"][..]
        } else {
            &["fix", "demo", "serve", "action"]
        };
        for verb in verbs {
            let door = Door::new().with(name, value);
            door.run([*verb]).await.with(2).saying(name);
        }
    }
    for verb in ["fix", "serve"] {
        let door = Door::new()
            .with("GREENLIGHT_DATA_DIR", "/proc/nowhere")
            .with("GREENLIGHT_WEBHOOK_SECRET", "s3cret-of-a-test");
        let door = door.with("GREENLIGHT_GITHUB_TOKEN", "t");
        door.run([verb]).await.with(2).saying("GREENLIGHT_DATA_DIR");
    }
    let missing = door.data().join("not-there");
    door.run(["fix".as_ref(), missing.as_os_str()])
        .await
        .with(2)
        .saying("not-there: No such file or directory");
    let file = door.data().join("file");
    std::fs::write(&file, "").unwrap();
    door.run(["fix".as_ref(), file.as_os_str()])
        .await
        .with(2)
        .saying("is no folder");
}

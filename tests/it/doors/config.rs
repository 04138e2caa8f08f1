//! `greenlight config`: mistakes with their lines, settings without secrets, and the schema.

use super::{Door, written};

const SECRET: &str = "sesame-of-a-test";

#[tokio::test]
async fn every_mistake_has_its_file_and_line() {
    let text = b"execution = \"sandbox\"\n[limits]\ntoken = 5\nturns = 0\n[test]\ntimeout = \"soon\"\n";
    let checkout = written(&[
        ("greenlight.toml", text),
        ("fine.toml", b"[limits]\nturns = 3\n"),
        ("broken.toml", b"[limits\n"),
    ]);
    let check = async |file: &str| {
        let mut command = Door::new().command(["config", "check", file]);
        command.current_dir(checkout.path());
        super::ended(command.spawn().unwrap()).await
    };
    let ended = check("greenlight.toml").await.with(2).saying("there are 3 mistakes");
    insta::assert_snapshot!(ended.out, @r#"
    greenlight.toml:3: `limits.token`: there is no such field; did you mean `tokens`?
    greenlight.toml:4: `limits.turns`: 0 is not between 1 and 200
    greenlight.toml:6: `test.timeout`: "soon" is not a duration such as "90s", "10m" or "24h"
    "#);
    assert_eq!(check(".").await.with(2).out, ended.out);
    assert_eq!(check("fine.toml").await.with(0).out, "fine.toml is fine\n");
    let broken = check("broken.toml").await.with(2);
    assert!(broken.out.starts_with("broken.toml:1: "), "{}", broken.out);
    check("gone.toml")
        .await
        .with(2)
        .saying("gone.toml: there is no such file");
    let empty = written(&[]);
    let ended = Door::new()
        .run(["config".as_ref(), "check".as_ref(), empty.path().as_os_str()])
        .await
        .with(0);
    assert!(ended.out.contains("so the defaults count"), "{}", ended.out);
}

#[tokio::test]
async fn hostile_files_are_bounded_and_steer_no_terminal() {
    let text = "\"\\u001b]0;owned\\u0007::error::x\" = 1\n".to_owned() + &"a = 1\n".repeat(1_000);
    let files: [(&str, &[u8]); 2] = [
        ("greenlight.toml", text.as_bytes()),
        ("bytes.toml", b"a = \"\xff\x1b[31m\"\n"),
    ];
    let checkout = written(&files);
    std::os::unix::fs::symlink("/dev/zero", checkout.path().join("endless.toml")).unwrap();
    for name in ["greenlight.toml", "bytes.toml", "endless.toml"] {
        let file = checkout.path().join(name);
        let ended = Door::new()
            .run(["config".as_ref(), "check".as_ref(), file.as_os_str()])
            .await
            .with(2);
        assert!(
            ended.out.len() < 40_000 && !(ended.out + &ended.err).contains(['\u{1b}', '\u{7}']),
            "{name}"
        );
    }
}

#[tokio::test]
async fn settings_are_shown_and_secrets_are_not() {
    let checkout = written(&[("greenlight.toml", b"[limits]\nturns = 7\n")]);
    let mut door = Door::new();
    let file = door.data().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    for (name, value) in [
        ("GREENLIGHT_MODEL", "some-model"),
        ("GREENLIGHT_MODEL_API_KEY", SECRET),
        (
            "GREENLIGHT_DATABASE_URL",
            "postgres://ada:sesame-of-a-test@localhost/greenlight",
        ),
        ("GITHUB_TOKEN", SECRET),
        ("GREENLIGHT_WEBHOOK_SECRET_FILE", file.to_str().unwrap()),
    ] {
        door = door.with(name, value);
    }
    let ended = door
        .run(["config".as_ref(), "show".as_ref(), checkout.path().as_os_str()])
        .await
        .with(0);
    for part in [
        "turns = 7\n",
        "tokens = 400000\n",
        "# GREENLIGHT_MODEL: some-model\n",
        "# GREENLIGHT_MODEL_API_KEY: set, not shown\n",
        "# GREENLIGHT_GITHUB_TOKEN: set, not shown\n",
        "# GREENLIGHT_WEBHOOK_SECRET: set, not shown\n",
        "# GREENLIGHT_PRIVATE_KEY: not set\n",
        "# GREENLIGHT_DATABASE_URL: a PostgreSQL database, not shown\n",
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    assert!(!(ended.out.clone() + &ended.err).contains(SECRET));
    let shown = greenlight::config::RepoConfig::parse(&ended.out).unwrap();
    assert_eq!(shown.limits.turns, 7);

    let broken = written(&[("greenlight.toml", b"turns = 7\n")]);
    let show = ["config".as_ref(), "show".as_ref(), broken.path().as_os_str()];
    Door::new()
        .run(show)
        .await
        .with(2)
        .saying("greenlight.toml line 1, `turns`");
    Door::new()
        .with("GREENLIGHT_ENGINE", "gpt")
        .run(["config", "show"])
        .await
        .with(2)
        .saying("GREENLIGHT_ENGINE");
}

/// Everything that docs/serve.md lists is shown, and what `serve` would refuse is an error.
#[tokio::test]
async fn every_documented_setting_is_shown() {
    let manual = std::fs::read_to_string("docs/serve.md").unwrap();
    let rows = manual.lines().filter(|line| line.starts_with("| `"));
    let names: Vec<&str> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2))
        .filter(|name| name.starts_with("GREENLIGHT_") && !name.ends_with("_FILE") && !name.contains('…'))
        .collect();
    assert!(names.len() > 25, "{names:?}");
    let mut door = Door::new();
    for (name, value) in [
        ("GREENLIGHT_WORKERS", "7"),
        ("GREENLIGHT_LABELS", "gpu"),
        ("GREENLIGHT_METRICS_TOKEN", SECRET),
        ("GREENLIGHT_CLIENT_ID", "Iv23liAbc"),
        ("GREENLIGHT_REPOSITORIES", "acme/*, octo/rail"),
        ("GREENLIGHT_RETENTION_RUNS", "90d"),
    ] {
        door = door.with(name, value);
    }
    let checkout = written(&[]);
    let arguments = ["config".as_ref(), "show".as_ref(), checkout.path().as_os_str()];
    let shown = door.run(arguments).await.with(0).out;
    for name in names {
        assert!(shown.contains(&format!("# {name}: ")), "{name}: {shown}");
    }
    for part in [
        "GREENLIGHT_LISTEN: 127.0.0.1:8080\n",
        "GREENLIGHT_WORKERS: 7\n",
        "GREENLIGHT_LABELS: gpu\n",
        "GREENLIGHT_METRICS_TOKEN: set, not shown\n",
        "GREENLIGHT_CLIENT_ID: Iv23liAbc\n",
        "GREENLIGHT_REPOSITORIES: acme/*,octo/rail\n",
        "GREENLIGHT_RETENTION_RUNS: 90d\n",
        "GREENLIGHT_RETENTION_MIRRORS: 32GiB\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains(SECRET), "{shown}");
    for name in ["GREENLIGHT_WORKERS", "GREENLIGHT_LISTEN", "GREENLIGHT_MAX_PER_OWNER"] {
        let ended = Door::new().with(name, "zz").run(["config", "show"]).await.with(2);
        ended.saying(name);
    }
}

#[tokio::test]
async fn the_schema_is_printed_as_it_is_published() {
    let ended = Door::new().run(["config", "schema"]).await.with(0);
    assert_eq!(
        ended.out,
        std::fs::read_to_string("docs/greenlight.schema.json").unwrap()
    );
}

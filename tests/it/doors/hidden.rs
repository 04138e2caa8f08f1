//! greenlight's files are private: the code under test cannot see them, and other users cannot open them.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::fix::{GREEN, RED, sums};
use super::stage::Stage;
use super::{Door, tree};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_service_does_not_start_where_code_under_test_could_read_what_it_keeps() {
    let stage = Stage::new("").await;
    let link = tempfile::tempdir().unwrap();
    symlink("/usr/share", link.path().join("link")).unwrap();
    let linked = link.path().join("link/greenlight-test").display().to_string();
    for (setting, value) in [
        (
            "GREENLIGHT_DATABASE_URL",
            "sqlite:///usr/share/greenlight-test/journal.db".to_owned(),
        ),
        ("GREENLIGHT_BUNDLES", "/usr/local/share/greenlight-test".into()),
        ("GREENLIGHT_DATA_DIR", "/usr/lib/greenlight-test".into()),
        ("GREENLIGHT_BUNDLES", linked.clone()),
        ("GREENLIGHT_DATABASE_URL", format!("sqlite://{linked}/journal.db")),
    ] {
        let door = stage.app().with(setting, value);
        let ended = door.run(["serve", "--listen", "127.0.0.1:0"]).await.with(2);
        let ended = ended.saying("is in a folder that the sandbox shows to the code under test");
        ended.saying(&format!("set {setting} to another place"));
    }
    for place in ["/usr/share", "/usr/local/share", "/usr/lib"] {
        assert!(!Path::new(place).join("greenlight-test").exists(), "{place}");
    }
}

#[tokio::test]
async fn a_local_run_keeps_nothing_in_the_checkout() {
    let checkout = sums(RED, &[]);
    let inside = checkout.path().join("own");
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("link");
    symlink(checkout.path(), &link).unwrap();
    for folder in [inside.clone(), link.join("own")] {
        let door = Door::new().with("GREENLIGHT_DATA_DIR", folder.to_str().unwrap());
        let ended = door.run(["fix".as_ref(), checkout.path().as_os_str()]).await.with(2);
        ended.saying("(GREENLIGHT_DATA_DIR) is inside the checkout, where the tests could read it");
        assert!(!folder.exists(), "{}", folder.display());
    }
    // A key would also be in every copy that tests run in.
    std::fs::write(checkout.path().join("key"), "sk-canary").unwrap();
    let key = checkout.path().join("key").display().to_string();
    let door = Door::new().with("GREENLIGHT_MODEL_API_KEY_FILE", key);
    let ended = door.run(["tests".as_ref(), checkout.path().as_os_str()]).await.with(2);
    ended.saying("set GREENLIGHT_MODEL_API_KEY_FILE to another place");
}

/// Files that an earlier version created, or that were copied from elsewhere.
#[tokio::test]
async fn others_can_no_longer_open_what_they_could() {
    let checkout = sums(GREEN, &[]);
    let place = tempfile::tempdir().unwrap();
    let (data, bundles) = (place.path().join("data"), place.path().join("bundles"));
    let files = [
        "greenlight.db",
        "greenlight.db-wal",
        ".lock",
        "mirrors/a/b/in-use",
        "installed/local/x.memory.json",
    ]
    .map(|name| data.join(name));
    for file in files
        .iter()
        .chain(&[bundles.join("acme/rail/r1.zip"), bundles.join("notes")])
    {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        open(file, 0o664);
    }
    open(&data, 0o755);
    let door = Door::new().with("GREENLIGHT_DATA_DIR", data.to_str().unwrap());
    door.run(["tests".as_ref(), checkout.path().as_os_str()]).await.with(0);
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    for folder in ["", "mirrors", "mirrors/a", "mirrors/a/b", "installed", "local"] {
        assert_eq!(mode(&data.join(folder)), 0o700, "{folder}");
    }

    // A folder that others use as well stays open to them, and so do files that are not greenlight's.
    std::fs::write(data.join("app.pem"), "").unwrap();
    open(&data, 0o755);
    let stage = Stage::new("").await;
    let door = stage
        .app()
        .with("GREENLIGHT_DATA_DIR", data.to_str().unwrap())
        .with("GREENLIGHT_BUNDLES", bundles.to_str().unwrap())
        .with("GREENLIGHT_MODEL", "gpt")
        .with("GREENLIGHT_MODEL_BASE_URL", "http://127.0.0.1:1")
        .with("GREENLIGHT_GITHUB_API_URL", "http://127.0.0.1:1");
    // It ends with an error, because GitHub is unreachable.
    door.run(["serve", "--listen", "127.0.0.1:0"])
        .await
        .with(2)
        .saying("others can no longer open this");
    assert_eq!((mode(&data), mode(&bundles.join("acme/rail/r1.zip"))), (0o755, 0o600));
    assert_eq!((mode(&bundles.join("notes")), mode(&bundles)), (0o664, mode(&bundles)));
}

/// This holds for every created file, regardless of the umask.
#[tokio::test]
async fn what_a_run_leaves_is_for_its_user_alone() {
    let checkout = sums(RED, &[]);
    let door = Door::new();
    open(door.data(), 0o755);
    let data = door.data().join("own");
    let door = door.with("GREENLIGHT_DATA_DIR", data.to_str().unwrap());
    let bundle = door.data().join("kept/run.zip");
    let arguments = ["fix", "--yes", "--record", bundle.to_str().unwrap()].map(AsRef::<std::ffi::OsStr>::as_ref);
    door.run(arguments.into_iter().chain([checkout.path().as_os_str()]))
        .await
        .with(0);
    let left = tree(&data);
    assert!(
        left.keys().any(|path| path.ends_with(".memory.json")),
        "{:?}",
        left.keys()
    );
    let own = left.keys().map(|path| data.join(path)).chain([bundle.clone()]);
    for path in own {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert_eq!(mode(path.parent().unwrap()), 0o700, "{}", path.display());
    }
}

//! Which parts of a home and of the system are mounted, and which are not.

use super::*;

#[test]
fn of_a_home_only_tools_are_shown() {
    let home = tempfile::tempdir().unwrap();
    for directory in [
        ".cargo/bin",
        ".m2/repository",
        ".cargo/registry/cache",
        ".cargo/git/db",
        ".rustup",
        ".ssh",
        ".config/gh",
        ".local/share/keyrings",
        "work",
    ] {
        fs::create_dir_all(home.path().join(directory)).unwrap();
    }
    fs::write(home.path().join(".cargo/credentials.toml"), "").unwrap();
    fs::write(home.path().join(".m2/settings.xml"), "").unwrap();
    let path = env::join_paths([
        home.path().join("work"),
        home.path().join(".cargo/bin"),
        "/usr/bin".into(),
    ])
    .unwrap();
    let found = Toolchains::find(Some(home.path()), &path, None);

    for hidden in [
        "",
        ".cargo",
        ".cargo/credentials.toml",
        ".m2/settings.xml",
        ".ssh",
        ".config",
        ".config/gh",
        ".local/share/keyrings",
        "work",
    ] {
        assert!(!found.shows(&home.path().join(hidden)), "{hidden}");
    }
    for shown in [
        ".cargo/bin",
        ".cargo/registry/cache",
        ".cargo/git/db",
        ".m2/repository",
        ".rustup",
    ] {
        assert!(found.shows(&home.path().join(shown)), "{shown}");
    }
    assert_eq!(
        found.env["PATH"],
        format!("{}/.cargo/bin:/usr/bin:/usr/local/bin:/bin", home.path().display())
    );
    assert_eq!(
        found.env["RUSTUP_HOME"],
        home.path().join(".rustup").display().to_string()
    );
    assert!(!found.env.contains_key("NVM_DIR"));
}

#[test]
fn a_home_among_the_programs_is_shown_and_therefore_noticed() {
    let found = Toolchains::find(None, OsStr::new(""), None);
    assert!(
        found.shows(Path::new("/usr/share")) && !found.shows(Path::new("/var/lib")) && !found.shows(Path::new("/etc"))
    );
}

#[test]
fn what_is_not_there_yet_is_judged_by_where_it_would_be() {
    let place = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/usr/share", place.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/usr/share/none/file", place.path().join("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", place.path().join("loop")).unwrap();
    let found = Toolchains::find(None, OsStr::new(""), None);
    for shown in ["link", "link/none", "link/none/deep", "dangling"] {
        assert!(found.shows(&place.path().join(shown)), "{shown}");
    }
    for hidden in ["", "none", "loop", "loop/x"] {
        assert!(!found.shows(&place.path().join(hidden)), "{hidden}");
    }
    assert!(found.shows(Path::new("/usr/local/share/none")) && found.shows(Path::new("/usr/lib")));
    assert!(!found.shows(Path::new("/usr/local/etc/npmrc")) && !found.shows(Path::new("/usr/local/none")));
}

//! `greenlight sandbox` and `greenlight doctor`: how to examine the confinement before trusting it.

use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::Value;

use super::{Door, Ended, ended, until, written};

async fn sandbox(directory: &Path, arguments: &[&str]) -> Ended {
    let door = Door::new();
    let mut command = door.command(["sandbox"].iter().chain(arguments));
    command.current_dir(directory);
    ended(command.spawn().unwrap()).await
}

fn document(ended: &Ended) -> Value {
    assert_eq!(ended.out.lines().count(), 1, "{ended:#?}");
    serde_json::from_str(&ended.out).unwrap()
}

#[tokio::test]
async fn a_command_runs_in_a_copy_of_the_directory() {
    let directory = written(&[("a.txt", b"hello\n"), (".gitignore", b".env\n"), (".env", b"TOKEN=x\n")]);
    let script = "cat a.txt; ls -a; touch b.txt; echo oops >&2; exit 3";
    let run = sandbox(directory.path(), &["--", "sh", "-c", script]).await.with(3);
    assert!(
        run.out.starts_with("hello\n") && !run.out.contains(".env\n"),
        "{}",
        run.out
    );
    let run = run.saying("oops").saying("native sandbox · exited with 3");
    for part in [
        "limits: 10 min · 2 GiB memory",
        "network loopback",
        "enforced: secrets, ",
        "partial: ",
        "disk",
    ] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    assert!(!directory.path().join("b.txt").exists());
}

#[tokio::test]
async fn scripts_get_one_document() {
    let directory = written(&[("greenlight.toml", b"[sandbox]\nprocesses = 12\n")]);
    let arguments = [
        "--json",
        "--network",
        "none",
        "--timeout",
        "20s",
        "--",
        "sh",
        "-c",
        "echo out; kill -9 $$",
    ];
    let run = sandbox(directory.path(), &arguments).await.with(137);
    let document = document(&run);
    assert_eq!(
        document["outcome"],
        serde_json::json!({ "kind": "signalled", "signal": 9 })
    );
    assert_eq!(document["stdout"]["text"], "out\n");
    assert_eq!(document["network"]["mode"], "none");
    assert_eq!(document["guarantees"]["secrets"], "enforced");
    assert_eq!(
        (&document["limits"]["processes"], &document["limits"]["wall_seconds"]),
        (&12.into(), &20.0.into())
    );
}

#[tokio::test]
async fn every_end_has_a_code_of_its_own() {
    let directory = written(&[("greenlight.toml", b"[sandbox]\nmemory = \"512MiB\"\ndisk = \"64MiB\"\n")]);
    // Where temporary files are kept in memory, files count as memory, too: the limit of the disk has to come first.
    let fills_the_disk = "i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > $i; done";
    for (arguments, code, kind) in [
        (&["--timeout", "1", "--", "sleep", "1000"][..], 124, "timed_out"),
        (
            &["--", "python3", "-c", "x = [b'x' * (1 << 20) for _ in range(1000)]"],
            137,
            "out_of_memory",
        ),
        (&["--", "sh", "-c", fills_the_disk], 153, "disk_limit"),
        (&["--", "no-such-program"], 127, "did_not_start"),
        (&["--", "true"], 0, "exited"),
    ] {
        let arguments: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        let run = sandbox(directory.path(), &arguments).await.with(code);
        assert_eq!(document(&run)["outcome"]["kind"], kind);
    }
}

#[tokio::test]
async fn what_cannot_be_had_is_refused_and_nothing_runs() {
    let directory = written(&[("greenlight.toml", b"[sandbox]\nrequire = [\"disk\"]\n")]);
    let run = sandbox(directory.path(), &["--json", "--", "touch", "x"]).await.with(3);
    assert!(
        document(&run)["error"]
            .as_str()
            .unwrap()
            .contains("`require` names disk"),
        "{}",
        run.out
    );
    let run = sandbox(directory.path(), &["--sandbox", "chroot", "--", "true"])
        .await
        .with(2);
    run.saying("there is no sandbox \"chroot\"; choose one of native, bubblewrap");
    sandbox(directory.path(), &[]).await.with(2).saying("COMMAND");
}

#[tokio::test]
async fn what_lies_in_the_directory_hangs_nobody() {
    let directory = written(&[]);
    let pipe = directory.path().join("greenlight.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
    let run = sandbox(directory.path(), &["--", "true"]).await.with(2);
    run.saying("not an ordinary file");
    // A process that waits for a pipe without a writer must be interruptible.
    std::fs::remove_file(pipe).unwrap();
    let pipe = directory.path().join(".gitignore");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
    let mut command = Door::new().command(["sandbox", "--", "true"]);
    let child = command.current_dir(directory.path()).spawn().unwrap();
    until("it waits for the pipe", || {
        std::fs::File::options()
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe)
            .is_ok()
    })
    .await;
    super::signal(&child, rustix::process::Signal::TERM);
    ended(child).await;
}

#[tokio::test]
async fn every_sandbox_can_be_looked_at() {
    let directory = written(&[("a.txt", b"hello\n")]);
    for backend in ["native", "bubblewrap", "landlock", "none"] {
        let run = sandbox(directory.path(), &["--backend", backend, "--", "cat", "a.txt"]).await;
        if run.code == Some(3) {
            eprintln!("unavailable: {}", run.err);
            continue;
        }
        assert_eq!(run.with(0).out, "hello\n", "{backend}");
    }
}

#[tokio::test]
async fn terminals_are_safe_from_what_is_printed() {
    let directory = written(&[]);
    let run = sandbox(directory.path(), &["--", "printf", "a\\033[2Jb\\n"])
        .await
        .with(0);
    assert!(!run.out.contains('\u{1b}') && run.out.contains('b'), "{:?}", run.out);
}

#[tokio::test]
async fn the_doctor_shows_every_sandbox() {
    let door = Door::new();
    let shown = door.run(["doctor"]).await.with(0);
    for part in [
        "native",
        "bubblewrap",
        "docker",
        "podman",
        "landlock",
        "none",
        "secrets",
        "`--sandbox auto` takes native",
        "disk is partial in native",
        "(GREENLIGHT_DATA_DIR): hidden in native",
        "io_setup and io_uring_setup: refused in native",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    let documents = door.run(["doctor", "--json"]).await.with(0);
    let document = document(&documents);
    assert_eq!(document["chosen"], "native");
    let places = document["places"].as_array().unwrap();
    let own = places
        .iter()
        .find(|place| place["setting"] == "GREENLIGHT_DATA_DIR")
        .unwrap();
    assert_eq!(
        (&own["hidden"][0], &own["shown"]),
        (&"native".into(), &serde_json::json!([]))
    );
    if rustix::process::geteuid().is_root() {
        let tools = places.iter().find(|place| place["place"] == "/opt").unwrap();
        assert_eq!(tools["hidden"][0], "native", "{tools}");
    }
    assert_eq!(document["backends"][0]["breaches"], serde_json::json!([]));
    // The tests need Python themselves.
    let programs = document["machine"]["programs"]["found"].as_array().unwrap();
    assert!(programs.contains(&"python3".into()), "{programs:?}");
    // None of its temporary files remain, and a flag without an effect is rejected.
    let left = std::fs::read_dir(door.data())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["installed"], "which was there before");
    door.run(["doctor", "--sandbox", "native"])
        .await
        .with(2)
        .saying("--sandbox");
    for backend in document["backends"].as_array().unwrap() {
        let is_explained = match backend["usable"].as_bool().unwrap() {
            true => backend["guarantees"]["tree_kill"].is_string(),
            false => ["reason", "remedy"]
                .iter()
                .all(|key| backend[key].as_str().is_some_and(|text| text.len() > 10)),
        };
        assert!(is_explained, "{backend}");
    }
}

/// A path that is visible inside is reported before it contains anything.
#[tokio::test]
async fn the_doctor_finds_what_code_under_test_could_read() {
    let door = Door::new().with(
        "GREENLIGHT_DATABASE_URL",
        "sqlite:///usr/share/greenlight-test/journal.db",
    );
    let shown = door.run(["doctor"]).await.with(3);
    for part in [
        "(GREENLIGHT_DATABASE_URL): READABLE in native",
        "remedy: set GREENLIGHT_DATABASE_URL",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
}

/// `nohup`, a shell's `&` and Python start programs with ignored signals, and that survives an exec.
#[tokio::test]
async fn signals_that_greenlight_was_started_to_ignore_reach_the_command() {
    let directory = written(&[]);
    for backend in ["native", "none"] {
        for (signal, code) in [("INT", 130), ("XFSZ", 153)] {
            let script = format!("kill -{signal} $$; echo deaf");
            let greenlight = env!("CARGO_BIN_EXE_greenlight");
            let run = [greenlight, "sandbox", "--sandbox", backend, "--", "sh", "-c", &script];
            let deaf = ["-c", "trap '' INT XFSZ CHLD; exec \"$@\"", "sh"];
            let mut command = Door::new().command_of(Path::new("sh"), deaf.into_iter().chain(run));
            command.current_dir(directory.path());
            let ended = ended(command.spawn().unwrap()).await.with(code);
            assert_eq!(ended.out, "", "{backend}, {signal}");
        }
    }
}

#[tokio::test]
async fn other_programs_of_its_user_cannot_read_its_environment() {
    let folder = written(&[]);
    let program = folder.path().join("greenlight");
    let built = env!("CARGO_BIN_EXE_greenlight");
    // A file that another process had open for writing, such as a child that was just forked, cannot be executed.
    if std::fs::hard_link(built, &program).is_err() {
        std::fs::copy(built, &program).unwrap();
    }
    let anybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), anybody).unwrap();
    let door = Door::new()
        .with("GREENLIGHT_DATA_DIR", folder.path().join("data").display().to_string())
        .with("GITHUB_TOKEN", "ghs_canary");
    let run = ["sandbox", "--sandbox", "none", "--", "sleep", "1000"];
    // Root may read everything, so switch to another user first.
    let mut command = if rustix::process::geteuid().is_root() {
        let become_somebody = [
            "--reuid",
            "54321",
            "--regid",
            "54321",
            "--clear-groups",
            program.to_str().unwrap(),
        ];
        door.command_of(Path::new("setpriv"), become_somebody.into_iter().chain(run))
    } else {
        door.command(run)
    };
    let child = command.current_dir(folder.path()).spawn().unwrap();
    let process = format!("/proc/{}", child.id().unwrap());
    // It is hardened before it starts anything.
    until("it runs the command", || {
        let threads = std::fs::read_dir(format!("{process}/task"))
            .into_iter()
            .flatten()
            .flatten();
        threads
            .map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default())
            .any(|list| !list.is_empty())
    })
    .await;
    assert_eq!(
        std::fs::metadata(format!("{process}/environ")).unwrap().uid(),
        0,
        "the kernel keeps it from its user"
    );
}

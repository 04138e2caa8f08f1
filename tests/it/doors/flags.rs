//! The command line: help, version, and errors about unknown arguments.

use super::Door;
use super::fix::{GREEN, sums};

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
        ("mcp", "--install"),
        ("init", "--mcp"),
        ("doctor", "--json"),
        ("doctor", "Exit codes: 0 a sandbox works"),
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
        (&["inti"], "'init'"),
        (&["setup"], "'init'"),
        (&["fxi"], "'fix'"),
        (&["dmeo"], "'demo'"),
        (&["repair"], "'fix'"),
        (&["run"], "'tests'"),
        (&["config", "chek"], "'check'"),
        (&["config"], "Usage: greenlight config"),
        (&["init", "--dry-rnu"], "'--dry-run'"),
        (&["tests", "--quite"], "'--quiet'"),
        (&["completions", "bsh"], "'bash'"),
        (&["fix", "--yess"], "'--yes'"),
        (&["fix", "one", "two"], "unexpected argument 'two'"),
        (&["fix", "--sandbox", "some"], "there is no sandbox \"some\""),
        (&["serve", "--workers", "65"], "--workers"),
        (&["serve", "--listen", "8080"], "--listen"),
        (&["demo", "--github-only", "nowhere"], "--github-only"),
        (&["demo", "--approve", "--github-only"], "--github-only"),
        (&["demo", "--github-only", "127.0.0.1"], "such as http://127.0.0.1:8080"),
        // Flags that would have no effect are rejected.
        (&["demo", "--github-only", "127.0.0.1:1", "--model", "m"], "--model"),
        (&["doctor", "--sandbox", "docker"], "--sandbox"),
        (&["fix", "--database-url", "sqlite://x"], "--database-url"),
        (&["explain", "--yes-tests"], "--yes-tests"),
        (&["mcp", "--json"], "--json"),
        (&["init", "--mcp", "--app"], "--app"),
        (&["tests", "--list", "--install"], "--install"),
        (
            &["suggest", "--patch", "-", "--base", "main", "--pull-request", "1"],
            "--base",
        ),
        (&["sandbox", "--timeout", "soon", "--", "true"], "`2s`"),
        (
            &["sandbox", "--sandbox", "some", "--", "true"],
            "there is no sandbox \"some\"",
        ),
        (&["fix", "--without", "tool,luck"], "invalid value 'luck'"),
        (&["fix", "--without", "tool", "--record", "run.zip"], "--record"),
        (&["explain", "--without", "tool"], "--without"),
        (&["fix", "--engine", "gpt"], "--engine does not name an engine"),
        (&["runs", "--state", "foo"], "nothing-to-fix"),
        (&["stats", "--since", "foo"], "`30d`"),
        (&["verify", "nosuch"], "nosuch: there is no such folder"),
        (&["replay", "nosuch"], "nosuch: there is no such file"),
        (&["replay", "/"], "/ is a folder; name the file that"),
        (&["replay", "/etc/hostname"], "it is not a whole ZIP file"),
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
        // Local commands do not mention settings that only a service needs.
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
    // A folder for temporary files that is missing is no fault of the sandboxes.
    for verb in ["fix", "tests", "explain"] {
        let nowhere = Door::new().with("TMPDIR", "/proc/nowhere");
        let checkout = sums(GREEN, &[]);
        let ended = nowhere.run([verb.as_ref(), checkout.path().as_os_str()]).await.with(2);
        let ended = ended.saying("temporary files cannot be written to /proc/nowhere: there is no such folder");
        assert!(
            ended.err.contains("set TMPDIR") && !ended.err.contains("sandbox"),
            "{}",
            ended.err
        );
    }
    let missing = door.data().join("not-there");
    door.run(["fix".as_ref(), missing.as_os_str()])
        .await
        .with(2)
        .saying("not-there: there is no such folder");
    let file = door.data().join("file");
    std::fs::write(&file, "").unwrap();
    door.run(["fix".as_ref(), file.as_os_str()])
        .await
        .with(2)
        .saying("is not a folder");
}

#[tokio::test]
async fn what_was_used_is_named() {
    let door = Door::new().with("GREENLIGHT_ENGINE", "gpt");
    door.run(["fix"])
        .await
        .with(2)
        .saying("GREENLIGHT_ENGINE does not name an engine");
    let door = Door::new()
        .with("GREENLIGHT_APP_ID", "1")
        .with("GREENLIGHT_WEBHOOK_SECRET", "s");
    let by_variable = door.with("GREENLIGHT_PRIVATE_KEY_FILE", "/nope.pem");
    by_variable
        .run(["serve"])
        .await
        .with(2)
        .saying("GREENLIGHT_PRIVATE_KEY_FILE names /nope.pem");
    let by_flag = ["serve", "--private-key-file", "/nope.pem"];
    Door::new()
        .run(by_flag)
        .await
        .with(2)
        .saying("--private-key-file names /nope.pem");
    let door = Door::new()
        .with("GREENLIGHT_WORKERS", "many")
        .with("GREENLIGHT_WEBHOOK_SECRET", "s");
    door.run(["serve"]).await.with(2).saying("GREENLIGHT_WORKERS");
    let door = Door::new()
        .with("GREENLIGHT_LISTEN", "8080")
        .with("GREENLIGHT_WEBHOOK_SECRET", "s");
    door.run(["serve"])
        .await
        .with(2)
        .saying("GREENLIGHT_LISTEN: it is not an address");
    // `localhost` is a valid address; the error is about something else.
    let door = Door::new().with("GREENLIGHT_APP_ID", "1");
    let named = door.run(["serve", "--listen", "localhost:8099"]).await.with(2);
    assert!(
        named.err.contains("GREENLIGHT_WEBHOOK_SECRET is not set"),
        "{}",
        named.err
    );
}

/// Every flag of `serve` has an environment variable, so that a unit file needs no arguments.
#[tokio::test]
async fn every_flag_of_the_service_has_a_variable() {
    let help = Door::new().run(["serve", "--help"]).await.with(0).out;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    // The colour flag uses variables that other programs share.
    let is_everybodys = |flag: &str| flag.starts_with("help") || flag.starts_with("color ");
    let flags = words.split(" --").skip(1).filter(|flag| !is_everybodys(flag));
    for flag in flags.filter(|flag| flag.split_once(' ').is_some_and(|(_, rest)| rest.starts_with('<'))) {
        assert!(flag.contains("[env: GREENLIGHT_"), "--{flag}");
    }
}

/// The names in the list of subcommands, without `help`.
fn subcommands(help: &str) -> Vec<String> {
    let (_, listed) = help.split_once("\nCommands:\n").unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(String::from).collect()
}

#[tokio::test]
async fn help_says_how_a_verb_ends_and_what_it_needs() {
    let door = Door::new();
    for verb in subcommands(&door.run(["--help"]).await.with(0).out) {
        let help = door.run([&verb, "--help"]).await.with(0).out;
        assert!(help.contains("Exit codes: "), "{verb}: {help}");
        for inner in subcommands(&help) {
            let help = door.run([&verb, &inner, "--help"]).await.with(0).out;
            assert!(help.contains("Exit codes: "), "{verb} {inner}: {help}");
        }
    }
    // Help lines are wrapped to the width of a page.
    let flat = |help: String| help.split_whitespace().collect::<Vec<_>>().join(" ");
    for verb in ["tdd", "refactor"] {
        let help = flat(door.run([verb, "--help"]).await.with(0).out);
        assert!(help.contains("needs a model"), "{verb}: {help}");
    }
    let verbs = flat(door.run(["--help"]).await.with(0).out);
    assert!(verbs.contains("says more with a model"), "{verbs}");
    let explain = flat(door.run(["explain", "--help"]).await.with(0).out);
    assert!(!explain.contains("working tree"), "{explain}");
    let demo = flat(door.run(["demo", "--help"]).await.with(0).out);
    assert!(demo.contains("without a terminal"), "{demo}");
}

#[tokio::test]
async fn shells_complete_and_man_pages_exist() {
    let door = Door::new();
    for (shell, part) in [
        ("bash", "_greenlight()"),
        ("zsh", "#compdef greenlight"),
        ("fish", "complete -c greenlight"),
    ] {
        let script = door.run(["completions", shell]).await.with(0);
        assert!(
            script.out.contains(part) && script.out.contains("dry-run"),
            "{shell}: {}",
            script.out
        );
    }
    // A file that is cut short is no success.
    let mut full = door.command(["completions", "bash"]);
    full.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    super::ended(full.spawn().unwrap())
        .await
        .with(2)
        .saying("standard output cannot be written: No space left");
    let script = door.run(["completions", "bash"]).await.with(0).out;
    let asked = "COMP_WORDS=(greenlight config sh)\nCOMP_CWORD=2\n_greenlight greenlight sh config\necho \"${COMPREPLY[*]}\"\n\
         COMP_WORDS=(greenlight fix --sandbox b)\nCOMP_CWORD=3\n_greenlight greenlight b --sandbox\n\
         echo \"${COMPREPLY[*]}\"\n";
    let file = door.data().join("completed.sh");
    std::fs::write(&file, format!("{script}\n{asked}")).unwrap();
    let completed = super::ended(door.command_of("bash".as_ref(), [&file]).spawn().unwrap())
        .await
        .with(0);
    assert_eq!(completed.out, "show\nbubblewrap\n");

    let page = door.run(["man"]).await.with(0);
    assert!(
        page.out.contains(".TH greenlight 1") && page.out.contains("greenlight\\-init(1)"),
        "{}",
        page.out
    );
    let folder = door.data().join("share/man1");
    let quiet = door
        .run(["man".as_ref(), "-q".as_ref(), folder.as_os_str()])
        .await
        .with(0);
    assert_eq!((quiet.out, quiet.err), (String::new(), String::new()));
    for page in ["greenlight.1", "greenlight-fix.1", "greenlight-config-check.1"] {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        let footer = format!("\"greenlight {}", env!("CARGO_PKG_VERSION"));
        let title = text.lines().find(|line| line.starts_with(".TH")).unwrap();
        assert!(title.contains(&footer), "{title}");
        let has_codes = text.contains(".SH \"EXIT STATUS\"\n0 ") || page == "greenlight-config-check.1";
        assert!(has_codes && !text.contains("EXTRA"), "{text}");
    }
    let file = door.data().join("completed.sh");
    door.run(["man".as_ref(), file.as_os_str()])
        .await
        .with(2)
        .saying("completed.sh");
}

#[tokio::test]
async fn quiet_leaves_out_notes_and_nothing_else() {
    let checkout = super::written(&[(
        "test_a.py",
        b"import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.fail('no')\n",
    )]);
    let tests = async |flags: &[&str]| {
        let words = flags.iter().map(AsRef::<std::ffi::OsStr>::as_ref);
        Door::new().run(words.chain([checkout.path().as_os_str()])).await
    };
    let only = ["tests", "--only", "A"];
    let loud = tests(&only).await.with(1).saying("note: `A` is");
    let quiet = tests(&[&only[..], &["-q"]].concat())
        .await
        .with(1)
        .saying("greenlight: 1 failed");
    assert!(!quiet.err.contains("note: "), "{}", quiet.err);
    let headlines = [&loud.out, &quiet.out].map(|out| out.contains("Failed: 1 test, 1 failed"));
    assert_eq!(headlines, [true, true]);
    let unknown = tests(&["--quiet", "tests", "--only", "nonsense"]).await.with(2);
    unknown.saying("there is no test called `nonsense`");
}

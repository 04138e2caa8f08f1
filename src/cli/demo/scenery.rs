//! The setting of the demo: a small real repository, and a pull request with a small real bug.

use github_double::{AUTHOR, Double, DoubleError, JobLog, NewPullRequest, World};

use super::narrator::Narrator;

/// The repository of the demo.
pub(super) const REPOSITORY: &str = "acme/rail";

/// One file of the demo: its path, and its text before and in the pull request, where it exists.
struct File {
    path: &'static str,
    on_main: Option<&'static str>,
    in_pull_request: Option<&'static str>,
}

macro_rules! rail {
    ($side:literal, $path:literal) => {
        include_str!(concat!("../../../tests/fixtures/repos/rail/", $side, "/", $path))
    };
}

const FILES: [File; 8] = [
    File {
        path: "Cargo.toml",
        on_main: Some(rail!("base", "Cargo.toml")),
        in_pull_request: None,
    },
    File {
        path: "Cargo.lock",
        on_main: Some(rail!("base", "Cargo.lock")),
        in_pull_request: None,
    },
    File {
        path: ".gitignore",
        on_main: Some(rail!("base", ".gitignore")),
        in_pull_request: None,
    },
    File {
        path: ".github/workflows/ci.yml",
        on_main: Some(rail!("base", ".github/workflows/ci.yml")),
        in_pull_request: None,
    },
    File {
        path: "tests/reserve.rs",
        on_main: Some(rail!("base", "tests/reserve.rs")),
        in_pull_request: None,
    },
    File {
        path: "README.md",
        on_main: Some(rail!("base", "README.md")),
        in_pull_request: Some(rail!("before", "README.md")),
    },
    File {
        path: "src/lib.rs",
        on_main: Some(rail!("base", "src/lib.rs")),
        in_pull_request: Some(rail!("before", "src/lib.rs")),
    },
    File {
        path: "tests/on_board.rs",
        on_main: None,
        in_pull_request: Some(rail!("before", "tests/on_board.rs")),
    },
];

/// The author has write access, and the base branch says that this is enough for sandboxed runs.
const CONFIG: &str = "execution = \"sandbox\"\n";

/// The log of the failed CI job.
const LOG: &str = include_str!("ci.log");

/// The state of GitHub before anything happens.
pub(super) fn world() -> World {
    let mut files: Vec<(&str, &[u8])> = FILES
        .iter()
        .filter_map(|file| Some((file.path, file.on_main?.as_bytes())))
        .collect();
    files.push(("greenlight.toml", CONFIG.as_bytes()));
    World::with_repository(REPOSITORY, &files)
}

/// Opens the pull request, and lets its CI fail.
pub(super) async fn red_pull_request(double: &Double, narrator: &Narrator) -> Result<u64, DoubleError> {
    let mut new = NewPullRequest::new(AUTHOR, "passenger-counts", "Say how many passengers are on board")
        .body("Conductors want to know how full the train is after each stop.");
    for file in &FILES {
        if let Some(text) = file.in_pull_request {
            new = new.write(file.path, text);
        }
    }
    let number = double.open_pull_request(new).await?;
    let heading = format!(
        "{} #{number}: Say how many passengers are on board",
        double.repository()
    );
    narrator.follow(number, &heading);
    narrator.catch_up();
    narrator.say("CI ran `cargo test` on it: red. The failure goes to greenlight as a signed webhook.");
    let log = JobLog {
        workflow: "CI",
        job: "test",
        step: "cargo test",
        log: LOG,
    };
    double.fail_ci(number, log).await?;
    Ok(number)
}

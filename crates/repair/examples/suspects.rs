//! Ranks the code of a small tree by how suspicious one failing test makes it. Nothing of the tree runs.

use std::collections::BTreeMap;
use std::error::Error;

use greenlight_readers::test_run::{Failure, Outcome, TestRun};
use greenlight_repair::{Task, suspects};
use greenlight_sandbox::{Backend, Choice, Policy, Sandbox};
use greenlight_suite::{Hints, Installed, RunClock, Suite, TestSettings, find};
use greenlight_tree::checkout::Checkout;
use tokio_util::sync::CancellationToken;

const CODE: &str = "\
ADULT = 4


def child_fare(age):
    return 2 if age < 12 else ADULT


def receipt(fares):
    return ', '.join(fares)
";
const TESTS: &str = "\
from fares import child_fare


def test_twelve_is_a_child():
    assert child_fare(12) == 2
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("fares.py"), CODE)?;
    std::fs::write(folder.path().join("test_fares.py"), TESTS)?;
    std::fs::write(folder.path().join("pytest.ini"), "[pytest]\n")?;
    let checkout = Checkout::open(folder.path())?;
    let command = find(&checkout, &TestSettings::default(), &Hints::default())?;
    let failure = Failure {
        name: "test_fares.py::test_twelve_is_a_child".into(),
        ..Failure::default()
    };
    let before = TestRun {
        failed: 1,
        failures: vec![failure],
        ..TestRun::without_result(command.to_string(), Outcome::Failed, "")
    };
    let suite = Suite {
        sandbox: Sandbox::detect(Choice::Only(Backend::None), std::env::current_exe()?).await?,
        command,
        policy: Policy::default(),
        workspaces: folder.path().join("workspaces"),
        installed: Installed::default(),
        prebuilt: greenlight_suite::Prebuilt::default(),
        cold_proof: false,
        purpose: greenlight_suite::Purpose::default(),
        clock: RunClock::default(),
    };
    let task = Task {
        checkout: &checkout,
        suite: &suite,
        before: &before,
        changed: &BTreeMap::new(),
        originals: &BTreeMap::new(),
        protected: &|_| false,
        excluded: &[],
        turned_down: &[],
        tried: &[],
        left_out: greenlight_repair::LeftOut::default(),
    };
    let mut places = suspects(&task, &CancellationToken::new()).await?;
    places.dedup();
    for (path, line) in places {
        show(&format!("{path}:{line}"));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(text: &str) {
    println!("{text}");
}

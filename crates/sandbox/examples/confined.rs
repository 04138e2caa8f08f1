//! Runs a command that inspects its environment, in the best sandbox of this machine, and prints what it saw.

use std::process::ExitCode;

use greenlight_sandbox::{Choice, Command, Policy, Sandbox, helpers};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    // The sandbox starts this program again to confine itself; nothing else may happen in that process.
    if helpers::is_wanted() {
        return helpers::main();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            show(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::detect(Choice::Auto, std::env::current_exe()?).await?;
    show(&format!("{}: {}", sandbox.backend(), sandbox.guarantees()));
    let workspace = tempfile::tempdir()?;
    let command = Command::new(["sh", "-c", "id; pwd; ls -a /; env"], workspace.path());
    let output = sandbox
        .exec(&command, &Policy::default(), &CancellationToken::new())
        .await?;
    show(&format!("it {}\n{}", output.outcome, output.stdout.text()));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(line: &str) {
    println!("{line}");
}

//! The door: parse flags, start logging, run one subcommand, map the result to an exit code.

use std::process::ExitCode;

use greenlight::sandbox::helper;

fn main() -> ExitCode {
    // The sandbox starts this program again as its own helper, before anything of the bot exists.
    if helper::is_wanted() {
        return helper::main();
    }
    ExitCode::SUCCESS
}

//! The door: parse flags, start logging, run one subcommand, map the result to an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The sandbox starts this program again to confine itself; nothing else may happen in that process.
    if greenlight::sandbox::helpers::is_wanted() {
        return greenlight::sandbox::helpers::main();
    }
    greenlight::cli::main(greenlight::cli::Cli::read())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_flags_are_well_formed() {
        greenlight::cli::Cli::command().debug_assert();
    }
}

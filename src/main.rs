//! The door: parse flags, start logging, run one subcommand, map the result to an exit code.

fn main() {}

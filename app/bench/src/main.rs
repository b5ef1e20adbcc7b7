//! The benches (the figures of `docs/performance.md`), the soaks, and the test of the page, run by `cargo xtask bench`,
//! `soak` and `browser`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod browser;
mod failure;
mod hop;
mod planted;
mod soak;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure transfers over emulated links, tunnels without loss, and the emulator itself.
    Bench(bench::Options),
    /// Show the page of `lasthop web` to a browser, and check what it makes of it.
    Browser(browser::Options),
    /// Search for faults by random tests, for minutes or hours.
    Soak(soak::Options),
    /// Plant bugs one by one, and check that each is found.
    Planted(planted::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Bench(options) => bench::run(&options),
        Command::Browser(options) => browser::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Planted(options) => planted::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod test {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        super::Arguments::command().debug_assert();
    }
}

//! The repository's own commands: `cargo xtask check` runs the steps of CI, `cargo xtask audit` checks the
//! dependencies, `cargo xtask bench` measures, `cargo xtask soak` searches for faults until it is stopped,
//! `cargo xtask mutants` counts the mistakes that tests find, `cargo xtask fuzz` searches for inputs that break a
//! decoder or a core, and `cargo xtask planted` checks that planted bugs are found. `cargo xtask guide`, `dist`,
//! `package` and `release` make what users get.
//!
//! A command is one file with a `run` function; a step of `check` is one function that [`check`]
//! lists.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod audit;
mod check;
mod dist;
mod files;
mod forward;
mod fuzz;
mod guide;
mod layers;
mod lints;
mod mutants;
mod outcome;
mod package;
mod ratchets;
mod release;
mod source;
mod tests;
mod tools;

/// The repository's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything that CI runs, in CI's order.
    Check(check::Options),
    /// Measure: transfers over emulated links, tunnels without loss, the emulator itself.
    #[command(disable_help_flag = true)]
    Bench(forward::Options),
    /// Show the page of `lasthop web` to a headless Chromium, and check what it makes of it.
    #[command(disable_help_flag = true)]
    Browser(forward::Options),
    /// Look for faults with chance, for minutes or hours.
    #[command(disable_help_flag = true)]
    Soak(forward::Options),
    /// Make small mistakes in the code, and count those that a test finds.
    Mutants(mutants::Options),
    /// Run a test program until a test fails: how `mutants` calls itself.
    #[command(hide = true)]
    FirstFailure(mutants::first::Options),
    /// Search for inputs that break a target, guided by the code that they reach.
    Fuzz(fuzz::Options),
    /// Plant bugs one by one, in a build of their own, and check that the simulators find each.
    #[command(disable_help_flag = true)]
    Planted(forward::Options),
    /// Make a book of HTML pages of the folder `docs`; builds mdBook once.
    Guide(guide::Options),
    /// Build the static program that users get, with its manual and an archive.
    Dist(dist::Options),
    /// Build the Debian package, and test it in a Debian of its own.
    Package(package::Options),
    /// Make a release: versions, changelog, packages, checksums, bill of materials, tag.
    Release(release::Options),
    /// Check licences, advisories, bans and sources of all dependencies (deny.toml).
    Audit(audit::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check(options) => check::run(&options),
        Command::Bench(options) => forward::run("bench", &options),
        Command::Browser(options) => forward::run("browser", &options),
        Command::Soak(options) => forward::run("soak", &options),
        Command::Mutants(options) => mutants::run(&options),
        Command::FirstFailure(options) => mutants::first::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Planted(options) => forward::run("planted", &options),
        Command::Guide(options) => guide::run(&options),
        Command::Dist(options) => dist::run(&options),
        Command::Package(options) => package::run(&options),
        Command::Release(options) => release::run(&options),
        Command::Audit(options) => audit::run(&options),
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

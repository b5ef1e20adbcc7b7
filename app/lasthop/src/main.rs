//! Makes files and TCP fast across a lossy last hop. One binary has every role; each command is a module of its name.

#[cfg(all(lasthop_planted, not(test)))]
compile_error!("the program has no planted bugs; `cargo xtask planted` builds what they need");

mod announce;
mod background;
mod bar;
mod capture;
mod check;
mod clash;
mod clean;
mod client;
mod config;
mod daemon;
mod demo;
mod doctor;
mod drain;
mod emulate;
mod entropy;
mod failure;
mod hand_over;
mod help;
mod interrupt;
mod invite;
mod join;
mod key_file;
mod keygen;
#[cfg(feature = "lab")]
mod lab;
mod lifetime;
mod links;
mod log;
mod manual;
mod mount;
mod r#move;
mod nfs;
mod peers;
mod registry;
mod reload;
mod rotate;
mod secrets;
mod service;
mod signals;
mod state;
mod status;
mod top;
mod up;
mod web;

use std::borrow::Cow;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::Failure;

const EXAMPLES: &str = "\
Examples:
  lasthop demo                               show it on this machine
  lasthop gateway up                         make this host a gateway; prints a join line
  lasthop join lasthop-join1-…               join it from a mobile host
  lasthop invite --name tablet7              a join line for another mobile host
  lasthop gateway --config gateway.toml      a gateway by a configuration of yours
  lasthop mobile --config mobile.toml        a mobile host by a configuration of yours
  lasthop check gateway.toml                 validate a configuration
  lasthop reload                             take a changed configuration without a restart
  lasthop status                             the state of the hop, at either end
  lasthop move west                          another gateway of the site serves this mobile host
  lasthop announce --in '500 ms'             the hop is about to change: another gateway serves by then
  lasthop drain                              the mobile hosts of this gateway go to others of its site
  lasthop top                                the same each second, with the fades of the last minute
  lasthop web                                metrics for Prometheus, and a live page, of a daemon
  lasthop doctor                             what keeps the hop from working well, with remedies
  lasthop signals                            fades and hand-offs as they happen
  lasthop capture hop.pcapng                 packets and frames of a daemon, for Wireshark
  lasthop emulate --link l2-b80              a fading link between two interfaces
  lasthop nfs cp -r notes nfs://files/srv/   files to, from and between NFS servers
  lasthop mount nfs://files/srv/export /mnt  files at an NFS server, for all programs";
#[cfg(feature = "lab")]
const LAB_EXAMPLE: &str = "
  lasthop lab list                           experiments in the simulator";
#[cfg(not(feature = "lab"))]
const LAB_EXAMPLE: &str = "";

/// Makes files and TCP fast across a lossy last hop: losses on the air are repaired on the hop itself.
#[derive(Debug, Parser)]
#[command(version, after_help = format!("{EXAMPLES}{LAB_EXAMPLE}"))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Announce(announce::Arguments),
    Capture(capture::Arguments),
    Check(check::Arguments),
    Clean(clean::Arguments),
    Gateway(daemon::GatewayArguments),
    Invite(invite::Arguments),
    Join(join::JoinArguments),
    Leave(join::LeaveArguments),
    Mobile(daemon::MobileArguments),
    Demo(demo::Arguments),
    Doctor(doctor::Arguments),
    Drain(drain::Arguments),
    Emulate(emulate::Arguments),
    Keygen(keygen::Arguments),
    #[cfg(feature = "lab")]
    Lab(lab::Arguments),
    Mount(Box<mount::Arguments>),
    Move(r#move::Arguments),
    Nfs(Box<nfs::Arguments>),
    Peers(peers::PeersArguments),
    Reload(reload::Arguments),
    Rename(peers::RenameArguments),
    Revoke(peers::RevokeArguments),
    Rotate(rotate::Arguments),
    Signals(signals::Arguments),
    Status(status::Arguments),
    Sync(mount::SyncArguments),
    Top(top::Arguments),
    Unmount(mount::UnmountArguments),
    Web(web::Arguments),
    #[command(hide = true)]
    WebRelay(web::RelayArguments),
}

/// Commands that users do not type, so they are in no help: the helpers that a daemon starts, and the manual's maker.
fn internal() -> Option<Result<(), Failure>> {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next()?;
    match command.to_str()? {
        daemon::HELPER => Some(daemon::run_helper()),
        daemon::RESOLVER_HELPER => Some(daemon::run_resolver_helper()),
        manual::COMMAND => Some(manual::run(arguments.next())),
        _ => None,
    }
}

/// Returns the whole command line, with all texts of its help.
fn command_line() -> clap::Command {
    let links = |command: clap::Command| command.after_help(links::list());
    Arguments::command()
        .mut_subcommand("demo", links)
        .mut_subcommand("emulate", links)
}

/// Ends this process for an error in its arguments, which is shown without secrets: it repeats what was typed.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    match secrets::hide(&text) {
        Cow::Borrowed(_) => error.exit(),
        Cow::Owned(text) => {
            eprint!("{text}");
            std::process::exit(error.exit_code());
        }
    }
}

/// Returns the command in the arguments of this process. Help, and errors, end it.
fn parse() -> Command {
    let matches = Arguments::command().try_get_matches();
    // To make all texts of the help takes longer than most commands do, and few runs show one.
    let matches = matches.or_else(|_| help::fit(command_line(), help::width()).try_get_matches());
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| refuse(&error)).command
}

fn main() -> ExitCode {
    let outcome = internal().unwrap_or_else(|| run(parse()));
    match outcome {
        Ok(()) => {
            log::finish(None);
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Capture(arguments) => capture::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Invite(arguments) => invite::run(&arguments),
        Command::Join(arguments) => join::join(&arguments),
        Command::Leave(arguments) => join::leave(&arguments),
        Command::Peers(arguments) => peers::list(&arguments),
        Command::Rename(arguments) => peers::rename(&arguments),
        Command::Revoke(arguments) => peers::revoke(&arguments),
        Command::Rotate(arguments) => rotate::run(&arguments),
        Command::Gateway(arguments) => daemon::run_gateway(&arguments),
        Command::Mobile(arguments) => daemon::run_mobile(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Keygen(arguments) => keygen::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Mount(arguments) => mount::run(&arguments),
        Command::Announce(arguments) => announce::run(&arguments),
        Command::Drain(arguments) => drain::run(&arguments),
        Command::Move(arguments) => r#move::run(&arguments),
        Command::Nfs(arguments) => nfs::run(&arguments),
        Command::Reload(arguments) => reload::run(&arguments),
        Command::Signals(arguments) => signals::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Sync(arguments) => mount::run_sync(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Unmount(arguments) => mount::run_unmount(&arguments),
        Command::Web(arguments) => web::run(&arguments),
        Command::WebRelay(arguments) => web::run_relay(&arguments),
    }
}

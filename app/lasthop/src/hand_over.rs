//! `lasthop gateway hand-over`: ends the gateway, whose split connections go on with one on another machine.

use std::io::{IsTerminal, stdin, stdout};
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::Args;
use edges::hold::Hold;
use edges::process::allow_open_files;
use edges::signals::Signals;
use edges::undo::UndoLog;
use runtime::signals::ENDING;
use runtime::succession::dialogue::Dialogue;
use runtime::succession::{Succession, ask_predecessor};

use crate::config::Source;
use crate::config::gateway::GatewayConfig;
use crate::failure::Failure;
use crate::invite;
use crate::log;
use crate::state::STATE;
use crate::up::refuse_without_root;

/// Most open files of the connections.
const FILES: u64 = 1 << 20;

const EXAMPLES: &str = "\
Examples, on the machine that takes the place of `east`:
  lasthop gateway --config gateway.toml --take-over-with 'ssh root@east lasthop gateway hand-over'

The other gateway needs the same keys and mobile hosts, and says when it is ready; until then nothing changes here.
Then the gateway here ends, takes its changes to the system back, and sends its split connections by standard output.
They are reset if the other one does not take them.";

/// End the gateway here; its split connections go on with one on another machine, which starts this command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The gateway's configuration [default: that of `gateway up`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of `lasthop gateway up`
    #[arg(long, value_name = "FOLDER", default_value = STATE, conflicts_with = "config")]
    state: PathBuf,
}

/// Waits for the other gateway, and hands over.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    refuse_without_root()?;
    if stdin().is_terminal() || stdout().is_terminal() {
        return Err(Failure::setting(
            "another gateway has to start this command: start that one with --take-over-with 'ssh … lasthop gateway \
             hand-over'",
        ));
    }
    log::start()?;
    let path = invite::configuration(arguments.config.as_deref(), &arguments.state)?;
    let source = Source::read(&path)?;
    let config = GatewayConfig::load(&source)?;
    allow_open_files(FILES).map_err(Failure::setting)?;
    let mut dialogue = dialogue()?;
    dialogue.offer().map_err(|error| {
        Failure::setting(format!(
            "the other gateway does not start, and nothing has changed here: {error}"
        ))
    })?;
    // From here on nothing is left half done.
    let _signals = Signals::catch().map_err(Failure::broken)?;
    let socket = source.socket()?;
    let parcel = ask_predecessor(&socket).map_err(|error| {
        Failure::broken(format!(
            "the gateway here does not hand its connections over ({}: {error})",
            socket.display()
        ))
    })?;
    let succession = parcel.map(Succession::unpack).transpose();
    let folder = source.file(&config.state_dir);
    let (mut undo, _) = UndoLog::open(&folder, &config.name.0).map_err(Failure::broken)?;
    let given = give(
        succession.map_err(Failure::broken)?,
        &config.name.0,
        &mut undo,
        &mut dialogue,
    );
    undo.undo().map_err(Failure::broken)?;
    for file in [&socket, &socket.with_extension(ENDING)] {
        // The next process here would replace it. Without one it may be gone, or stay.
        let _ = std::fs::remove_file(file);
    }
    let count = given?;
    eprintln!("{count} sockets of split connections go on with the other gateway.");
    Ok(())
}

fn dialogue() -> Result<Dialogue, Failure> {
    let input = stdin().as_fd().try_clone_to_owned();
    let output = stdout().as_fd().try_clone_to_owned();
    let dialogue = input.and_then(|input| Dialogue::new(input, output?));
    dialogue.map_err(Failure::broken)
}

/// Gives these connections to the other gateway; returns the number of their sockets.
fn give(
    succession: Option<Succession>,
    instance: &str,
    undo: &mut UndoLog,
    dialogue: &mut Dialogue,
) -> Result<usize, Failure> {
    let Some(succession) = succession else {
        undo.remove_left_tables().map_err(Failure::broken)?;
        dialogue.give(&[]).map_err(Failure::broken)?;
        return Ok(0);
    };
    let hold = Hold {
        instance: instance.into(),
        connections: succession.ends(),
    };
    undo.install_hold(&hold)
        .and_then(|()| undo.remove_left_tables())
        .map_err(Failure::broken)?;
    let transfer = succession.freeze().map_err(Failure::broken)?;
    let count = transfer.count();
    if let Err(error) = dialogue.give(transfer.bytes()) {
        transfer.reset();
        return Err(Failure::broken(format!(
            "the other gateway has not taken the connections, and {count} sockets are reset: {error}"
        )));
    }
    Ok(count)
}

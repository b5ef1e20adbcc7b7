//! A gateway that goes on with the split connections of a former process, here or on another machine.

use edges::parcel::Parcel;
use hosts::Input;
use runtime::sockets::Sockets;
use runtime::succession::dialogue::Predecessor;
use runtime::succession::{STORED_AS, Succession, ask_predecessor};

use super::gateway::check;
use super::split::Opened;
use crate::config::Source;
use crate::failure::Failure;

/// Where the connections of a former process are.
pub(super) enum Former {
    /// Here: that process has ended.
    Here(Parcel),
    /// On another machine, where it still runs.
    Elsewhere(Predecessor),
}

/// Returns the connections of a former process here: those that the supervisor has kept, or, if `takes_over`, those of
/// the gateway that runs, which ends for that. It ends only if this one can start, as far as that can be checked.
pub(super) fn here(source: &Source, takes_over: bool) -> Result<Option<Former>, Failure> {
    if !takes_over {
        return Ok(Parcel::inherited(STORED_AS).map(Former::Here));
    }
    let socket = source.socket()?;
    check(source.clone())?;
    let parcel = ask_predecessor(&socket).map_err(|error| {
        let at = socket.display();
        Failure::setting(format!(
            "the gateway that runs does not hand its connections over ({at}: {error}); it may be of an older version: \
             end it, and start this one without --take-over"
        ))
    })?;
    Ok(parcel.map(Former::Here))
}

/// Returns the connections of a gateway on another machine, which this command hands over once this one is ready.
pub(super) fn elsewhere(source: &Source, command: &str) -> Result<Former, Failure> {
    check(source.clone())?;
    let predecessor = Predecessor::start(command).map_err(|error| {
        Failure::setting(format!(
            "the command '{command}' offers no connections: {error}; it has to run `lasthop gateway hand-over` as root \
             on the other machine"
        ))
    })?;
    Ok(Former::Elsewhere(predecessor))
}

/// Returns the connections of a former process, with their sockets, for this listener. A gateway on another machine
/// ends for that, so everything has to be ready here, and privileges are needed.
pub(super) fn take(
    former: Option<Former>,
    listener: Option<&Opened>,
) -> Result<Option<Succession>, Failure> {
    let predecessor = match former {
        Some(Former::Elsewhere(predecessor)) => predecessor,
        Some(Former::Here(parcel)) => {
            let unpacked = Succession::unpack(parcel).inspect_err(|error| {
                tracing::warn!("split connections of the former process are reset: {error}");
            });
            return Ok(unpacked.ok());
        }
        None => return Ok(None),
    };
    let transparent = listener.is_some_and(Opened::is_transparent);
    predecessor.succeed(transparent).map_err(|error| {
        Failure::broken(format!(
            "the gateway on the other machine does not hand its connections over: {error}"
        ))
    })
}

/// Goes on with the connections of a former process; returns the input with which the host does.
pub(super) fn begin(
    succession: Option<Succession>,
    sockets: Option<&mut Sockets>,
) -> Option<Input> {
    let (succession, sockets) = succession.zip(sockets)?;
    let count = succession.count();
    match sockets.take_over(succession) {
        Ok(input) => {
            tracing::info!("{count} sockets of split connections go on");
            Some(input)
        }
        Err(error) => {
            tracing::warn!("split connections of the former process are reset: {error}");
            None
        }
    }
}

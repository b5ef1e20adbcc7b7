//! A gateway that goes on with the split connections of a former process.

use edges::parcel::Parcel;
use hosts::Input;
use runtime::sockets::Sockets;
use runtime::succession::{STORED_AS, Succession, ask_predecessor};

use super::gateway::check;
use crate::config::Source;
use crate::failure::Failure;

/// Returns the split connections of a former process: those that the supervisor has kept, or those of the gateway that
/// runs, which ends for that. It ends only if this one can start, as far as that can be checked.
pub(super) fn former(source: &Source, takes_over: bool) -> Result<Option<Parcel>, Failure> {
    if !takes_over {
        return Ok(Parcel::inherited(STORED_AS));
    }
    let socket = source.socket()?;
    check(source.clone())?;
    ask_predecessor(&socket).map_err(|error| {
        let at = socket.display();
        Failure::setting(format!(
            "the gateway that runs does not hand its connections over ({at}: {error}); it may be of an older version: \
             end it, and start this one without --take-over"
        ))
    })
}

/// Goes on with the split connections of a former process; returns the input with which the host does.
pub(super) fn begin(parcel: Option<Parcel>, sockets: Option<&mut Sockets>) -> Option<Input> {
    let (parcel, sockets) = parcel.zip(sockets)?;
    let taken = Succession::unpack(parcel).and_then(|succession| {
        let count = succession.count();
        Ok((count, sockets.take_over(succession)?))
    });
    match taken {
        Ok((count, input)) => {
            tracing::info!("{count} sockets of split connections go on");
            Some(input)
        }
        Err(error) => {
            tracing::warn!("split connections of the former process are reset: {error}");
            None
        }
    }
}

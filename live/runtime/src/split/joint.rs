//! The two streams of a connection that is split, and how far it is.

use edges::transparent::Ends;
use redirector::Side;
use units::Instant;

use super::Request;
use super::stream::Stream;

/// How far a connection is.
#[derive(Debug)]
pub(super) enum Stage {
    /// The other host is asked, with this.
    Asking(Request),
    /// The other host has answered, and the request was let in: the listener is to accept it.
    LetIn,
    /// Both streams are there.
    Joined,
    /// Both are to end; what is written goes out still.
    Ending,
}

/// A connection that is split.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) ends: Ends,
    /// On whose side it was asked for.
    pub(super) asker: Side,
    /// Which mobile host has it.
    pub(super) owner: usize,
    pub(super) stage: Stage,
    /// When it is given up in this stage, if it ever is.
    pub(super) deadline: Option<Instant>,
    /// Who was asked has finished before the stream of who asked was there.
    pub(super) finished_early: bool,
    fixed: Option<Stream>,
    mobile: Option<Stream>,
}

impl Joint {
    /// A connection that `request` asks for.
    pub(super) fn asked(request: Request) -> Self {
        Self {
            ends: request.ends,
            asker: request.asker,
            owner: request.owner,
            stage: Stage::Asking(request),
            deadline: None,
            finished_early: false,
            fixed: None,
            mobile: None,
        }
    }

    pub(super) fn stream(&mut self, side: Side) -> &mut Option<Stream> {
        match side {
            Side::Fixed => &mut self.fixed,
            Side::Mobile => &mut self.mobile,
        }
    }

    /// Ends both streams: one whose end waits to be written goes on until it is, any other is reset. Whether nothing
    /// is left to do.
    pub(super) fn end(&mut self) -> bool {
        self.stage = Stage::Ending;
        for stream in [&mut self.fixed, &mut self.mobile] {
            match stream.take() {
                Some(stream) if stream.is_finished() => stream.let_go(),
                Some(waiting) if waiting.is_finishing() => *stream = Some(waiting),
                _ => {}
            }
        }
        self.fixed.is_none() && self.mobile.is_none()
    }
}

//! What joins the thread that splits to the streams across the hop, which are those of the air's thread.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use hosts::{Choice, Scope, StreamLane, StreamNews};
use mtcp::{Input, Output, Reason};
use redirector::{Chunks, Content};

use super::crossing::Crossing;
use super::mailbox::Mailbox;

/// Connections that may be asked for across the hop before the thread that splits has heard of them; more are refused.
const UNHEARD: usize = 16_384;

/// What is asked of streams.
pub(crate) type Asked = (StreamLane, Input<Chunks>);
/// What is told of them.
pub(crate) type Told = (StreamLane, StreamNews);

/// The streams, as the thread that splits sees them.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    pub(super) told: Mailbox<Told>,
    pub(super) asked: Mailbox<Asked>,
}

impl Streams {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            told: Mailbox::new()?,
            asked: Mailbox::new()?,
        })
    }

    /// Asks the streams of `lane` for something.
    pub(super) fn ask(&self, lane: StreamLane, input: Input<Chunks>) {
        self.asked.put((lane, input));
    }
}

/// The thread that splits, as the one of the air sees it.
#[derive(Debug)]
pub struct StreamPort {
    streams: Streams,
    crossings: Arc<[Crossing]>,
    /// What is told in this turn; the other thread is woken once for all of it.
    telling: VecDeque<Told>,
}

impl StreamPort {
    pub(super) fn new(streams: Streams, crossings: Arc<[Crossing]>) -> Self {
        Self {
            streams,
            crossings,
            telling: VecDeque::new(),
        }
    }

    /// By which way connections that begin now cross to each peer, where it is chosen: `choice` says what is better.
    pub(crate) fn choose(&self, choice: impl Fn(usize) -> Option<Choice>) {
        for crossing in self.crossings.iter() {
            if crossing.scope() == Scope::Chosen
                && let Some(choice) = choice(crossing.peer)
            {
                crossing.choose(choice);
            }
        }
    }

    /// Takes what is asked.
    pub(crate) fn take(&self, into: &mut VecDeque<Asked>) {
        self.streams.asked.take(into);
    }

    /// Tells news, with the next [`flush`](Self::flush). Gives what is to be answered at once: a connection for which
    /// there is no room.
    pub(crate) fn tell(&mut self, lane: StreamLane, news: StreamNews) -> Option<Asked> {
        if let StreamNews::Told(Output::Arrived(id, _)) = news
            && self.streams.told.len() + self.telling.len() >= UNHEARD
        {
            return Some((lane, Input::Refuse(id, Reason::Busy)));
        }
        let rest = match self.telling.back_mut() {
            Some(last) => join(last, (lane, news)),
            None => Some((lane, news)),
        };
        self.telling.extend(rest);
        None
    }

    /// Lets the other thread hear what was told.
    pub(crate) fn flush(&mut self) {
        self.streams.told.put_all(&mut self.telling);
    }
}

impl AsFd for StreamPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.streams.asked.as_fd()
    }
}

/// Lets data follow data of the same connection.
fn join(last: &mut Told, (lane, news): Told) -> Option<Told> {
    match (last, news) {
        (
            (former, StreamNews::Told(Output::Data(to, before))),
            StreamNews::Told(Output::Data(id, content)),
        ) if *former == lane && *to == id => {
            before.append(content);
            None
        }
        (_, news) => Some((lane, news)),
    }
}

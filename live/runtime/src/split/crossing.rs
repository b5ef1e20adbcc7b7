//! By which way connections of a mobile host cross the hop.

use std::net::IpAddr;
use std::sync::Mutex;

use hosts::{Choice, Profile, Scope};
use redirector::Side;

use super::End;
use crate::lock;

/// What both threads know of the ways to one mobile host.
#[derive(Debug)]
pub(super) struct Crossing {
    /// Which peer of the host it is.
    pub(super) peer: usize,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// Of its streams, while there are any.
    profile: Option<Profile>,
    scope: Scope,
    /// The better way for connections that begin now.
    choice: Choice,
}

impl Crossing {
    /// To a peer without streams yet, of whose connections so many are to be split.
    pub(super) fn new(peer: usize, scope: Scope) -> Self {
        let state = State {
            profile: None,
            scope,
            choice: Choice::default(),
        };
        Self {
            peer,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> State {
        *lock(&self.state)
    }

    /// There are streams.
    pub(super) fn begin(&self, profile: Profile, scope: Scope) {
        let mut state = lock(&self.state);
        (state.profile, state.scope) = (Some(profile), scope);
        state.choice = Choice::default();
    }

    /// There are none any more.
    pub(super) fn end(&self) {
        lock(&self.state).profile = None;
    }

    /// Whether streams carry connections between addresses of that kind: the paper's packets hold IPv4's only.
    pub(super) fn carries(&self, address: IpAddr) -> bool {
        match self.state().profile {
            Some(Profile::Wide) => true,
            Some(Profile::Paper) => address.is_ipv4(),
            None => false,
        }
    }

    /// The hop is such that connections that begin now had better go by this way.
    pub(super) fn choose(&self, choice: Choice) {
        lock(&self.state).choice = choice;
    }

    /// Whether a connection that `asker` asks for in that address may be split.
    pub(super) fn may_split(&self, end: &End, (asker, address): (Side, IpAddr)) -> bool {
        match (end, self.scope()) {
            // A mobile host leaves connections alone where no streams cross the hop.
            (End::Mobile { .. }, _) => self.carries(address),
            (End::Gateway { .. }, Scope::Every) => true,
            // What comes as a packet was meant to, and what goes to a mobile host needs streams.
            (End::Gateway { .. }, Scope::Chosen) => asker == Side::Fixed && self.carries(address),
        }
    }

    /// Which of its connections are split.
    pub(super) fn scope(&self) -> Scope {
        self.state().scope
    }

    /// The better way for those that begin now, if it is chosen for each.
    pub(super) fn choice(&self) -> Option<Choice> {
        let state = self.state();
        (state.scope == Scope::Chosen).then_some(state.choice)
    }
}

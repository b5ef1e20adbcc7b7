//! The events of sockets beside hosts that split TCP.

use std::collections::BTreeSet;

use hosts::{Handover, Input};
use units::Duration;

use super::{GATEWAY, MOBILE, Pair};

impl Pair {
    /// Another process takes the place of the gateway's, and goes on with its split connections after `pause`.
    pub(crate) fn succeed(&mut self, pause: Duration) {
        self.hand_in_events();
        self.input(GATEWAY, Input::HandOver);
        self.blackout = self.now..self.now + pause;
    }

    /// Begins the next process of the gateway, which gets this as text.
    pub(super) fn begin_next_process(&mut self, handover: &Handover) {
        self.input(GATEWAY, Input::Leave);
        let kept: BTreeSet<_> = handover.sockets().collect();
        self.systems[GATEWAY].succeed(&kept);
        self.setting.lives[GATEWAY] += 1;
        self.hosts[GATEWAY] = self.first_life(GATEWAY);
        let text = serde_json::to_string(handover).expect("text");
        let handover = serde_json::from_str(&text).expect("what it was");
        self.input(GATEWAY, Input::TakeOver(Box::new(handover)));
        let wall = self.wall();
        self.input(GATEWAY, Input::Wall(wall));
    }

    /// Tells the hosts what has happened on their sockets, until nothing does.
    pub(crate) fn hand_in_events(&mut self) {
        if std::mem::replace(&mut self.handing_in, true) {
            return;
        }
        for host in [MOBILE, GATEWAY] {
            loop {
                while let Some(event) = self.systems[host].poll_event() {
                    self.input(host, Input::System(event));
                }
                let answer = self.answer;
                if answer.is_none_or(|answer| self.systems[host].answer(answer).is_none()) {
                    break;
                }
            }
        }
        self.handing_in = false;
    }
}

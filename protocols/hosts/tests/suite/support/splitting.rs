//! The events of sockets beside hosts that split TCP.

use hosts::Input;

use super::{GATEWAY, MOBILE, Pair};

impl Pair {
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

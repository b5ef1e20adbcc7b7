//! The smallest machine that the loop can drive.

use std::collections::VecDeque;

use hosts::{Input, Output};
use machine::Machine;
use runtime::DrivenHost;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

/// Counts of what an [`Echo`] was given.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct EchoStatus {
    pub(crate) walls: u64,
    pub(crate) link_ups: u64,
}

/// Sends each packet across as a datagram and each datagram back as a packet; the content `later`
/// comes once more when a deadline has passed.
pub(crate) struct Echo {
    peer: HopAddress,
    outputs: VecDeque<Output>,
    due: Option<Instant>,
    status: EchoStatus,
}

impl Echo {
    /// An echo towards `peer`.
    pub(crate) fn new(peer: HopAddress) -> Self {
        Self {
            peer,
            outputs: VecDeque::new(),
            due: None,
            status: EchoStatus::default(),
        }
    }
}

impl Machine for Echo {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        assert!(self.outputs.is_empty(), "the driver drains after each call");
        match input {
            Input::Packet(packet) if *packet == *b"seek" => {
                self.outputs.push_back(Output::Seek { peer: 3 });
            }
            Input::Found { peer, at } => {
                let told = format!("{peer} at {at}");
                let buffer = PacketBuffer::copy_of(told.as_bytes());
                self.outputs.push_back(Output::Packet(Packet::new(buffer)));
            }
            Input::Packet(packet) => {
                let output = Output::Datagram {
                    to: self.peer,
                    buffer: PacketBuffer::copy_of(&packet),
                    ecn: wire::ip::Ecn::NotCapable,
                };
                self.outputs.push_back(output);
            }
            Input::Datagram {
                arrived, buffer, ..
            } => {
                assert!(arrived <= now);
                if *buffer == *b"later" {
                    self.due = Some(now + Duration::from_millis(1));
                }
                self.outputs.push_back(Output::Packet(Packet::new(buffer)));
            }
            Input::Wall(_) => self.status.walls += 1,
            Input::LinkChanging
            | Input::HandoffAnnounced { .. }
            | Input::HandOver
            | Input::TakeOver(_)
            | Input::Leave
            | Input::Admit { .. }
            | Input::ClaimRefused { .. }
            | Input::Keys(_)
            | Input::NextKey(_)
            | Input::Revoke(..)
            | Input::Circumstance(..)
            | Input::Memory(_)
            | Input::MoveTo(_)
            | Input::Compare
            | Input::Drain(_)
            | Input::Overloaded
            | Input::ExitsOpen(_)
            | Input::Told(_)
            | Input::System(_)
            | Input::Path { .. }
            | Input::PortRefused(_)
            | Input::Unreachable(_) => {}
            Input::LinkUp => self.status.link_ups += 1,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            let buffer = PacketBuffer::copy_of(b"now");
            self.outputs.push_back(Output::Packet(Packet::new(buffer)));
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

impl DrivenHost for Echo {
    type Status = EchoStatus;

    fn status(&self, _now: Instant, _from: usize) -> EchoStatus {
        self.status
    }

    fn memory_most(&self, _now: Instant) -> Bytes {
        Bytes::ZERO
    }
}

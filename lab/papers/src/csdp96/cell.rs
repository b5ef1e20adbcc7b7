//! The air with all its stations: the base station and the mobile hosts.

use std::collections::VecDeque;

use channel::{CsmaAir, CsmaCounters, Heard, Station as OnAir};
use machine::{Machine, earlier};
use simulator::{Input, Node, Output};
use units::Instant;

use super::interface::WIRED;
use super::mobile::Mobile;
use super::packet::{Carried, MobilePacket};
use super::station::Station;

/// The air and its stations. It decides nothing: it passes frames and events between them.
#[derive(Debug)]
pub(crate) struct Cell<H: Node> {
    air: CsmaAir<Carried<H::Packet>>,
    station: Station<H::Packet>,
    mobiles: Vec<Mobile<H>>,
    /// Next deadline of each mobile host.
    deadlines: Vec<Option<Instant>>,
    outputs: VecDeque<Output<H::Packet, H::Event>>,
}

impl<H: Node<Packet: MobilePacket>> Cell<H> {
    /// Creates an idle air with its stations.
    pub(crate) fn new(
        air: CsmaAir<Carried<H::Packet>>,
        station: Station<H::Packet>,
        mobiles: Vec<Mobile<H>>,
    ) -> Self {
        Self {
            air,
            station,
            deadlines: mobiles.iter().map(Mobile::poll_timeout).collect(),
            mobiles,
            outputs: VecDeque::new(),
        }
    }

    /// Returns the counters of the air.
    pub(crate) fn air(&self) -> &CsmaCounters {
        self.air.counters()
    }

    /// Returns the base station.
    pub(crate) fn station(&self) -> &Station<H::Packet> {
        &self.station
    }

    /// Returns the mobile hosts, by number.
    pub(crate) fn mobiles(&self) -> &[Mobile<H>] {
        &self.mobiles
    }

    /// Passes frames and events on until no station has any for another.
    fn settle(&mut self, now: Instant) {
        loop {
            let Some(heard) = self.air.poll_output() else {
                let Some(frame) = self.station.poll_frame(now) else {
                    return;
                };
                self.air.handle_input(now, frame);
                continue;
            };
            self.hear(now, heard);
        }
    }

    fn hear(&mut self, now: Instant, heard: Heard<Carried<H::Packet>>) {
        match heard {
            Heard::Delivered(frame) if frame.from == OnAir::Base => {
                self.with_mobile(now, frame.mobile, |mobile| {
                    mobile.hear(now, frame.payload);
                });
            }
            Heard::Delivered(frame) => {
                if let Some(packet) = self.station.hear(now, frame.mobile, frame.payload) {
                    let port = WIRED;
                    self.outputs.push_back(Output::Send { port, packet });
                }
            }
            Heard::Ended {
                frame,
                fate,
                airtime,
            } if frame.from == OnAir::Base => self.station.ended(now, &frame, (fate, airtime)),
            Heard::Ended { frame, fate, .. } => {
                self.with_mobile(now, frame.mobile, |mobile| mobile.ended(now, fate));
            }
            Heard::Damaged {
                at: OnAir::Mobile(mobile),
                joined,
            } => self.station.damaged(mobile, joined),
            // The base station cannot report a frame that it did not receive to its sender.
            Heard::Damaged { .. } => {}
        }
    }

    /// Applies an event to a mobile host, which then acts.
    fn with_mobile(&mut self, now: Instant, number: u16, happens: impl FnOnce(&mut Mobile<H>)) {
        let index = usize::from(number);
        let Some(mobile) = self.mobiles.get_mut(index) else {
            return;
        };
        happens(mobile);
        while let Some(event) = mobile.act(now) {
            self.outputs.push_back(Output::Event(event));
        }
        if let Some(frame) = mobile.poll_frame() {
            self.air.handle_input(now, frame);
        }
        self.deadlines[index] = mobile.poll_timeout();
    }
}

impl<H: Node<Packet: MobilePacket>> Machine for Cell<H> {
    type Input = Input<H::Packet>;
    type Output = Output<H::Packet, H::Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        if let Input::Packet { packet, .. } = input {
            self.station.take(now, packet);
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.air.handle_timeout(now);
        self.station.handle_timeout(now);
        for number in 0..self.mobiles.len() {
            if self.deadlines[number].is_some_and(|due| due <= now) {
                let number = u16::try_from(number).unwrap_or(u16::MAX);
                self.with_mobile(now, number, |mobile| mobile.handle_timeout(now));
            }
        }
        self.settle(now);
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = earlier(self.air.poll_timeout(), self.station.poll_timeout());
        let mobiles = self.deadlines.iter().flatten().min().copied();
        earlier(own, mobiles)
    }
}

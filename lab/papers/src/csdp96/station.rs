//! The base station: a queue for each mobile host, the scheduler that picks one, and a driver with one frame at a time.

use channel::{Frame, Station as OnAir, TransmitResult};
use machine::{Machine, RandomStream, earlier};
use scheduler::config::Monitor;
use scheduler::{Cause, Destination, Input, Outcome, Output, Scheduler, Status};
use units::{Duration, Instant};

use super::late::Late;
use super::opportunity::Channels;
use super::oracle::Oracle;
use super::packet::{Carried, Filter, MobilePacket};
use super::parameters::{Coming, Driver, Hints};
use super::queue::Queue;
use super::receivers::Receivers;
use super::transmit_buffer::TransmitBuffer;
use super::watch::{Account, FadeObserver};

/// The base station.
#[derive(Debug)]
pub(crate) struct Station<P> {
    scheduler: Scheduler,
    queues: Vec<Queue<P>>,
    channels: Channels,
    /// Observed channel states for the scheduler, if it gets them.
    oracle: Option<Oracle>,
    hints: Hints,
    chance: RandomStream,
    receivers: Receivers,
    /// Inputs that the scheduler does not have yet.
    late: Late<Input>,
    card: TransmitBuffer<P>,
    watch: FadeObserver,
    /// Filters of frames, one for each mobile host.
    filters: Vec<Filter>,
}

impl<P: MobilePacket> Station<P> {
    /// Creates an idle base station, with a queue for each channel.
    pub(crate) fn new(
        config: &scheduler::Config,
        driver: Driver,
        channels: (Channels, u16),
        seed: u64,
    ) -> Self {
        let mut scheduler = Scheduler::new(config);
        let (channels, count) = channels;
        for number in 0..count {
            let join = Input::Join {
                destination: Destination(number),
                weight: 1,
            };
            scheduler.handle_input(Instant::ZERO, join);
        }
        scheduler.handle_input(Instant::ZERO, Input::AirFree);
        Self {
            scheduler,
            queues: vec![Queue::new(driver); usize::from(count)],
            channels,
            oracle: (config.monitor == Monitor::Perfect)
                .then(|| Oracle::new(driver.accuracy, count, seed)),
            hints: driver.hints,
            chance: RandomStream::named(seed, "csdp96/hints"),
            receivers: Receivers::new(driver.hints, count, seed),
            late: Late::by(driver.late),
            card: TransmitBuffer::new(driver.copy),
            watch: FadeObserver::new(count),
            filters: vec![Filter::default(); usize::from(count)],
        }
    }

    /// Returns the queues, by mobile host.
    pub(crate) fn queues(&self) -> &[Queue<P>] {
        &self.queues
    }

    /// Returns the true states of the channels.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the account of fades.
    pub(crate) fn account(&self) -> &Account {
        self.watch.account()
    }

    /// Returns the scheduler's counters of a mobile host.
    pub(crate) fn status(&self, mobile: u16) -> Status {
        let status = self.scheduler.status(Destination(mobile));
        status.unwrap_or_default()
    }

    /// Takes a packet from the wire.
    pub(crate) fn take(&mut self, now: Instant, packet: P) {
        let Some(mobile) = packet.mobile() else {
            return;
        };
        if let Some(queue) = self.queues.get_mut(usize::from(mobile)) {
            queue.push(now, packet);
            self.tell_queue(now, mobile);
        }
    }

    /// Takes a frame from the air; returns the packet that goes on to the wire.
    pub(crate) fn hear(&mut self, now: Instant, mobile: u16, carried: Carried<P>) -> Option<P> {
        self.hear_hints(now, mobile);
        let filter = self.filters.get_mut(usize::from(mobile))?;
        filter.take(carried)
    }

    /// Notes that a frame for a mobile host arrived damaged; `joined` is true if other frames collided with it.
    pub(crate) fn damaged(&mut self, mobile: u16, joined: bool) {
        // In a fade the card receives nothing of a frame.
        if self.channels.is_good(mobile) {
            self.receivers.damaged(mobile, joined);
        }
    }

    /// Takes the report that came with an acknowledgement or frame from a mobile host.
    fn hear_hints(&mut self, now: Instant, mobile: u16) {
        if self.hints.come != Coming::WithFrames {
            return;
        }
        let destination = Destination(mobile);
        for hint in self.receivers.tell(mobile) {
            self.late.push(now, Input::Hint { destination, hint });
        }
        self.hear_news(now);
    }

    /// Hands the scheduler the inputs that are known by now.
    fn hear_news(&mut self, now: Instant) {
        while let Some(news) = self.late.pop(now) {
            self.scheduler.handle_input(now, news);
        }
    }

    fn tell_queue(&mut self, now: Instant, mobile: u16) {
        let queue = self.queues.get(usize::from(mobile));
        let waiting = queue.and_then(Queue::waiting);
        self.channels.backlog(now, mobile, waiting.is_some());
        let destination = Destination(mobile);
        let told = Input::Queue {
            destination,
            waiting,
        };
        self.scheduler.handle_input(now, told);
    }

    /// Takes the result of a frame from the card, with the airtime used.
    pub(crate) fn ended(
        &mut self,
        now: Instant,
        frame: &Frame<Carried<P>>,
        (fate, airtime): (TransmitResult, Duration),
    ) {
        let destination = Destination(frame.mobile);
        let sent = Input::Sent {
            destination,
            airtime,
        };
        self.scheduler.handle_input(now, sent);
        if fate == TransmitResult::Acknowledged {
            self.hear_hints(now, frame.mobile);
        }
        let is_packet = matches!(frame.payload, Carried::Packet { .. });
        let what = (is_packet, fate == TransmitResult::Lost);
        self.watch.ended(now, (frame.mobile, airtime), what);
        let outcome = self.outcome(now, frame, fate);
        let ended = Input::Outcome {
            destination,
            outcome,
        };
        self.late.push(now, ended);
        self.hear_news(now);
        self.tell_queue(now, frame.mobile);
        self.scheduler.handle_input(now, Input::AirFree);
    }

    fn outcome(
        &mut self,
        now: Instant,
        frame: &Frame<Carried<P>>,
        fate: TransmitResult,
    ) -> Outcome {
        let is_packet = matches!(frame.payload, Carried::Packet { .. });
        let queue = self.queues.get_mut(usize::from(frame.mobile));
        let queue = queue.filter(|_| is_packet);
        if fate == TransmitResult::Acknowledged {
            if let Some(queue) = queue {
                queue.delivered(now);
            }
            return Outcome::Delivered;
        }
        let given_up = queue.is_some_and(Queue::failed);
        let cause = self.cause(frame.mobile, fate);
        Outcome::Missing { cause, given_up }
    }

    /// Returns the cause of a loss as the receiver reports it.
    fn cause(&mut self, mobile: u16, fate: TransmitResult) -> Cause {
        if self.hints.come != Coming::AtOnce {
            return Cause::Unknown;
        }
        let is_told = self.chance.chance(self.hints.told);
        let is_mistaken = self.chance.chance(self.hints.mistaken);
        match fate {
            _ if !is_told => Cause::Unknown,
            TransmitResult::Collided if is_mistaken => Cause::Fade,
            TransmitResult::Collided => Cause::Collision,
            // A checksum error at full signal is not a fade.
            _ if self.channels.is_good(mobile) => Cause::Unknown,
            _ => Cause::Fade,
        }
    }

    /// Returns the frame that the card sends.
    pub(crate) fn poll_frame(&mut self, now: Instant) -> Option<Frame<Carried<P>>> {
        while let Some(frame) = self.pick(now) {
            self.card.load(now, frame);
        }
        self.card.ready(now)
    }

    /// Returns the frame that the driver hands to the card.
    fn pick(&mut self, now: Instant) -> Option<Frame<Carried<P>>> {
        loop {
            let (mobile, payload) = match self.scheduler.poll_output()? {
                Output::Serve(Destination(mobile)) => {
                    let queue = self.queues.get(usize::from(mobile));
                    (mobile, queue.and_then(Queue::head)?)
                }
                Output::Probe(Destination(mobile)) => (mobile, Carried::Probe),
                Output::Marked(Destination(mobile)) => {
                    self.watch.marked(now, mobile, true);
                    continue;
                }
                Output::Unmarked(Destination(mobile)) => {
                    self.watch.marked(now, mobile, false);
                    continue;
                }
            };
            return Some(Frame {
                from: OnAir::Base,
                mobile,
                size: payload.length(),
                payload,
            });
        }
    }

    /// See [`Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some((mobile, is_good)) = self.channels.change(now) {
            self.receivers.changed(now, mobile, is_good);
            self.watch.changed(now, mobile, is_good);
            let oracle = self.oracle.as_mut();
            let seen = oracle.and_then(|oracle| oracle.look(mobile, is_good));
            if let Some(seems_good) = seen {
                self.tell_state(now, mobile, seems_good);
            }
        }
        let oracle = self.oracle.as_mut();
        let seen = oracle.map(|oracle| oracle.look_around(now, &self.channels));
        for (mobile, seems_good) in seen.into_iter().flatten() {
            self.tell_state(now, mobile, seems_good);
        }
        self.hear_news(now);
        self.scheduler.handle_timeout(now);
    }

    fn tell_state(&mut self, now: Instant, mobile: u16, is_good: bool) {
        let destination = Destination(mobile);
        let told = Input::Channel {
            destination,
            is_good,
        };
        self.scheduler.handle_input(now, told);
    }

    /// See [`Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let own = earlier(self.scheduler.poll_timeout(), self.channels.next_change());
        let looks = self.oracle.as_ref().and_then(Oracle::next);
        let card = earlier(self.late.next(), self.card.next());
        earlier(earlier(own, looks), card)
    }
}

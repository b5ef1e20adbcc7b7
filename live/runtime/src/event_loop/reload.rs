//! Signals, queries of the control socket, and reloading of the configuration, which both can request.

use std::io;

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::signals::Signal;
use edges::tun::PacketDevice;
use hosts::Input;

use super::{CONTROL, EventLoop, FIRST_CLIENT, Stopped};
use crate::host::DrivenHost;
use crate::reloader::Reloader;

/// Changes of a reload that the host has not got yet.
pub(super) struct Changes {
    inputs: std::vec::IntoIter<Input>,
    number: u64,
    report: String,
}

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Handles the signals that have arrived; returns the one that ends the loop.
    pub(super) fn take_signals(&mut self) -> Option<Stopped> {
        let mut ending = None;
        // All signals are taken, although only some end the loop.
        for signal in self.ports.signals.as_mut()?.pending() {
            match (signal, &mut self.ports.reloader) {
                (Signal::HangUp, Some(reloader)) => {
                    reloader.ask();
                }
                _ if signal.ends() => ending = ending.or(Some(Stopped::By(signal))),
                _ => {}
            }
        }
        ending
    }

    /// Accepts clients of the control socket, or continues with one.
    pub(super) fn answer(&mut self, token: u64) -> io::Result<()> {
        let Some(mut control) = self.ports.control.take() else {
            return Ok(());
        };
        if token == CONTROL {
            control.accept(&self.waiter, FIRST_CLIENT)?;
        } else {
            let mut reloader = self.ports.reloader.take();
            let mut order = None;
            let answer = |query| self.reply(&query, &mut order);
            let ask = control.serve(token, &self.waiter, answer, reloader.as_mut());
            self.ports.reloader = reloader;
            if let Some(order) = order {
                self.tell(clock::monotonic(), order);
            }
            if let Some(ask) = ask {
                self.begin_capture(ask);
            }
        }
        self.ports.control = Some(control);
        Ok(())
    }

    /// Passes the changes of a reload to the host, and its result to those who wait for it.
    pub(super) fn take_reloaded(&mut self) {
        let reloader = self.ports.reloader.as_mut();
        let Some((number, ended)) = reloader.and_then(Reloader::poll_done) else {
            return;
        };
        // If the one before is not complete, it is first.
        self.take_changes(usize::MAX);
        for refusal in ended.refusals {
            self.tell(clock::monotonic(), refusal);
        }
        match ended.result {
            Ok(reloaded) => {
                if let Some(sockets) = &mut self.work.sockets {
                    sockets.set_destinations(reloaded.destinations);
                }
                self.changes = Some(Changes {
                    inputs: reloaded.inputs.into_iter(),
                    number,
                    report: reloaded.report,
                });
            }
            Err(error) => {
                tracing::error!("not reloaded, nothing is changed: {error}");
                self.report(number, Err(&error));
            }
        }
    }

    /// Passes claims of mobile hosts on to those who store them.
    pub(super) fn pass_claims(&mut self) {
        for claim in self.work.claims.drain(..) {
            if let Some(reloader) = &mut self.ports.reloader {
                reloader.claim(claim);
            }
        }
    }

    /// Passes changes of a reload to the host, but no more than `most`, so that packets need not wait for long.
    pub(super) fn take_changes(&mut self, most: usize) {
        let Some(mut changes) = self.changes.take() else {
            return;
        };
        for input in changes.inputs.by_ref().take(most) {
            self.tell(clock::monotonic(), input);
        }
        if changes.inputs.len() > 0 {
            self.changes = Some(changes);
            return;
        }
        tracing::info!("reloaded: {}", changes.report);
        self.report(changes.number, Ok(&changes.report));
    }

    fn report(&mut self, number: u64, result: Result<&str, &str>) {
        if let Some(control) = &mut self.ports.control {
            control.reloaded(number, &self.waiter, result);
        }
    }
}

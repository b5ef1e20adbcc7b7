//! The loop, mounts and signals, beside memory and the real kernel.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod allocation;
mod capture;
mod echo;
mod event_loop;
mod mount;
mod privileges;
mod signals;

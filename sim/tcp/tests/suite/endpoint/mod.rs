//! Two endpoints, a wire between them with the losses of a test, and a clock.

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod handshake;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod pipe;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod receiving;
#[cfg(test)]
mod timers;

//! Tests of two endpoints, a hop between them with losses that a test chooses, and a clock.

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod lean;
#[cfg(test)]
#[cfg(test)]
mod moving;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod pipe;
#[cfg(test)]
mod repair;
#[cfg(test)]
mod resuming;
#[cfg(test)]
mod strays;
#[cfg(test)]
mod timers;

//! Headers of IP, TCP, UDP and ICMP: real packets, changed packets, and bytes that are not packets.

#[cfg(test)]
mod checksum;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod ip;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod segment;
#[cfg(test)]
mod tcp;
#[cfg(test)]
mod value;

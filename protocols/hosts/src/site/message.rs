//! Messages about who serves a mobile host. They are sealed and take the place of a frame; who asks repeats them.

use association::Report;
use serde::{Deserialize, Serialize};
use session::{PROOF_BYTES, PublicKey};
use wire::flow::FlowKey;

use super::{Mark, Portion, Progress};

/// Public key of a mobile host, its name between gateways.
pub(crate) type Key = [u8; 32];
/// Proof of a mobile host for its home, or of the home for it: those between them could forge the message. It is zero
/// where the message goes there directly.
pub(crate) type Proof = [u8; PROOF_BYTES];

/// The attachment that a message is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Number that the mobile host gave to it.
    pub(crate) number: u64,
    /// What one end of the former association has delivered. Without it only what was not sent goes on, and what
    /// tolerates copies.
    pub(crate) report: Option<Report>,
}

/// A message about who serves a mobile host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SiteMessage {
    /// A mobile host wants to be served by this gateway from now on. The last value is the key of its home.
    Attach(Step, Proof, Key),
    /// The gateway serves the mobile host.
    Attached(Step),
    /// The number of the attachment is behind the latest one, which this is.
    Behind(u64, Proof),
    /// From the home: the mobile host's number is behind the latest one, which this is.
    ArrivedBehind(Key, u64, Proof),
    /// To a mobile host's home: it wants to be served by the sender.
    Arrived(Key, Step, Proof),
    /// From the home: the receiver serves the mobile host from now on. The last value is true if all that another
    /// gateway had of it has come.
    Serve(Key, Step, bool),
    /// From the home: the receiver has to cease to serve the mobile host, once so many segments to it have come.
    Yield { mobile: Key, step: Step, sent: u64 },
    /// To the home: the sender has ceased to serve the mobile host.
    Yielded {
        mobile: Key,
        step: Step,
        counts: Yielded,
    },
    /// To a mobile host: another gateway is to serve it, as this one is about to end.
    Drain,
    /// Changes of the sender's directory.
    Portion(Portion),
    /// What the sender has of the receiver's directory.
    Read(Mark),
    /// From a mobile host: the receiver does not relay between it and its home any more.
    Parted,
    /// To a mobile host's home: it measures the round trip there, by a probe with these bits.
    Probe(Key, u64),
    /// From the home: the bits of the probe.
    Echo(Key, u64),
    /// From a mobile host, after the attachment with this number: its former gateway is silent, so the receiver may
    /// serve it without an answer of its home, if that is silent too.
    Alone(u64),
    /// From a gateway: the receiver is revoked there, and is not to serve its mobile hosts any more.
    Dismissed,
    /// From a mobile host to its former gateway: it has asked another one to serve it, by this attachment.
    Leave(Step),
    /// To a mobile host's home: the sender has ceased to serve the mobile host, which has left it, and has carried so
    /// many segments from it. Packets that still come for it are returned.
    Left(Key, Step, u64),
    /// To a mobile host: the sender has too little of the processor, and another gateway may be better.
    Overloaded,
    /// To a mobile host's home, before it is told that the sender has ceased to serve the mobile host, and in the same
    /// message: flows of that which leave at the sender.
    Flows(Key, Vec<FlowKey>),
    /// From a mobile host: the receiver should have copies before it serves that, by the attachment with this number.
    /// The last value is the key of its home.
    Gather(u64, Proof, Key),
    /// To a mobile host's home: it should send copies to the sender, for the attachment with this number.
    SendCopies(Key, u64, Proof),
    /// From a mobile host that prepares this attachment, or asks for it in the same message: what it has.
    Progress(u64, Vec<Progress>),
    /// To a mobile host: the sender has copies of all that it lacks, for this attachment.
    Gathered(u64),
    /// To a mobile host's home, before it is asked to have the sender serve it by this attachment, and in the same
    /// message: what the mobile host had of the flows with which that has begun by its copies.
    Begun(Key, u64, Vec<Progress>),
}

/// Numbers of segments that a gateway has sent to the home of a mobile host that it served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Yielded {
    /// Those to the mobile host, which go on by its next gateway.
    pub(crate) returned: u64,
    /// Those from it.
    pub(crate) carried: u64,
}

/// Returns what a mobile host proves: that the gateway with this key is to serve it, by this attachment.
pub(crate) fn proven_attachment(gateway: &PublicKey, step: &Step) -> Vec<u8> {
    encode(&("attach", gateway.bytes(), step))
}

/// Returns what a mobile host proves: that the gateway with this key is to have copies, for this attachment.
pub(crate) fn proven_copies(gateway: &PublicKey, number: u64) -> Vec<u8> {
    encode(&("copies", gateway.bytes(), number))
}

/// Returns what a home proves: that this is the number of the latest attachment.
pub(crate) fn proven_number(number: u64) -> Vec<u8> {
    encode(&("behind", number))
}

fn encode(content: &impl Serialize) -> Vec<u8> {
    // Only a writer that fails makes this fail.
    postcard::to_allocvec(content).unwrap_or_default()
}

impl SiteMessage {
    /// Returns the bytes of the message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Returns the messages in `bytes`, in their order; none if there is anything else.
    pub(crate) fn decode(mut bytes: &[u8]) -> Vec<Self> {
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let Ok((message, rest)) = postcard::take_from_bytes(bytes) else {
                return Vec::new();
            };
            messages.push(message);
            bytes = rest;
        }
        messages
    }
}

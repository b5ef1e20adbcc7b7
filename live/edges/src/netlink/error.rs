//! Errors of the kernel, in words that name the object and the remedy.

use std::io;

use netlink_packet_core::{ErrorMessage, NlasIterator};
use rustix::io::Errno;
use thiserror::Error;

/// Length of the request header before the attributes of an error message, in bytes.
const REQUEST_HEADER: usize = 16;
/// `NLMSGERR_ATTR_MSG` of linux/netlink.h: the error in words.
const REASON_IN_WORDS: u16 = 1;

/// Reason why a link, address, route or rule could not be read or changed.
#[derive(Debug, Error)]
pub enum NetlinkError {
    /// No netlink socket could be opened.
    #[error("cannot open a netlink socket: {0}")]
    Socket(#[source] io::Error),
    /// A name that is not valid for a link.
    #[error("'{0}' cannot name a link: 1 to 15 bytes without '/', ':' and white space are allowed")]
    InvalidName(String),
    /// The caller lacks the privilege.
    #[error(
        "cannot {operation}: this needs CAP_NET_ADMIN; run as root, or where the system allows it \
        in a user namespace of your own (`unshare -rn`)"
    )]
    NotPermitted {
        /// The operation and its object.
        operation: String,
    },
    /// The object exists already.
    #[error("cannot {operation}: it exists already; remove it or choose another name")]
    Exists {
        /// The operation and its object.
        operation: String,
    },
    /// The object, or one that it depends on, does not exist.
    #[error("cannot {operation}: there is none{detail}")]
    Missing {
        /// The operation and its object.
        operation: String,
        /// The kernel's message, in parentheses, or an empty text.
        detail: String,
    },
    /// The kernel refused for another reason.
    #[error("cannot {operation}: {reason}{detail}")]
    Refused {
        /// The operation and its object.
        operation: String,
        /// The kernel's error number.
        #[source]
        reason: io::Error,
        /// The kernel's message, in parentheses, or an empty text.
        detail: String,
    },
    /// The request or its reply was not transmitted.
    #[error("cannot {operation}: no answer from the kernel: {source}")]
    Transport {
        /// The operation and its object.
        operation: String,
        /// The socket's error.
        source: io::Error,
    },
    /// The kernel's reply cannot be parsed.
    #[error("cannot {operation}: the kernel's answer is of no use: {detail}")]
    Malformed {
        /// The operation and its object.
        operation: String,
        /// The fault of the reply.
        detail: String,
    },
}

impl NetlinkError {
    /// Converts an error message of the kernel.
    pub(super) fn refused(operation: &str, refusal: &ErrorMessage) -> Self {
        let operation = operation.to_owned();
        let reason = refusal.to_io();
        let detail = words(refusal)
            .map(|words| format!(" ({words})"))
            .unwrap_or_default();
        match Errno::from_io_error(&reason) {
            Some(Errno::PERM | Errno::ACCESS) => Self::NotPermitted { operation },
            Some(Errno::EXIST) => Self::Exists { operation },
            Some(Errno::NODEV | Errno::NOENT | Errno::SRCH | Errno::ADDRNOTAVAIL) => {
                Self::Missing { operation, detail }
            }
            _ => Self::Refused {
                operation,
                reason,
                detail,
            },
        }
    }

    /// Returns true if the object did not exist: a removal is then complete.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// Returns true if the object existed already.
    pub fn is_existing(&self) -> bool {
        matches!(self, Self::Exists { .. })
    }
}

/// Returns the kernel's own message, if it gave one.
fn words(refusal: &ErrorMessage) -> Option<String> {
    let attributes = refusal.header.get(REQUEST_HEADER..)?;
    let text = NlasIterator::new(attributes)
        .filter_map(Result::ok)
        .find(|attribute| attribute.kind() == REASON_IN_WORDS)?;
    let text = String::from_utf8_lossy(text.value())
        .trim_end_matches('\0')
        .trim()
        .to_owned();
    (!text.is_empty()).then_some(text)
}

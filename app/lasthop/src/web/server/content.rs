//! The content of a response.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::events::Events;

/// The content of a response.
#[derive(Debug)]
pub(super) enum Content {
    /// Text of known length, until it was taken.
    Text {
        text: Option<Bytes>,
        /// Permission to send it, returned with the connection's last byte.
        _permit: Option<OwnedSemaphorePermit>,
    },
    /// Events without an end.
    Events(Events),
}

impl Content {
    /// Creates the content of a text.
    pub(super) fn text(text: String) -> Self {
        Self::of(text.into())
    }

    /// Creates the content of a file of the page.
    pub(super) fn from_static(text: &'static str) -> Self {
        Self::of(Bytes::from_static(text.as_bytes()))
    }

    fn of(text: Bytes) -> Self {
        Self::Text {
            text: Some(text),
            _permit: None,
        }
    }

    /// Keeps the permit until the content was sent.
    pub(super) fn with_permit(self, permit: OwnedSemaphorePermit) -> Self {
        match self {
            Self::Text { text, .. } => Self::Text {
                text,
                _permit: Some(permit),
            },
            Self::Events(events) => Self::Events(events),
        }
    }
}

impl From<Events> for Content {
    fn from(events: Events) -> Self {
        Self::Events(events)
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            Self::Text { text, .. } => Poll::Ready(text.take()),
            Self::Events(events) => events.poll_next(context).map(|text| text.map(Bytes::from)),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Text { text, .. } => text.is_none(),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text { text, .. } => {
                SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64)
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

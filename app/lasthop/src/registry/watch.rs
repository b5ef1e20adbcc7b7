//! Changes of the registry as they happen.

use std::io::{BufRead, BufReader, Read};

use ureq::http::Response;
use ureq::{Body, BodyReader};

use super::answers::{News, Watched};
use super::cluster::{MOST_BYTES, does_not_answer};
use crate::failure::Failure;

/// Changes as they happen.
pub(super) struct Watch {
    lines: BufReader<BodyReader<'static>>,
    /// Last revision when it began.
    pub(super) revision: i64,
}

impl Watch {
    /// Reads the first answer, which says that the watch has begun.
    pub(super) fn begin(response: Response<Body>) -> Result<Self, Failure> {
        let mut watch = Self {
            lines: BufReader::new(response.into_body().into_reader()),
            revision: 0,
        };
        let begun = watch.read().map_err(|what| does_not_answer(&what))?;
        watch.revision = begun.header.revision;
        Ok(watch)
    }

    /// Waits for a change; returns its revision, or none if nothing has changed for a while, or the member has ended.
    /// Another watch is due then.
    pub(super) fn wait(&mut self) -> Option<i64> {
        loop {
            let news = self.read().ok()?;
            // A watch is canceled where it begins before what etcd remembers. The list has it all.
            if news.canceled || !news.events.is_empty() {
                return Some(news.header.revision);
            }
        }
    }

    fn read(&mut self) -> Result<News, String> {
        let mut line = Vec::new();
        let read = self
            .lines
            .by_ref()
            .take(MOST_BYTES)
            .read_until(b'\n', &mut line);
        read.map_err(|error| error.to_string())?;
        match serde_json::from_slice(&line) {
            Ok(Watched::Result(news)) => Ok(news),
            Ok(Watched::Error { message }) => Err(message),
            Err(error) => Err(error.to_string()),
        }
    }
}

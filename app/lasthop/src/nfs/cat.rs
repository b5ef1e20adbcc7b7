//! `lasthop nfs cat`: the content of files to standard output.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use bytes::Bytes;
use files::ask;
use nfs::FileType;

use super::problem::Problem;
use super::session::{Sessions, parse_url};
use super::transfer::{Arrival, RemoteFile, Sink, Transfer};

/// Bytes of read-ahead.
const WINDOW: u64 = 8 << 20;

/// Write the content of files to standard output.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The files
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,
}

struct Out;

impl Sink for Out {
    fn put(&mut self, mut offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>) {
        let mut out = std::io::stdout().lock();
        for data in data {
            let result = match out.write_all(&data) {
                // The reader has closed the pipe.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
                result => result.map_err(|error| Problem::at("standard output", error)),
            };
            let count = data.len() as u64;
            let _ = to.send(Arrival::Written(offset, result.map(|()| count)));
            offset += count;
        }
    }
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let urls = arguments.urls.iter().map(|url| parse_url(url));
    for url in urls.collect::<Result<Vec<_>, _>>()? {
        let place = sessions.place(&url)?;
        let found = place.resolve(true)?;
        if found.attributes.kind != FileType::Regular {
            return Err(Problem::at(place.shown(), "this is not a regular file"));
        }
        let opened = place.session.call(ask::Open(found.file));
        let (open, found) = opened.map_err(|error| place.problem(&error))?;
        let source = RemoteFile {
            session: Arc::clone(&place.session),
            open,
            shown: place.shown().to_string().into(),
        };
        let transfer = Transfer {
            source: &source,
            sink: &mut Out,
            from: 0,
            until: found.attributes.size,
            window: &|| WINDOW,
            progress: &|_| {},
        };
        transfer.run()?;
    }
    std::io::stdout()
        .flush()
        .map_err(|error| Problem::at("standard output", error))
}

//! `lasthop nfs mkdir`: makes directories.

use std::ffi::OsString;

use files::{Entry, Found, ask};
use nfs::{FileType, NewAttributes, Status};

use super::problem::Problem;
use super::session::{Place, Sessions, named, parse_url};

/// Make directories.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The directories
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,
    /// Also make missing parent directories; an existing directory is no error
    #[arg(short, long)]
    parents: bool,
    /// The permissions, in octal, such as 750
    #[arg(short, long, default_value = "755", value_parser = octal)]
    mode: u32,
}

/// Parses a mode in octal.
fn octal(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| "permissions are up to four octal digits, such as 750".into())
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let urls = arguments.urls.iter().map(|url| parse_url(url));
    for url in urls.collect::<Result<Vec<_>, _>>()? {
        let place = sessions.place(&url)?;
        if arguments.parents {
            make_all(&place, arguments.mode)?;
        } else {
            let (parent, name) = place.parent()?;
            let entry = named(&place, parent.file, &name)?;
            make(&place, entry, arguments.mode)?;
        }
    }
    Ok(())
}

fn make(place: &Place, entry: Entry, mode: u32) -> Result<Found, Problem> {
    let attributes = NewAttributes {
        mode: Some(mode),
        ..NewAttributes::default()
    };
    place
        .session
        .call(ask::MakeDirectory { entry, attributes })
        .map_err(|error| place.problem(&error))
}

/// Creates the missing directories of a path.
fn make_all(place: &Place, mode: u32) -> Result<(), Problem> {
    let session = &place.session;
    let mut path = Vec::new();
    let mut here = session
        .resolve(b"", true)
        .map_err(|error| Problem::of_way(place.shown(), &error))?;
    let parts = place.path.split(|&byte| byte == b'/');
    for part in parts.filter(|part| !part.is_empty()) {
        path.extend(part);
        here = match session.resolve(&path, true) {
            Ok(found) if found.attributes.kind == FileType::Directory => found,
            Ok(_) => {
                return Err(Problem::at(
                    place.shown(),
                    "a part of the path is not a directory",
                ));
            }
            Err(error) if error.status() == Some(Status::NoEntry) => {
                make(place, named(place, here.file, part)?, mode)?
            }
            Err(error) => return Err(Problem::of_way(place.shown(), &error)),
        };
        path.push(b'/');
    }
    Ok(())
}

//! `lasthop nfs stat`: the attributes of a file.

use std::ffi::OsString;
use std::fmt::Write;

use files::{Found, ask};
use nfs::FileType;
use serde_json::Value;

use super::ls::print;
use super::problem::Problem;
use super::session::{Place, Sessions, parse_url};
use super::text;

/// Show the attributes of files.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The files
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,
    /// Follow symbolic links
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Print JSON: an array of objects
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let urls = arguments.urls.iter().map(|url| parse_url(url));
    let mut values = Vec::new();
    for url in urls.collect::<Result<Vec<_>, _>>()? {
        let place = sessions.place(&url)?;
        let found = place.resolve(arguments.dereference)?;
        let target = match found.attributes.kind {
            FileType::SymbolicLink => {
                let target = place.session.call(ask::ReadLink(found.file));
                Some(target.map_err(|error| place.problem(&error))?)
            }
            _ => None,
        };
        if arguments.json {
            let mut value = text::json(&place.url.path, &found.attributes);
            if let Some(target) = target {
                value["target"] = String::from_utf8_lossy(&target).into();
            }
            values.push(value);
        } else {
            print(describe(&place, &found, target.as_deref()).as_bytes())?;
        }
    }
    if arguments.json {
        print(format!("{:#}\n", Value::Array(values)).as_bytes())?;
    }
    Ok(())
}

fn describe(place: &Place, found: &Found, target: Option<&[u8]>) -> String {
    let Found { file, attributes } = found;
    let mut out = format!("{}\n", place.url);
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(out, "  {name:<10} {value}");
    };
    line("kind", &text::kind(attributes.kind));
    if let Some(target) = target {
        line("leads to", &target.escape_ascii());
    }
    line(
        "size",
        &format!("{} bytes ({} on disk)", attributes.size, attributes.used),
    );
    line(
        "rights",
        &format!(
            "{} ({:04o})",
            text::mode(attributes),
            attributes.mode & 0o7777
        ),
    );
    line(
        "owner",
        &format!("{}:{}", attributes.user, attributes.group),
    );
    line("links", &attributes.links);
    line(
        "number",
        &format!(
            "{} in file system {:#x}",
            attributes.file_id, attributes.file_system
        ),
    );
    line("read", &text::time(attributes.times.accessed));
    line("modified", &text::time(attributes.times.modified));
    line("changed", &text::time(attributes.times.changed));
    line("handle", &text::hex(file.bytes()));
    out
}

//! `lasthop nfs df`: the free space of a file system.

use std::ffi::OsString;
use std::fmt::Write;

use files::ask;
use serde_json::{Value, json};

use super::ls::print;
use super::problem::Problem;
use super::session::{Sessions, parse_url};
use super::text;

/// Show the used and free space of file systems.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Any file or directory on each file system
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,
    /// Print JSON: an array of objects, sizes in bytes
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let urls = arguments.urls.iter().map(|url| parse_url(url));
    let mut values = Vec::new();
    let mut lines = format!(
        "{:>9} {:>9} {:>9} {:>5}  {}\n",
        "size", "used", "available", "use", "file system"
    );
    for url in urls.collect::<Result<Vec<_>, _>>()? {
        let place = sessions.place(&url)?;
        let found = place.resolve(true)?;
        let space = place.session.call(ask::Space(found.file));
        let space = space.map_err(|error| place.problem(&error))?;
        let used = space.total_bytes.saturating_sub(space.free_bytes);
        if arguments.json {
            values.push(json!({
                "url": url.to_string(),
                "size": space.total_bytes,
                "used": used,
                "available": space.available_bytes,
                "files": space.total_files,
                "files_available": space.available_files,
            }));
            continue;
        }
        let usable = used.saturating_add(space.available_bytes).max(1);
        let share = (u128::from(used) * 100).div_ceil(u128::from(usable));
        let _ = writeln!(
            lines,
            "{:>9} {:>9} {:>9} {:>4}%  {url}",
            text::size(space.total_bytes),
            text::size(used),
            text::size(space.available_bytes),
            share
        );
    }
    if arguments.json {
        lines = format!("{:#}\n", Value::Array(values));
    }
    print(lines.as_bytes())
}

//! `lasthop nfs ls`: the content of a directory.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use files::{Found, ask};
use nfs::FileType;
use serde_json::Value;

use super::problem::Problem;
use super::session::{Place, Sessions, parse_url};
use super::text;

/// List directories.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The directories or files
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,
    /// Also show permissions, links, owner, group, size and time (UTC)
    #[arg(short, long)]
    long: bool,
    /// Also list names that begin with a dot
    #[arg(short, long)]
    all: bool,
    /// Print JSON: an array of objects
    #[arg(long)]
    json: bool,
}

/// A line of the list.
struct Row {
    name: Vec<u8>,
    found: Found,
    target: Option<Vec<u8>>,
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let urls = arguments.urls.iter().map(|url| parse_url(url));
    let urls = urls.collect::<Result<Vec<_>, _>>()?;
    let mut values = Vec::new();
    let for_terminal = std::io::stdout().is_terminal();
    for (at, url) in urls.iter().enumerate() {
        let rows = rows(&sessions.place(url)?, arguments)?;
        if arguments.json {
            values.extend(rows.iter().map(json));
            continue;
        }
        let mut out = Vec::new();
        if urls.len() > 1 {
            let gap = if at == 0 { "" } else { "\n" };
            out.extend(format!("{gap}{url}:\n").bytes());
        }
        write_rows(&rows, arguments.long, for_terminal, &mut out);
        print(&out)?;
    }
    if arguments.json {
        print(format!("{:#}\n", Value::Array(values)).as_bytes())?;
    }
    Ok(())
}

/// Writes to standard output. A closed pipe is no error.
pub(super) fn print(bytes: &[u8]) -> Result<(), Problem> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(Problem::at("standard output", error)),
        Ok(()) => Ok(()),
    }
}

/// Returns the entries of a directory by name, or the file itself.
fn rows(place: &Place, arguments: &Arguments) -> Result<Vec<Row>, Problem> {
    let found = place.resolve(!arguments.long)?;
    let session = &place.session;
    let problem = |error: &_| place.problem(error);
    let mut rows = Vec::new();
    let mut add = |name: &[u8], found: Found| {
        let is_link = found.attributes.kind == FileType::SymbolicLink;
        let target = if is_link && arguments.long {
            session.call(ask::ReadLink(found.file)).ok()
        } else {
            None
        };
        let target = target.map(|target| target.to_vec());
        let name = name.to_vec();
        rows.push(Row {
            name,
            found,
            target,
        });
    };
    if found.attributes.kind != FileType::Directory {
        add(&place.path, found);
        return Ok(rows);
    }
    let mut visit = |entry: files::Listed| {
        if arguments.all || !entry.name.starts_with(b".") {
            let found = session.found(found.file, &entry);
            add(&entry.name, found.map_err(|error| problem(&error))?);
        }
        Ok(())
    };
    session.list(found.file, &mut visit, &problem)?;
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(rows)
}

fn json(row: &Row) -> Value {
    let mut value = text::json(&row.name, &row.found.attributes);
    if let Some(target) = &row.target {
        value["target"] = String::from_utf8_lossy(target).into();
    }
    value
}

fn write_rows(rows: &[Row], is_long: bool, for_terminal: bool, out: &mut Vec<u8>) {
    let width = |number: fn(&Row) -> u64| {
        let digits = rows.iter().map(|row| number(row).to_string().len());
        digits.max().unwrap_or(1)
    };
    let links = width(|row| row.found.attributes.links.into());
    let user = width(|row| row.found.attributes.user.into());
    let group = width(|row| row.found.attributes.group.into());
    let size = width(|row| row.found.attributes.size);
    for row in rows {
        if is_long {
            let attributes = &row.found.attributes;
            let line = format!(
                "{} {:>links$} {:>user$} {:>group$} {:>size$} {} ",
                text::mode(attributes),
                attributes.links,
                attributes.user,
                attributes.group,
                attributes.size,
                text::time(attributes.times.modified),
            );
            out.extend(line.bytes());
        }
        out.extend(text::name(&row.name, for_terminal));
        if let Some(target) = &row.target {
            out.extend(b" -> ");
            out.extend(text::name(target, for_terminal));
        }
        out.push(b'\n');
    }
}

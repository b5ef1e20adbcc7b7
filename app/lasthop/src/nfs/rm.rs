//! `lasthop nfs rm`: removes files, and directories with their content.

use std::ffi::OsString;

use files::{Entry, Found, ask};
use nfs::{FileHandle, FileType, Status};
use runtime::files::CallError;

use super::problem::Problem;
use super::session::{Place, Sessions, entry_of, named, parse_url};

/// Remove files.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The files
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,
    /// Remove directories with all their content
    #[arg(short, long)]
    recursive: bool,
    /// A missing file is no error
    #[arg(short, long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments, sessions: &mut Sessions) -> Result<(), Problem> {
    let urls = arguments.urls.iter().map(|url| parse_url(url));
    for url in urls.collect::<Result<Vec<_>, _>>()? {
        let place = sessions.place(&url)?;
        let (parent, name) = place.parent()?;
        let entry = named(&place, parent.file, &name)?;
        let found = match place.session.call(ask::LookUp(entry.clone())) {
            Err(error) if arguments.force && is_missing(&error) => continue,
            found => found.map_err(|error| place.problem(&error))?,
        };
        if found.attributes.kind != FileType::Directory {
            remove(&place, entry)?;
        } else if arguments.recursive {
            remove_tree(&place, entry, found)?;
        } else {
            return Err(Problem::at(
                place.shown(),
                "this is a directory; remove it with -r",
            ));
        }
    }
    Ok(())
}

/// Returns true if the file does not exist (any more), which is the wanted result.
fn is_missing(error: &CallError) -> bool {
    error.status() == Some(Status::NoEntry)
}

fn content(result: Result<(), CallError>, place: &Place) -> Result<(), Problem> {
    match result {
        Err(error) if !is_missing(&error) => Err(place.problem(&error)),
        _ => Ok(()),
    }
}

fn remove(place: &Place, entry: Entry) -> Result<(), Problem> {
    content(place.session.call(ask::Remove(entry)), place)
}

/// A step of the removal.
enum Step {
    Empty(Entry, FileHandle),
    Remove(Entry),
}

/// Removes a directory after its content. Symbolic links are removed, not followed.
fn remove_tree(place: &Place, entry: Entry, found: Found) -> Result<(), Problem> {
    let session = &place.session;
    let problem = |error: &_| place.problem(error);
    let mut steps = vec![Step::Empty(entry, found.file)];
    while let Some(step) = steps.pop() {
        let (entry, directory) = match step {
            Step::Empty(entry, directory) => (entry, directory),
            Step::Remove(entry) => {
                let removed = session.call(ask::RemoveDirectory(entry));
                content(removed, place)?;
                continue;
            }
        };
        steps.push(Step::Remove(entry));
        let mut names = Vec::new();
        let mut collect = |listed| {
            names.push(listed);
            Ok(())
        };
        // The list is complete before the first removal: servers lose the position in a directory that shrinks.
        session.list(directory, &mut collect, &problem)?;
        let mut files = Vec::new();
        for listed in &names {
            let entry = entry_of(directory, &listed.name);
            match session.found(directory, listed) {
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(problem(&error)),
                Ok(found) if found.attributes.kind == FileType::Directory => {
                    steps.push(Step::Empty(entry, found.file));
                }
                Ok(_) => files.push(ask::Remove(entry)),
            }
        }
        session.call_all(files, &mut |result| content(result, place))?;
    }
    Ok(())
}

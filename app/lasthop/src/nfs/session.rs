//! The servers of a command, and the requests to them.

use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use files::{Ask, Entry, Found, ListPlace, Listed, OpenFile, ask};
use nfs::FileHandle;
use nfs::url::{Url, UrlOptions};
use rpc::message::Credentials;
use runtime::files::{
    CallError, ConnectError, ConnectOptions, Connection, Resolver, Root, connect,
};
use runtime::signals::Reader;

use super::problem::Problem;
use crate::client::{self, ClientOptions};
use crate::failure::Failure;
use crate::interrupt;

/// Largest number of small operations in flight.
const AT_ONCE: usize = 256;
/// Time between two checks for the user's interruption.
const LOOK: Duration = Duration::from_millis(50);

/// Parses a URL of the command line.
pub(super) fn parse_url(text: &OsStr) -> Result<Url, Problem> {
    client::parse_url(text).map_err(Problem::Setting)
}

/// The connections of a command: one for each server and transport.
pub(super) struct Sessions {
    client: ClientOptions,
    options: ConnectOptions,
    open: Vec<(Url, Arc<Session>)>,
}

impl Sessions {
    pub(super) fn new(client: ClientOptions) -> Result<Self, Failure> {
        Ok(Self {
            options: client.connect_options()?,
            client,
            open: Vec::new(),
        })
    }

    /// Returns the place of a URL.
    pub(super) fn place(&mut self, url: &Url) -> Result<Place, Problem> {
        let known = self.open.iter().find_map(|(known, session)| {
            let is_same = known.with_path(Vec::new()) == url.with_path(Vec::new());
            let path = is_same.then(|| session.root.below(&url.path)).flatten()?;
            Some((Arc::clone(session), path))
        });
        let (session, path) = match known {
            Some(known) => known,
            None => self.connect(url)?,
        };
        Ok(Place {
            url: url.clone(),
            session,
            path,
        })
    }

    /// Returns all connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.open.iter().map(|(_, session)| &session.connection)
    }

    /// Returns the same place on a new connection to its server, with empty caches.
    pub(super) fn afresh(&mut self, place: &Place) -> Result<Place, Problem> {
        let (session, path) = self.connect(&place.url)?;
        Ok(Place {
            url: place.url.clone(),
            session,
            path,
        })
    }

    fn connect(&mut self, url: &Url) -> Result<(Arc<Session>, Vec<u8>), Problem> {
        let address = self.client.address(url);
        let server = client::server_of(&address).map_err(Problem::Setting)?;
        self.options.seed = self.options.seed.wrapping_add(1);
        let (connection, root) =
            connect(&server, &self.options, &interrupt::is_set).map_err(|error| match error {
                ConnectError::Interrupted => Problem::Interrupted,
                error => Problem::Broken(error.to_string()),
            })?;
        let path = root.rest.clone();
        let reader = self.client.hear_the_hop(&connection);
        let session = Arc::new(Session {
            _reader: reader.map_err(|error| Problem::Broken(error.to_string()))?,
            connection,
            root,
            caller: Arc::clone(&self.options.caller),
        });
        self.open.push((url.clone(), Arc::clone(&session)));
        Ok((session, path))
    }
}

/// The place of a URL, at which there may be a file or not.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) url: Url,
    pub(super) session: Arc<Session>,
    /// Path below the export.
    pub(super) path: Vec<u8>,
}

impl Place {
    /// Returns the file at this place.
    pub(super) fn resolve(&self, follow_last: bool) -> Result<Found, Problem> {
        self.session
            .resolve(&self.path, follow_last)
            .map_err(|error| Problem::of_way(self.shown(), &error))
    }

    /// Returns the directory of the place, and the name in it.
    pub(super) fn parent(&self) -> Result<(Found, Vec<u8>), Problem> {
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        let cut = path.iter().rposition(|&byte| byte == b'/');
        let (parent, name) = match cut {
            Some(cut) => (&path[..cut], &path[cut + 1..]),
            None => (&b""[..], path),
        };
        if matches!(name, b"" | b"." | b"..") {
            let what = "this is an export, or has no name of its own: name an entry of it";
            return Err(Problem::at(self.shown(), what));
        }
        let found = self
            .session
            .resolve(parent, true)
            .map_err(|error| Problem::of_way(self.shown(), &error))?;
        Ok((found, name.to_vec()))
    }

    /// Returns the URL of the place without options of the server, for people.
    pub(super) fn shown(&self) -> Url {
        Url {
            options: UrlOptions::default(),
            ..self.url.clone()
        }
    }

    /// Returns the error of an operation on the place.
    pub(super) fn problem(&self, error: &CallError) -> Problem {
        Problem::of_call(self.shown(), error)
    }
}

/// A connection, and the credentials with which it is used.
pub(super) struct Session {
    _reader: Option<Reader>,
    pub(super) connection: Connection,
    pub(super) root: Root,
    pub(super) caller: Arc<Credentials>,
}

impl Session {
    /// Carries out an operation, unless the user interrupts it.
    pub(super) fn call<A: Ask>(&self, operation: A) -> Result<A::Reply, CallError> {
        let wanted = || !interrupt::is_set();
        self.connection.call_while(&self.caller, operation, &wanted)
    }

    pub(super) fn resolve(
        &self,
        path: &[u8],
        follow_last: bool,
    ) -> Result<Found, runtime::files::ResolveError> {
        let resolver = Resolver {
            ask: &|operation| self.call(operation),
        };
        resolver.resolve(self.root.handle, path, follow_last)
    }

    /// Carries out operations, many at once, and passes each result to `each`, in any order.
    pub(super) fn call_all<A: Ask>(
        &self,
        operations: Vec<A>,
        each: &mut dyn FnMut(Result<A::Reply, CallError>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let (sender, receiver) = channel();
        let mut under_way = 0;
        let mut end_one = |under_way: &mut usize| {
            *under_way -= 1;
            each(receive(&receiver)?)
        };
        for operation in operations {
            if under_way == AT_ONCE {
                end_one(&mut under_way)?;
            }
            let sender = sender.clone();
            under_way += 1;
            self.connection
                .submit(&self.caller, operation, move |result| {
                    // Nobody receives it once the command ends.
                    let _ = sender.send(result);
                });
        }
        while under_way > 0 {
            end_one(&mut under_way)?;
        }
        Ok(())
    }

    /// Closes a file without waiting for the result.
    pub(super) fn close(&self, open: OpenFile) {
        self.connection.submit(&self.caller, ask::Close(open), drop);
    }

    /// Calls `visit` for each entry of a directory but `.` and `..`.
    pub(super) fn list(
        &self,
        directory: FileHandle,
        visit: &mut dyn FnMut(Listed) -> Result<(), Problem>,
        problem: &dyn Fn(&CallError) -> Problem,
    ) -> Result<(), Problem> {
        let mut from = Some(ListPlace::START);
        while let Some(place) = from {
            let from_here = ask::List {
                directory,
                from: place,
            };
            let page = self.call(from_here).map_err(|error| problem(&error))?;
            for entry in page.entries {
                if !matches!(&entry.name[..], b"." | b"..") {
                    visit(entry)?;
                }
            }
            from = page.next;
        }
        Ok(())
    }

    /// Returns the attributes of an entry: from the list, or from a request to the server.
    pub(super) fn found(&self, directory: FileHandle, entry: &Listed) -> Result<Found, CallError> {
        match entry.found {
            Some(found) => Ok(found),
            None => self.call(ask::LookUp(entry_of(directory, &entry.name))),
        }
    }
}

/// Returns the next message, unless the user interrupts.
pub(super) fn receive<T>(receiver: &Receiver<T>) -> Result<T, Problem> {
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(value) => return Ok(value),
            Err(_) if interrupt::is_set() => return Err(Problem::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Problem::Broken("the connection was closed".into()));
            }
        }
    }
}

/// Returns the entry of a directory with a name that the client has checked.
pub(super) fn entry_of(directory: FileHandle, name: &[u8]) -> Entry {
    Entry::new(directory, name).expect("listed names were checked by the client")
}

/// Returns the entry of a directory with a name of the user.
pub(super) fn named(place: &Place, directory: FileHandle, name: &[u8]) -> Result<Entry, Problem> {
    Entry::new(directory, name).map_err(|fault| Problem::at(place.shown(), fault))
}

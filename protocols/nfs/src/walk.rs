//! From the path of an export, and a path below it, to a file: what to ask, one question at a time.

mod error;

pub use error::WalkError;

use rpc::Class;

use crate::mount::{self, Flavors, MountAnswer};
use crate::{
    Answer, Attributes, Call, FileHandle, FileSystemInfo, FileType, GetAttributes, Limits, LookUp,
    LookedUp, Name, Outcome, Path, Place, Procedure, ReadLink, Request, ServerAbilities, Status,
    Value,
};

/// How many symbolic links are followed before they count as a circle, as on the usual systems.
const LINKS_MAX: u32 = 40;

/// The ways to authenticate that we have: by nothing, and by numbers of user and groups (RFC 5531 §8.2).
const OUR_FLAVORS: [u32; 2] = [0, 1];

/// What to ask next, and whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'a> {
    /// [`mount::Procedure::Mount`] of the server's [`mount::PROGRAM`].
    Mount(Path<'a>),
    /// A call to the server's [`crate::PROGRAM`].
    Call(Call<'a>),
}

impl Question<'_> {
    /// What is called.
    pub fn procedure(&self) -> rpc::Procedure {
        match self {
            Self::Mount(_) => mount::Procedure::Mount.into(),
            Self::Call(call) => call.procedure().into(),
        }
    }

    /// What it costs.
    pub fn class(&self) -> Class {
        match self {
            Self::Mount(_) => Class::Other,
            Self::Call(call) => call.procedure().class(),
        }
    }

    /// Appends the arguments' bytes.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Mount(path) => path.encode(bytes),
            Self::Call(call) => call.encode(bytes),
        }
    }
}

/// What the server calls a file, and what it told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub object: FileHandle,
    /// Its attributes.
    pub attributes: Option<Attributes>,
}

/// What is known of the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Its handle.
    pub object: FileHandle,
    /// What its server can do.
    pub abilities: ServerAbilities,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Mount,
    Information(FileHandle),
    LookUp,
    Attributes(FileHandle),
    ReadLink(FileHandle),
    Arrived,
}

/// A walk. [`question`](Self::question) says what to ask, [`answer`](Self::answer) takes what the server
/// answered, until there is no question left and [`found`](Self::found) is the file. Symbolic links are
/// followed inside the export; `..` leads to where the walk came from, not above the export.
#[derive(Debug, Clone)]
pub struct Walk<'p> {
    export: Path<'p>,
    // What is to be walked yet; without `/` and `.` in front when there is a question.
    rest: Vec<u8>,
    follow_last: bool,
    links: u32,
    // From the export to where the walk is.
    trail: Vec<Found>,
    root: Option<Root>,
    stage: Stage,
}

impl<'p> Walk<'p> {
    /// A walk to `path` below `export`. With `follow_last` it goes on from a symbolic link at its end.
    pub fn new(export: Path<'p>, path: &[u8], follow_last: bool) -> Self {
        Self {
            export,
            rest: path.to_vec(),
            follow_last,
            links: 0,
            trail: Vec::new(),
            root: None,
            stage: Stage::Mount,
        }
    }

    /// What to ask next; nothing at the end.
    ///
    /// # Errors
    /// [`WalkError::Name`] if the path goes on with what is no name.
    pub fn question(&self) -> Result<Option<Question<'_>>, WalkError> {
        let call = match (self.stage, self.trail.last()) {
            (Stage::Mount, _) => return Ok(Some(Question::Mount(self.export))),
            (Stage::Information(root), _) => FileSystemInfo { root }.into(),
            (Stage::LookUp, Some(here)) => LookUp {
                place: Place {
                    directory: here.object,
                    name: self.name()?,
                },
            }
            .into(),
            (Stage::Attributes(object), _) => GetAttributes { object }.into(),
            (Stage::ReadLink(link), _) => ReadLink { link }.into(),
            (Stage::Arrived | Stage::LookUp, _) => return Ok(None),
        };
        Ok(Some(Question::Call(call)))
    }

    /// Takes the `results` that the server answered the last question with.
    ///
    /// # Errors
    /// [`WalkError`] says why the walk cannot go on.
    pub fn answer(&mut self, results: &[u8], limits: &Limits) -> Result<(), WalkError> {
        match self.stage {
            Stage::Mount => self.mounted(results, limits),
            Stage::Information(object) => {
                let abilities = self.done::<FileSystemInfo>(results, limits)?;
                let attributes = abilities.attributes;
                self.root = Some(Root { object, abilities });
                self.trail.push(Found { object, attributes });
                self.go_on()
            }
            Stage::LookUp => {
                let LookedUp {
                    object, attributes, ..
                } = self.done::<LookUp>(results, limits)?;
                let length = self.component().len();
                self.rest.drain(..length);
                self.look_at(object, attributes)
            }
            Stage::Attributes(object) => {
                let attributes = self.done::<GetAttributes>(results, limits)?;
                self.look_at(object, Some(attributes))
            }
            Stage::ReadLink(_) => {
                let target = self.done::<ReadLink>(results, limits)?;
                self.follow(target.path)
            }
            Stage::Arrived => Ok(()),
        }
    }

    /// The file that the path leads to, once there is no question left.
    pub fn found(&self) -> Option<Found> {
        matches!(self.stage, Stage::Arrived)
            .then(|| self.trail.last().copied())
            .flatten()
    }

    /// What is known of the export, once its server told.
    pub fn root(&self) -> Option<Root> {
        self.root
    }

    /// What was done by `R`, if it was.
    fn done<'r, R: Request>(
        &self,
        results: &'r [u8],
        limits: &Limits,
    ) -> Result<R::Done<'r>, WalkError> {
        let answer =
            Answer::<'r, R>::decode(results, limits).map_err(|fault| WalkError::Malformed {
                procedure: R::PROCEDURE.name(),
                fault,
            })?;
        answer
            .done()
            .map_err(|status| self.refused(R::PROCEDURE, status))
    }

    fn refused(&self, procedure: Procedure, status: Status) -> WalkError {
        WalkError::Refused {
            procedure,
            at: self.component().escape_ascii().to_string(),
            status,
        }
    }

    fn mounted(&mut self, results: &[u8], limits: &Limits) -> Result<(), WalkError> {
        let answer = MountAnswer::decode(results, limits).map_err(|fault| {
            let procedure = mount::Procedure::Mount.name();
            WalkError::Malformed { procedure, fault }
        })?;
        match answer {
            Outcome::Done(mounted) => {
                check_flavors(&mounted.flavors)?;
                self.stage = Stage::Information(mounted.root);
                Ok(())
            }
            Outcome::Failed { status, .. } => Err(WalkError::NotMounted {
                export: self.export.to_string(),
                status,
            }),
        }
    }

    /// The next part of the path; nothing at its end.
    fn component(&self) -> &[u8] {
        let end = self.rest.iter().position(|&byte| byte == b'/');
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    fn name(&self) -> Result<Name<'_>, WalkError> {
        Name::new(self.component()).map_err(|fault| WalkError::Name {
            name: self.component().escape_ascii().to_string(),
            fault,
        })
    }

    /// Removes what leads nowhere from the front of the path: all at once, since a server can make it long.
    fn skip(&mut self) {
        let mut from = 0;
        loop {
            from += match &self.rest[from..] {
                [b'/', ..] | [b'.', b'/', ..] | [b'.'] => 1,
                _ => break,
            };
        }
        self.rest.drain(..from);
    }

    /// Finds what to ask from where the walk is.
    fn go_on(&mut self) -> Result<(), WalkError> {
        self.skip();
        while self.component() == b".." {
            if self.trail.len() < 2 {
                return Err(WalkError::LeavesExport);
            }
            self.trail.pop();
            self.rest.drain(..2);
            self.skip();
        }
        self.stage = if self.rest.is_empty() {
            Stage::Arrived
        } else {
            self.name()?;
            Stage::LookUp
        };
        Ok(())
    }

    /// Goes on from an `object` that was found.
    fn look_at(
        &mut self,
        object: FileHandle,
        attributes: Option<Attributes>,
    ) -> Result<(), WalkError> {
        self.skip();
        let ends_here = self.rest.is_empty();
        match attributes.map(|attributes| attributes.kind) {
            None => {
                self.stage = Stage::Attributes(object);
                return Ok(());
            }
            Some(FileType::SymbolicLink) if !ends_here || self.follow_last => {
                self.stage = Stage::ReadLink(object);
                return Ok(());
            }
            Some(FileType::Directory) => {}
            Some(_) if ends_here => {}
            Some(_) => return Err(self.refused(Procedure::LookUp, Status::NotDirectory)),
        }
        self.trail.push(Found { object, attributes });
        self.go_on()
    }

    /// Goes on where a symbolic link leads.
    fn follow(&mut self, target: Path<'_>) -> Result<(), WalkError> {
        let target = target.bytes();
        if target.first() == Some(&b'/') {
            return Err(WalkError::LeavesExport);
        }
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(WalkError::TooManyLinks);
        }
        self.rest = [target, b"/", &self.rest].concat();
        self.go_on()
    }
}

/// Whether a server takes what we have. One that names no way takes what it gets.
fn check_flavors(flavors: &Flavors) -> Result<(), WalkError> {
    let numbers = flavors.numbers();
    let taken = |flavor: &u32| OUR_FLAVORS.contains(flavor);
    if numbers.is_empty() || numbers.iter().any(taken) {
        Ok(())
    } else {
        Err(WalkError::Flavors(numbers.to_vec()))
    }
}

//! CREATE, MKDIR, SYMLINK and MKNOD.

use ::nfs::{
    Create, CreateHow, Created, Device, FileType, MakeDirectory, MakeNode, MakeSymbolicLink,
    NewAttributes, Node, Outcome, Status, WeakCacheData,
};

use super::outcome;
use crate::programs::Programs;
use crate::storage::{Caller, Directory, Kind, Place};

/// Answer of these procedures.
type Answer = Outcome<Created, WeakCacheData>;

impl Programs {
    pub(super) fn create(&mut self, call: &Create<'_>, caller: Caller) -> Answer {
        self.made(&call.place, |programs, place| {
            let storage = &mut programs.storage;
            match &call.how {
                CreateHow::Unchecked(new) => storage.create(place, new, true, caller),
                CreateHow::Guarded(new) => storage.create(place, new, false, caller),
                CreateHow::Exclusive(verifier) => {
                    storage.create_exclusive(place, *verifier, caller)
                }
            }
        })
    }

    pub(super) fn make_directory(&mut self, call: &MakeDirectory<'_>, caller: Caller) -> Answer {
        self.made(&call.place, |programs, place| {
            let kind = Kind::Directory(Directory::new(place.directory));
            programs.storage.make(place, kind, &call.attributes, caller)
        })
    }

    pub(super) fn make_symbolic_link(
        &mut self,
        call: &MakeSymbolicLink<'_>,
        caller: Caller,
    ) -> Answer {
        self.made(&call.place, |programs, place| {
            let kind = Kind::SymbolicLink(call.path.bytes().into());
            programs.storage.make(place, kind, &call.attributes, caller)
        })
    }

    pub(super) fn make_node(&mut self, call: &MakeNode<'_>, caller: Caller) -> Answer {
        let (kind, device, attributes) = parts(&call.node);
        self.made(&call.place, |programs, place| {
            let kind = Kind::Node(kind, device);
            programs.storage.make(place, kind, attributes, caller)
        })
    }

    /// Creates a file in a directory with `make`, and returns the answer.
    fn made<'a>(
        &mut self,
        place: &::nfs::Place<'a>,
        make: impl FnOnce(&mut Self, Place<'a>) -> Result<u64, Status>,
    ) -> Answer {
        let (result, directory) = self.change_name(place, make);
        let created = result.map(|number| Created {
            object: Some(self.storage.handle(number)),
            attributes: Some(self.attributes_of(number)),
            directory,
        });
        outcome(created, directory)
    }
}

/// Returns file type, device and attributes of a node.
fn parts(node: &Node) -> (FileType, Device, &NewAttributes) {
    match node {
        Node::CharacterDevice(data) => (FileType::CharacterDevice, data.device, &data.attributes),
        Node::BlockDevice(data) => (FileType::BlockDevice, data.device, &data.attributes),
        Node::Socket(attributes) => (FileType::Socket, Device::default(), attributes),
        Node::Pipe(attributes) => (FileType::Pipe, Device::default(), attributes),
    }
}

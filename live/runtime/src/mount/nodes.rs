//! Which file the kernel means.

use std::collections::HashMap;

use edges::fuse::Node;
use files::Found;
use nfs::{Attributes, FileHandle, FileType, Time};

/// By what one notices that a file's content has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    size: u64,
    modified: Time,
}

/// A file that the kernel refers to.
#[derive(Debug)]
struct Known {
    file: FileHandle,
    kind: FileType,
    /// How often the kernel was told of it and has not forgotten it.
    references: u64,
    /// What it was when it was opened last.
    opened: Option<Version>,
}

/// The files that the kernel refers to: there are as many as it wants to remember.
#[derive(Debug)]
pub(super) struct Nodes {
    known: HashMap<Node, Known>,
    by_file: HashMap<FileHandle, Node>,
    next: u64,
}

impl Nodes {
    /// Only the directory that is mounted.
    pub(super) fn new(root: FileHandle) -> Self {
        let known = Known {
            file: root,
            kind: FileType::Directory,
            references: 1,
            opened: None,
        };
        Self {
            known: HashMap::from([(Node::ROOT, known)]),
            by_file: HashMap::from([(root, Node::ROOT)]),
            next: Node::ROOT.0 + 1,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// The file of a node.
    pub(super) fn file(&self, node: Node) -> Option<FileHandle> {
        self.known.get(&node).map(|known| known.file)
    }

    /// The node of a file that the kernel is told of once more. A number is never used for two files, nor for
    /// what has become something of another kind.
    pub(super) fn refer(&mut self, found: &Found) -> Node {
        let kind = found.attributes.kind;
        if let Some(&node) = self.by_file.get(&found.file)
            && let Some(known) = self.known.get_mut(&node)
            && known.kind == kind
        {
            known.references += 1;
            return node;
        }
        let node = Node(self.next);
        self.next += 1;
        let known = Known {
            file: found.file,
            kind,
            references: 1,
            opened: None,
        };
        self.known.insert(node, known);
        self.by_file.insert(found.file, node);
        node
    }

    /// The kernel has forgotten `references` of those to a node.
    pub(super) fn forget(&mut self, node: Node, references: u64) {
        let Some(known) = self.known.get_mut(&node) else {
            return;
        };
        known.references = known.references.saturating_sub(references);
        if known.references > 0 || node == Node::ROOT {
            return;
        }
        let file = known.file;
        self.known.remove(&node);
        if self.by_file.get(&file) == Some(&node) {
            self.by_file.remove(&file);
        }
    }

    /// Whether the attributes can be those of the node's file.
    pub(super) fn may_be(&self, node: Node, attributes: &Attributes) -> bool {
        let known = self.known.get(&node);
        known.is_none_or(|known| known.kind == attributes.kind)
    }

    /// Notes that a file is opened; whether its content is what it was the last time.
    pub(super) fn open(&mut self, node: Node, attributes: &Attributes) -> bool {
        let version = Version {
            size: attributes.size,
            modified: attributes.times.modified,
        };
        let known = self.known.get_mut(&node);
        known.is_some_and(|known| known.opened.replace(version) == Some(version))
    }
}

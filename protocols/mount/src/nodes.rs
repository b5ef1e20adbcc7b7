//! Which file the kernel means.

use std::collections::BTreeMap;

use files::Found;
use nfs::{Attributes, FileHandle, FileType, Time};

use crate::Node;

/// By what one notices that a file's content has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    size: u64,
    modified: Time,
}

/// A file that the kernel refers to.
#[derive(Debug, Clone)]
struct Known {
    file: FileHandle,
    kind: FileType,
    /// References that the kernel has to it.
    references: u64,
    /// What it was when it was opened last.
    opened: Option<Version>,
}

/// The files that the kernel refers to: there are as many as it wants to remember.
#[derive(Debug, Clone)]
pub(crate) struct Nodes {
    known: BTreeMap<Node, Known>,
    by_file: BTreeMap<FileHandle, Node>,
    next: u64,
}

impl Nodes {
    /// Only the directory that is mounted.
    pub(crate) fn new(root: FileHandle) -> Self {
        let known = Known {
            file: root,
            kind: FileType::Directory,
            references: 1,
            opened: None,
        };
        Self {
            known: BTreeMap::from([(Node::ROOT, known)]),
            by_file: BTreeMap::from([(root, Node::ROOT)]),
            next: Node::ROOT.0 + 1,
        }
    }

    /// Number of them.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    /// The file of a node.
    pub(crate) fn file(&self, node: Node) -> Option<FileHandle> {
        self.known.get(&node).map(|known| known.file)
    }

    /// Returns the node of a file, to which the kernel has one more reference. A number is never used for two
    /// files, nor for what has become something of another kind.
    pub(crate) fn refer(&mut self, found: &Found) -> Node {
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
    pub(crate) fn forget(&mut self, node: Node, references: u64) {
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

    /// Returns true if the attributes can be those of the node's file.
    pub(crate) fn may_be(&self, node: Node, attributes: &Attributes) -> bool {
        let known = self.known.get(&node);
        known.is_none_or(|known| known.kind == attributes.kind)
    }

    /// Notes that a file is opened; returns true if its content is what it was the last time.
    pub(crate) fn open(&mut self, node: Node, attributes: &Attributes) -> bool {
        let version = Version {
            size: attributes.size,
            modified: attributes.times.modified,
        };
        let known = self.known.get_mut(&node);
        known.is_some_and(|known| known.opened.replace(version) == Some(version))
    }
}

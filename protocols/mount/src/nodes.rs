//! The nodes: the files that the kernel refers to.

use std::collections::BTreeMap;

use files::Found;
use nfs::{Attributes, FileHandle, FileType, Time};
use planted::Bug;

use crate::Node;

/// Version of a file's content, by which changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    size: u64,
    modified: Time,
}

/// A file that the kernel refers to.
#[derive(Debug, Clone)]
struct NodeEntry {
    file: FileHandle,
    kind: FileType,
    /// Number of references that the kernel has to it.
    references: u64,
    /// Version at the last open.
    opened: Option<Version>,
}

/// Files that the kernel refers to; their number depends on the kernel's cache.
#[derive(Debug, Clone)]
pub(crate) struct Nodes {
    known: BTreeMap<Node, NodeEntry>,
    by_file: BTreeMap<FileHandle, Node>,
    next: u64,
}

impl Nodes {
    /// Returns only the mounted directory.
    pub(crate) fn new(root: FileHandle) -> Self {
        let known = NodeEntry {
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

    /// Returns the number of files.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    /// Returns the file of a node, if the kernel refers to it.
    pub(crate) fn file(&self, node: Node) -> Option<FileHandle> {
        self.known.get(&node).map(|known| known.file)
    }

    /// Returns the node of a file, and adds a reference by the kernel. A number is never used for two files, nor for
    /// a file that has become one of another type.
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
        let known = NodeEntry {
            file: found.file,
            kind,
            references: 1,
            opened: None,
        };
        self.known.insert(node, known);
        self.by_file.insert(found.file, node);
        node
    }

    /// Removes `references` references by the kernel to a node.
    pub(crate) fn forget(&mut self, node: Node, references: u64) {
        let Some(known) = self.known.get_mut(&node) else {
            return;
        };
        known.references = known.references.saturating_sub(references);
        if known.references > 0 || node == Node::ROOT {
            return;
        }
        let file = known.file;
        if planted::is(Bug::NodeIsUsedAgain) {
            self.next = node.0;
        }
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

    /// Notes that a file is opened. Returns true if its content has not changed since the last time.
    pub(crate) fn open(&mut self, node: Node, attributes: &Attributes) -> bool {
        let version = Version {
            size: attributes.size,
            modified: attributes.times.modified,
        };
        let known = self.known.get_mut(&node);
        known.is_some_and(|known| known.opened.replace(version) == Some(version))
    }
}

//! The step that checks the direction of dependencies: a crate depends only on crates above it.

use std::path::Path;

use serde::Deserialize;

use crate::outcome::Outcome;
use xtask::shell::{Failure, Shell};

#[cfg(test)]
mod tests;

/// A folder of crates.
struct Layer {
    /// The folder; empty for crates at the root.
    folder: &'static str,
    /// Its crates; each may depend on those before it.
    crates: &'static [&'static str],
    /// The other layers that all of its crates may depend on.
    sees: &'static [&'static str],
}

/// Every crate and its permitted dependencies. They are written only here.
const HOUSE: &[Layer] = &[
    Layer {
        folder: "base",
        crates: &["planted", "units", "machine", "wire"],
        sees: &[],
    },
    Layer {
        folder: "protocols",
        crates: &[
            "pathmtu",
            "arq",
            "snoop",
            "redirector",
            "mtcp",
            "rpc",
            "nfs",
            "files",
            "mount",
            "signals",
            "scheduler",
            "session",
            "air",
            "association",
            "split",
            "hosts",
        ],
        sees: &["base"],
    },
    Layer {
        folder: "sim",
        crates: &[
            "channel",
            "tcp",
            "fileserver",
            "rivals",
            "simulator",
            "sockets",
            "sites",
            "programs",
            "world",
        ],
        sees: &["base", "protocols"],
    },
    Layer {
        folder: "live",
        crates: &["edges", "rig", "runtime"],
        sees: &["base", "protocols"],
    },
    Layer {
        folder: "lab",
        crates: &["experiment", "papers"],
        sees: &["base", "protocols", "sim"],
    },
    Layer {
        folder: "app",
        crates: &["lasthop"],
        sees: &["base", "protocols", "sim", "live", "lab"],
    },
    Layer {
        folder: "app",
        crates: &["bench"],
        sees: &["base", "sim", "live", ""],
    },
    Layer {
        folder: "",
        crates: &["xtask"],
        sees: &[],
    },
    Layer {
        folder: "",
        crates: &["fuzz"],
        sees: &["base", "protocols", "sim"],
    },
];

/// The layer that every crate's tests may see: a core is tested on a simulated channel, and against simulated hosts,
/// which stand below it (`sim/fileserver` uses `protocols/rpc`; the tests of `protocols/files` use `sim/fileserver`).
/// So may the tests of simulated hosts: `sim/simulator` has the clock of all tests.
const SEEN_BY_TESTS: &str = "sim";

/// A dependency of one of our crates on another; crates have the names of their folders, such as `base/units`.
struct Edge {
    from: String,
    to: String,
    for_tests: bool,
}

/// Reads the workspace's crates and fails on every dependency in a forbidden direction.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, Failure> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--quiet"];
    let output = shell.run(shell.cargo(&arguments))?;
    let unreadable = |error| Failure::Found(format!("cargo metadata is not as expected: {error}"));
    let metadata: Metadata = serde_json::from_str(&output).map_err(unreadable)?;
    let (crates, edges) = metadata.graph();
    let mut findings: Vec<_> = crates.iter().filter_map(|name| unknown(name)).collect();
    findings.extend(edges.iter().filter_map(violation));
    Failure::unless_empty(&findings)?;
    let note = format!("{} crates, {} edges", crates.len(), edges.len());
    Ok(Outcome::noted(note))
}

/// Returns an error for a crate that is not in `HOUSE`.
fn unknown(name: &str) -> Option<String> {
    let remedy = "give it a place in HOUSE (xtask/src/layers.rs)";
    place(name)
        .is_none()
        .then(|| format!("{name} stands in no layer; {remedy}"))
}

/// Returns an error for an edge that is not permitted.
fn violation(edge: &Edge) -> Option<String> {
    let (from, from_position) = place(&edge.from)?;
    let (to, to_position) = place(&edge.to)?;
    let stands_above = if from.folder == to.folder {
        to_position < from_position
    } else {
        from.sees.contains(&to.folder)
    };
    let allowed = stands_above || (edge.for_tests && to.folder == SEEN_BY_TESTS);
    let kind = if edge.for_tests {
        "dev-dependency"
    } else {
        "dependency"
    };
    let Edge { from, to, .. } = edge;
    (!allowed)
        .then(|| format!("{from} must not see {to} ({kind}; xtask/src/layers.rs says who may)"))
}

/// Returns the layer of a crate, and its index there.
fn place(name: &str) -> Option<(&'static Layer, usize)> {
    let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
    HOUSE
        .iter()
        .filter(|layer| layer.folder == folder)
        .find_map(|layer| {
            let position = layer.crates.iter().position(|known| *known == name)?;
            Some((layer, position))
        })
}

/// The part of `cargo metadata` that this step reads.
#[derive(Deserialize)]
struct Metadata {
    workspace_root: String,
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    /// Absent for a crate from a registry.
    path: Option<String>,
    /// `dev`, `build`, or absent.
    kind: Option<String>,
}

impl Metadata {
    /// Returns our crates and the edges between them.
    fn graph(&self) -> (Vec<String>, Vec<Edge>) {
        let mut crates = Vec::new();
        let mut edges = Vec::new();
        for package in &self.packages {
            let manifest = Path::new(&package.manifest_path);
            let from = self.name(manifest.parent().unwrap_or(manifest));
            for dependency in &package.dependencies {
                if let Some(path) = &dependency.path {
                    edges.push(Edge {
                        from: from.clone(),
                        to: self.name(Path::new(path)),
                        for_tests: dependency.kind.as_deref() == Some("dev"),
                    });
                }
            }
            crates.push(from);
        }
        (crates, edges)
    }

    /// Returns the folder of a crate, relative to the root.
    fn name(&self, folder: &Path) -> String {
        let inside = folder.strip_prefix(&self.workspace_root).unwrap_or(folder);
        inside.to_string_lossy().into()
    }
}

//! The software bill of materials of a release: every library in the program, with version, licence and checksum
//! (`CycloneDX` 1.5).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::dist::{self, PACKAGES, unreadable, unwritable};
use xtask::shell::{Failure, Shell};

/// The crate that becomes the program.
const PROGRAM: &str = "lasthop";
const LOCK: &str = "Cargo.lock";

/// The part of `cargo metadata` that is read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
}

impl Package {
    /// Returns its identifier as a package URL.
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// Absent for code that gets into the program.
    kind: Option<String>,
}

/// Writes the bill; returns its path.
pub(super) fn write(shell: &Shell, version: &str) -> Result<PathBuf, Failure> {
    let arguments = ["metadata", "--locked", "--offline", "--quiet"];
    let mut command = shell.cargo(&arguments);
    command.args([
        "--format-version",
        "1",
        "--filter-platform",
        &dist::target(),
    ]);
    let output = shell.run(command)?;
    let wrong = |error| Failure::Found(format!("cargo metadata is not as expected: {error}"));
    let metadata: Metadata = serde_json::from_str(&output).map_err(wrong)?;
    let lock = shell.root.join(LOCK);
    let lock = fs::read_to_string(&lock).map_err(unreadable(&lock))?;
    let bill = bill(&metadata, &checksums(&lock)).map_err(Failure::Found)?;
    let path = shell
        .root
        .join(PACKAGES)
        .join(format!("lasthop-{version}.cdx.json"));
    fs::write(&path, format!("{bill:#}\n")).map_err(unwritable(&path))?;
    Ok(path)
}

/// Returns the bill of the program.
fn bill(metadata: &Metadata, checksums: &BTreeMap<String, String>) -> Result<Value, String> {
    let packages: BTreeMap<_, _> = metadata
        .packages
        .iter()
        .map(|one| (&*one.id, one))
        .collect();
    let program = metadata.packages.iter().find(|one| one.name == PROGRAM);
    let program = program.ok_or_else(|| format!("there is no crate {PROGRAM}"))?;
    let edges = edges(metadata);
    let mut reached = BTreeSet::from([&*program.id]);
    let mut waiting = vec![&*program.id];
    while let Some(id) = waiting.pop() {
        let below = edges.get(id).into_iter().flatten();
        waiting.extend(below.copied().filter(|id| reached.insert(id)));
    }
    let url = |id: &str| packages.get(id).map(|package| package.url());
    let entry = |kind: &str, package: &Package| {
        let mut entry = json!({
            "type": kind,
            "bom-ref": package.url(),
            "name": package.name,
            "version": package.version,
            "purl": package.url(),
        });
        if let Some(license) = &package.license {
            // An older way to write a choice.
            let expression = license.replace('/', " OR ");
            entry["licenses"] = json!([{ "expression": expression }]);
        }
        if let Some(sum) = checksums.get(&package.url()) {
            entry["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        entry
    };
    let libraries = reached.iter().filter(|id| **id != program.id);
    let libraries = libraries.filter_map(|id| packages.get(id));
    let dependencies = reached.iter().map(|id| {
        let below = edges.get(id).into_iter().flatten();
        let below: Vec<_> = below.filter_map(|id| url(id)).collect();
        json!({ "ref": url(id), "dependsOn": below })
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": entry("application", program) },
        "components": libraries.map(|one| entry("library", one)).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// Returns the libraries of each crate that get into a program with it.
fn edges(metadata: &Metadata) -> BTreeMap<&str, BTreeSet<&str>> {
    let is_linked = |dependency: &&Dependency| {
        let mut kinds = dependency.dep_kinds.iter();
        kinds.any(|kind| kind.kind.is_none())
    };
    let mut edges = BTreeMap::new();
    for node in &metadata.resolve.nodes {
        let linked = node.deps.iter().filter(is_linked);
        let linked: BTreeSet<_> = linked.map(|dependency| &*dependency.pkg).collect();
        edges.insert(&*node.id, linked);
    }
    edges
}

/// Returns the checksums in a lock file, by package URL.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let package = |text: &str| {
        let field = |name: &str| {
            let prefix = format!("{name} = \"");
            let line = text.lines().find_map(|line| line.strip_prefix(&*prefix));
            line.and_then(|rest| rest.strip_suffix('"'))
        };
        let url = format!("pkg:cargo/{}@{}", field("name")?, field("version")?);
        Some((url, field("checksum")?.to_owned()))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_has_what_is_linked_and_nothing_else() {
        let metadata = r#"{
            "packages": [
                { "id": "p", "name": "lasthop", "version": "0.1.0", "license": "MIT OR Apache-2.0" },
                { "id": "a", "name": "a", "version": "1.0.0", "license": "MIT/Apache-2.0" },
                { "id": "b", "name": "b", "version": "2.0.0", "license": null },
                { "id": "t", "name": "t", "version": "3.0.0", "license": "MIT" }
            ],
            "resolve": { "nodes": [
                { "id": "p", "deps": [
                    { "pkg": "a", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "t", "dep_kinds": [{ "kind": "dev" }] }
                ] },
                { "id": "a", "deps": [{ "pkg": "b", "dep_kinds": [{ "kind": "build" }, { "kind": null }] }] },
                { "id": "b", "deps": [] },
                { "id": "t", "deps": [] }
            ] }
        }"#;
        let metadata: Metadata = serde_json::from_str(metadata).unwrap();
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n[[package]]\n\
                    name = \"lasthop\"\nversion = \"0.1.0\"\n";
        let bill = bill(&metadata, &checksums(lock)).unwrap();
        let names = bill["components"].as_array().unwrap();
        let names: Vec<_> = names
            .iter()
            .map(|one| one["purl"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["pkg:cargo/a@1.0.0", "pkg:cargo/b@2.0.0"]);
        let first = &bill["components"][0];
        assert_eq!(first["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(first["hashes"][0]["content"], "abc");
        assert_eq!(bill["components"][1].get("hashes"), None);
        let expected =
            json!({ "ref": "pkg:cargo/lasthop@0.1.0", "dependsOn": ["pkg:cargo/a@1.0.0"] });
        assert!(bill["dependencies"].as_array().unwrap().contains(&expected));
    }
}

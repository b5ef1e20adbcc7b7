//! The built-in links.
//!
//! Each is a file in `links/` with its source in a comment: the links of the benchmarks, one for every setting of the
//! papers, and some modern ones.

use crate::link::Link;
use crate::problem::LinkError;

macro_rules! links {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../links/", $name, ".toml")))),*]
    };
}

/// Name and text of every link.
const LINKS: &[(&str, &str)] = links![
    "l1-clean",
    "l1-b40",
    "l1-b80",
    "l1-b160",
    "l2-clean",
    "l2-b40",
    "l2-b80",
    "l2-b160",
    "l3-clean",
    "l3-b80",
    "l3-p1",
    "l3-p5",
    "l4-clean",
    "l4-p1",
    "nfs97-clean",
    "nfs97-b40",
    "nfs97-b80",
    "nfs97-b120",
    "nfs97-b160",
    "ton97-clean",
    "ton97-lan-16k",
    "ton97-lan-32k",
    "ton97-lan",
    "ton97-lan-128k",
    "ton97-lan-256k",
    "ton97-burst2",
    "ton97-burst4",
    "ton97-burst6",
    "mtcp00-wireless",
    "mtcp00-ethernet",
    "csdp96",
    "wifi-edge",
    "lte-driving",
    "geo-satellite",
];

/// Returns the names, in the order in which they should be shown.
pub fn names() -> impl Iterator<Item = &'static str> {
    LINKS.iter().map(|(name, _)| *name)
}

/// Returns every built-in link.
pub fn all() -> impl Iterator<Item = Link> {
    LINKS.iter().map(|(name, text)| read(name, text))
}

fn read(name: &str, text: &str) -> Link {
    Link::from_toml(text, name).expect("a test reads every link")
}

impl Link {
    /// Returns the built-in link called `name`; the error lists the names that exist.
    pub fn named(name: &str) -> Result<Self, LinkError> {
        let found = LINKS.iter().find(|(known, _)| *known == name);
        found
            .map(|(name, text)| read(name, text))
            .ok_or_else(|| LinkError::UnknownName {
                name: name.into(),
                known: names().collect::<Vec<_>>().join(", "),
            })
    }
}

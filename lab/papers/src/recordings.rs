//! Recorded channels, which plans select by name.
//!
//! Each is a file of changes of state in the format of `sim/channel`, with its origin in its first lines.

/// Name and text of every recording.
const RECORDINGS: &[(&str, &str)] = &[("wifi-edge", include_str!("recordings/wifi-edge.txt"))];

/// Returns the text of the recording `name`; the error lists those that exist.
pub(crate) fn read(name: &str) -> Result<String, String> {
    let found = RECORDINGS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| (*text).into()).ok_or_else(|| {
        let known: Vec<_> = RECORDINGS.iter().map(|(name, _)| *name).collect();
        format!(
            "plans replay recordings by name; known are {}",
            known.join(", ")
        )
    })
}

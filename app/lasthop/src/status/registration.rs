//! The registration of a peer, in words.

use serde_json::Value;

use super::page::{seconds, text};

/// Describes since when the peer is registered, or gone; `None` if it was never registered.
pub(super) fn describe(registration: &Value) -> Option<String> {
    let part = |name: &str| seconds(text(&registration[name]));
    match text(&registration["state"]) {
        "registered" => Some(format!(
            "for {}, heard {} ago; keys end in {} unless renewed",
            part("lasted"),
            part("heard"),
            part("expires_in"),
        )),
        "left" => Some(format!("no more: it left {} ago", part("ago"))),
        "expired" => Some(format!("no more: its keys ended {} ago", part("ago"))),
        _ => None,
    }
}

/// Returns the word for a peer without keys.
pub(super) fn absence(registration: &Value) -> &'static str {
    match text(&registration["state"]) {
        "left" => "left",
        "expired" => "out of reach",
        _ => "not connected",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn says_who_is_here_and_who_has_gone() {
        let here = json!({
            "state": "registered", "lasted": "3601.2 s", "heard": "300 ms", "expires_in": "118 s"
        });
        let said = "for 1 h 0 min, heard 0 s ago; keys end in 1 min 58 s unless renewed";
        assert_eq!(describe(&here).as_deref(), Some(said));
        let left = json!({ "state": "left", "ago": "61 s" });
        let said = "no more: it left 1 min 1 s ago";
        assert_eq!(
            (describe(&left).as_deref(), absence(&left)),
            (Some(said), "left")
        );
        let expired = json!({ "state": "expired", "ago": "2 s" });
        let said = "no more: its keys ended 2 s ago";
        let told = (describe(&expired), absence(&expired));
        assert_eq!(told, (Some(said.into()), "out of reach"));
        let never = json!({ "state": "unknown" });
        assert_eq!((describe(&never), absence(&never)), (None, "not connected"));
    }
}

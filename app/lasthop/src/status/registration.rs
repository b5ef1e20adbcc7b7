//! The registration of a peer, in words.

use hosts::{ComparisonStatus, PeerStatus, Registration};

use super::short;
use super::text::seconds;

/// Describes the time since the peer arrived or left; `None` if it was never here.
pub(super) fn describe(registration: &Registration) -> Option<String> {
    match *registration {
        Registration::Unknown => None,
        Registration::Registered {
            lasted,
            heard,
            expires_in,
        } => Some(format!(
            "for {}, heard {} ago; keys end in {} unless renewed",
            seconds(lasted),
            seconds(heard),
            seconds(expires_in),
        )),
        Registration::Left { ago } => Some(format!("no more: it left {} ago", seconds(ago))),
        Registration::Expired { ago } => {
            Some(format!("no more: its keys ended {} ago", seconds(ago)))
        }
    }
}

/// Describes the state of a peer without keys.
pub(super) fn absence(registration: &Registration) -> &'static str {
    match registration {
        Registration::Left { .. } => "left",
        Registration::Expired { .. } => "out of reach",
        Registration::Unknown | Registration::Registered { .. } => "not connected",
    }
}

/// Describes what was measured through a gateway.
pub(super) fn measured(compared: &ComparisonStatus) -> String {
    let ComparisonStatus {
        ago,
        round_trip,
        probes,
        lost,
    } = *compared;
    let way = match round_trip {
        Some(time) => format!("{} ms to the home and back", time.as_millis()),
        None => "no answer from the home".into(),
    };
    format!(
        "{way}, {lost} of {probes} probes lost, {} ago",
        seconds(ago)
    )
}

/// Describes if the peer can be reached.
pub(crate) fn state(peer: &PeerStatus) -> String {
    let fading = peer.hop.fading_for;
    if let Some(place) = peer.site.as_ref().and_then(short::place) {
        return place;
    }
    match peer.keys_age {
        None => absence(&peer.registration).into(),
        Some(_) if !fading.is_zero() => format!("in a fade for {fading}"),
        Some(keys_age) => format!("connected, keys {} old", seconds(keys_age)),
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn says_what_was_measured_through_a_gateway() {
        let mut compared = ComparisonStatus {
            ago: Duration::from_secs(12),
            round_trip: Some(Duration::from_micros(31_400)),
            probes: 48,
            lost: 3,
        };
        let said = "31 ms to the home and back, 3 of 48 probes lost, 12 s ago";
        assert_eq!(measured(&compared), said);
        (compared.round_trip, compared.lost) = (None, 48);
        let said = "no answer from the home, 48 of 48 probes lost, 12 s ago";
        assert_eq!(measured(&compared), said);
    }

    #[test]
    fn says_who_is_here_and_who_has_gone() {
        let here = Registration::Registered {
            lasted: Duration::from_millis(3_601_200),
            heard: Duration::from_millis(300),
            expires_in: Duration::from_secs(118),
        };
        let said = "for 1 h 0 min, heard 0 s ago; keys end in 1 min 58 s unless renewed";
        assert_eq!(describe(&here).as_deref(), Some(said));
        let ago = Duration::from_secs(61);
        let left = Registration::Left { ago };
        let said = "no more: it left 1 min 1 s ago";
        assert_eq!(
            (describe(&left).as_deref(), absence(&left)),
            (Some(said), "left")
        );
        let ago = Duration::from_secs(2);
        let expired = Registration::Expired { ago };
        let said = "no more: its keys ended 2 s ago";
        let told = (describe(&expired), absence(&expired));
        assert_eq!(told, (Some(said.into()), "out of reach"));
        let never = Registration::Unknown;
        assert_eq!((describe(&never), absence(&never)), (None, "not connected"));
    }
}

//! Where programs ask for names, in words.

use std::net::IpAddr;

use runtime::resolver::NamesStatus;

/// Returns where they ask.
pub(super) fn describe(names: &NamesStatus) -> String {
    match (names.way, warning(names), &names.error) {
        (Some(way), ..) => format!(
            "asked at {}, across the hop (by {way})",
            list(&names.servers)
        ),
        (None, Some(warning), _) => warning,
        (None, None, Some(error)) => format!("asked as without the hop: {error}"),
        (None, None, None) => "asked as without the hop".into(),
    }
}

/// Returns the warning that they ask beside the hop, if they do.
pub(super) fn warning(names: &NamesStatus) -> Option<String> {
    (!names.beside.is_empty()).then(|| {
        format!(
            "names are asked at {}, beside the hop; the log says how to change that",
            list(&names.beside)
        )
    })
}

fn list(addresses: &[IpAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_beside_the_hop_are_named() {
        let mut names = NamesStatus {
            beside: vec!["192.168.1.1".parse().unwrap()],
            ..NamesStatus::default()
        };
        let expected =
            "names are asked at 192.168.1.1, beside the hop; the log says how to change that";
        assert_eq!(warning(&names).as_deref(), Some(expected));
        assert_eq!(describe(&names), expected);
        names.beside.clear();
        assert_eq!(warning(&names), None);
        names.servers = vec!["10.73.0.1".parse().unwrap()];
        names.way = Some(edges::resolver::Way::Resolved);
        let expected = "asked at 10.73.0.1, across the hop (by systemd-resolved)";
        assert_eq!(describe(&names), expected);
    }
}

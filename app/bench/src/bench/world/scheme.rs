//! The compared schemes and the traffic beside them, as the command line names them.

use std::str::FromStr;

/// Congestion controls of the kernel's TCP.
const SENDERS: [&str; 3] = ["cubic", "bbr", "reno"];
/// Limit of the connections of others.
const MOST: u32 = 64;

/// The transport of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scheme {
    /// True if it goes through the tunnel.
    pub(super) tunnel: bool,
    /// The sender's congestion control.
    pub(super) sender: String,
}

impl Scheme {
    pub(super) fn name(&self) -> String {
        match (self.tunnel, self.sender.as_str()) {
            (true, "cubic") => "lasthop".into(),
            (true, sender) => format!("lasthop+{sender}"),
            (false, sender) => sender.into(),
        }
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (tunnel, sender) = match text.split_once('+') {
            Some(("lasthop", sender)) => (true, sender),
            None if text == "lasthop" => (true, "cubic"),
            None => (false, text),
            Some(_) => (false, ""),
        };
        if !SENDERS.contains(&sender) {
            return Err(format!(
                "'{text}' is no scheme; there are cubic, bbr, reno, lasthop, lasthop+bbr and lasthop+reno"
            ));
        }
        let sender = sender.into();
        Ok(Self { tunnel, sender })
    }
}

/// Connections of one kind beside the measured traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beside {
    pub(super) sender: String,
    pub(super) count: u32,
}

impl FromStr for Beside {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sender, count) = text.split_once(':').unwrap_or((text, "1"));
        let count = count
            .parse()
            .ok()
            .filter(|count| (1..=MOST).contains(count));
        match (SENDERS.contains(&sender), count) {
            (true, Some(count)) => Ok(Self {
                sender: sender.into(),
                count,
            }),
            (true, None) | (false, _) => Err(format!(
                "'{text}' says no one who is beside; write it like 'cubic:2', with cubic, bbr or reno, and 1 to {MOST}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Beside, Scheme};

    #[test]
    fn schemes_read_as_they_print() {
        for name in ["cubic", "bbr", "lasthop", "lasthop+bbr"] {
            assert_eq!(
                name.parse::<Scheme>().map(|scheme| scheme.name()),
                Ok(name.into())
            );
        }
        for wrong in ["", "vegas", "lasthop+", "tunnel+bbr", "lasthop+cubic+bbr"] {
            assert!(wrong.parse::<Scheme>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn others_are_counted() {
        let two = "cubic:2".parse::<Beside>().expect("two of them");
        assert_eq!((two.sender.as_str(), two.count), ("cubic", 2));
        assert_eq!("bbr".parse::<Beside>().map(|one| one.count), Ok(1));
        for wrong in [
            "cubic:0", "cubic:65", "cubic:-1", ":2", "vegas:1", "cubic:x",
        ] {
            assert!(wrong.parse::<Beside>().is_err(), "{wrong}");
        }
    }
}

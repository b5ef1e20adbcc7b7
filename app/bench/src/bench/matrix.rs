//! The measurements over the links, and their goals.

/// A link and its measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// The link's name.
    pub(crate) link: &'static str,
    /// Direction of the transfer: `down`, `up` or `both`.
    pub(crate) way: &'static str,
    /// Seconds skipped at the beginning.
    pub(crate) skip: u64,
    /// Goals for the shares of reno and cubic, and of bbr.
    pub(crate) goals: Option<(f64, f64)>,
    /// Round-trip time of the hop, in milliseconds.
    pub(crate) round_trip: u32,
    /// True if the link is slow enough for several to be measured at the same time without disturbance.
    pub(crate) slow: bool,
    /// Window of kcptun, in packets: a bandwidth-delay product and half the queue.
    pub(crate) window: u32,
}

const fn case(link: &'static str, goal: f64) -> Case {
    Case {
        link,
        way: "down",
        skip: 0,
        goals: Some((goal, goal)),
        round_trip: 10,
        slow: true,
        window: 27,
    }
}

const fn medium(link: &'static str, goal: f64) -> Case {
    Case {
        round_trip: 40,
        window: 117,
        ..case(link, goal)
    }
}

const fn fast(link: &'static str, goals: (f64, f64)) -> Case {
    Case {
        skip: 30,
        goals: Some(goals),
        round_trip: 100,
        slow: false,
        window: 1_330,
        ..case(link, goals.0)
    }
}

const fn long(link: &'static str) -> Case {
    Case {
        goals: None,
        round_trip: 600,
        window: 3_750,
        ..fast(link, (0.0, 0.0))
    }
}

const fn way(case: Case, way: &'static str) -> Case {
    Case { way, ..case }
}

/// All cases.
pub(crate) const CASES: [Case; 17] = [
    case("l1-b40", 0.92),
    case("l1-b80", 0.92),
    case("l1-b160", 0.92),
    medium("l2-b40", 0.92),
    medium("l2-b80", 0.92),
    medium("l2-b160", 0.92),
    way(medium("l2-b80", 0.92), "up"),
    way(medium("l2-b80", 0.92), "both"),
    fast("l3-b80", (0.86, 0.86)),
    way(fast("l3-b80", (0.86, 0.86)), "up"),
    way(fast("l3-b80", (0.86, 0.86)), "both"),
    fast("l3-p1", (0.90, 0.82)),
    fast("l3-p5", (0.88, 0.77)),
    long("l4-p1"),
    Case {
        goals: None,
        ..case("l1-clean", 0.0)
    },
    Case {
        goals: None,
        ..medium("l2-clean", 0.0)
    },
    Case {
        goals: None,
        ..fast("l3-clean", (0.0, 0.0))
    },
];

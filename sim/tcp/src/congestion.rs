//! The congestion window (Jacobson 1988, RFC 5681).

/// The largest window without scaling.
const WINDOW_MAX: u64 = 65_535;

/// The congestion window, in bytes.
#[derive(Debug, Clone)]
pub(crate) struct CongestionWindow {
    settings: crate::Congestion,
    segment: u64,
    size: u64,
    threshold: u64,
    most: u64,
}

impl CongestionWindow {
    pub(crate) fn new(settings: &crate::Congestion) -> Self {
        Self {
            settings: settings.clone(),
            segment: 1,
            size: settings.initial_window.into(),
            threshold: u64::MAX,
            most: WINDOW_MAX,
        }
    }

    /// Sets the negotiated segment size and the scale of the peer's windows.
    pub(crate) fn agreed(&mut self, segment: u64, scale: u8) {
        self.segment = segment;
        self.size = segment * u64::from(self.settings.initial_window);
        self.most = WINDOW_MAX << scale;
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Grows the window for an acknowledgement of new data: by a segment in slow start, otherwise by a segment in each
    /// round trip, in 4.4BSD plus an eighth of a segment.
    pub(crate) fn grow(&mut self) {
        let increase = if self.size <= self.threshold {
            self.segment
        } else {
            let eighth = u64::from(self.settings.extra_eighth) * self.segment / 8;
            (self.segment * self.segment / self.size).max(1) + eighth
        };
        self.size = (self.size + increase).min(self.most);
    }

    /// Reacts to congestion: the threshold becomes half of `in_use`, in whole segments, at least two.
    pub(crate) fn halve_threshold(&mut self, in_use: u64) -> u64 {
        let segments = (in_use / 2 / self.segment).max(2);
        self.threshold = segments * self.segment;
        self.threshold
    }

    pub(crate) fn set(&mut self, size: u64) {
        self.size = size.max(self.segment);
    }

    /// Reduces the window to one segment after a timeout.
    pub(crate) fn restart(&mut self) {
        self.size = self.segment;
    }

    /// Resets the window after a pause in which the path may have changed.
    pub(crate) fn restart_after_idle(&mut self) {
        if self.settings.restart_after_idle {
            let initial = self.segment * u64::from(self.settings.initial_window);
            self.size = self.size.min(initial);
        }
    }

    /// Inflates the window by one segment, since one more segment has left the network.
    pub(crate) fn inflate(&mut self) {
        self.size = (self.size + self.segment).min(self.most);
    }
}

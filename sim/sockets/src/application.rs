//! An application with one connection.

/// Role of an application in its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It opened the connection.
    Asker,
    /// It accepted the connection.
    Answerer,
}

/// State of a connection, as its application sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was requested.
    Asking,
    /// It is established.
    Open,
    /// It was refused.
    Refused,
    /// It was reset.
    Reset,
}

/// An application with one connection. Each byte of its stream is computed from its position, the port and the role.
#[derive(Debug, Clone)]
pub struct Application {
    role: Role,
    port: u16,
    state: State,
    /// Bytes that it wrote, and bytes of these that its socket accepted.
    written: u64,
    taken: u64,
    finished: bool,
    received: u64,
    unread: u64,
    reads: bool,
    ended: bool,
}

fn byte(role: Role, port: u16, place: u64) -> u8 {
    let salt = u64::from(port) * 2 + u64::from(role == Role::Asker);
    (place.wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8
}

impl Application {
    pub(crate) fn new(role: Role, port: u16) -> Self {
        Self {
            role,
            port,
            state: State::Asking,
            written: 0,
            taken: 0,
            finished: false,
            received: 0,
            unread: 0,
            reads: true,
            ended: false,
        }
    }

    /// Returns the state of its connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the number of bytes that it wrote.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns true if it has closed its direction.
    pub fn has_finished(&self) -> bool {
        self.finished
    }

    /// Returns the number of bytes that it received.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns true if it has received the end of the other application's stream.
    pub fn has_seen_end(&self) -> bool {
        self.ended
    }

    pub(crate) fn connect(&mut self) {
        if self.state == State::Asking {
            self.state = State::Open;
        }
    }

    /// Handles a refusal; returns true if the connection was still requested.
    pub(crate) fn refuse(&mut self) -> bool {
        let asked = self.state == State::Asking;
        if asked {
            self.state = State::Refused;
        }
        asked
    }

    pub(crate) fn break_off(&mut self) {
        if self.state == State::Open || self.state == State::Asking {
            self.state = State::Reset;
        }
    }

    pub(crate) fn write(&mut self, count: u64) {
        if !self.finished {
            self.written += count;
        }
    }

    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    pub(crate) fn take(&mut self, count: u64) -> Vec<u8> {
        let end = self.written.min(self.taken + count);
        let bytes = (self.taken..end).map(|place| byte(self.role, self.port, place));
        let bytes = bytes.collect();
        self.taken = end;
        bytes
    }

    /// Returns the number of bytes that its socket can take, and true if none will follow them.
    pub(crate) fn available(&self) -> (u64, bool) {
        (self.written - self.taken, self.finished)
    }

    /// Receives bytes of the stream.
    ///
    /// # Panics
    /// If the bytes are not those that the other application wrote there.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        let other = match self.role {
            Role::Asker => Role::Answerer,
            Role::Answerer => Role::Asker,
        };
        assert!(!self.ended, "bytes after the end of a stream");
        for (place, received) in (self.received..).zip(bytes) {
            assert_eq!(*received, byte(other, self.port, place), "byte {place}");
        }
        self.received += bytes.len() as u64;
        if !self.reads {
            self.unread += bytes.len() as u64;
        }
    }

    pub(crate) fn set_reading(&mut self, reads: bool) {
        self.reads = reads;
        if reads {
            self.unread = 0;
        }
    }

    pub(crate) fn room(&self, most: u64) -> u64 {
        most.saturating_sub(self.unread)
    }

    pub(crate) fn end(&mut self) {
        if self.state == State::Open {
            self.ended = true;
        }
    }
}

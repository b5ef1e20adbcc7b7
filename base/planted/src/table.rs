//! The table of all bugs.

use crate::Row;

/// Makes the enum and its rows.
macro_rules! bugs {
    ($($(#[doc = $about:literal])+ $bug:ident: $promise:literal, $search:literal;)+) => {
        /// A mistake that can be planted. Its documentation says what is wrong with it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug {
            $($(#[doc = $about])+ $bug,)+
        }

        impl Bug {
            /// All bugs.
            pub const ROWS: &'static [Row] = &[$(Row {
                bug: Self::$bug,
                name: stringify!($bug),
                promise: $promise,
                search: $search,
                about: concat!($($about),+),
            },)+];
        }
    };
}

bugs! {
    /// A stream ends as if complete when its socket was reset.
    ResetIsAnEnd: "R1", "split_tape";
    /// The snoop agent acknowledges to the fixed host what it has in its cache.
    AgentAcknowledges: "R2", "world";
    /// A fade in which the keys expire ends the association with all that it holds.
    ExpiryIsTheEnd: "R3", "hosts::a_fade_of_five_minutes";
    /// A gateway that a mobile host has left keeps the last packet of its queue.
    QueueIsCut: "R3", "hosts::a_full_queue_moves";
    /// A report says that what waits behind a gap was delivered, too, so the next gateway does not send the gap again.
    GapIsReported: "R3", "hosts::wandering";
    /// No window is closed while the hop is silent, so an impatient kernel ends its connection (issue 18).
    SendersAreNotHeld: "R3", "hosts::held_senders::a_fade_of_ten_minutes";
    /// A mobile host waits 10 s in silence before it suspects that its gateway was restarted (issue 18).
    SilenceIsEndured: "R4", "world";
    /// A host whose key another one has used goes on with the association that its gateway has ended (issue 18).
    SupersededGoesOn: "R5", "world";
    /// The home of a mobile host takes packets of it from gateways that serve it no more.
    FormerGatewayIsHeard: "R5", "hosts::a_gateway_that_was_stopped";
    /// The home of a mobile host takes an attachment for a new one although it has seen its number.
    NumberIsUsedAgain: "R5", "hosts::wandering";
    /// A COMMIT of a restarted server counts for what its former life had not stored.
    RestartIsOverlooked: "R6", "mount_tape";
    /// An unstable WRITE counts as stable, and no COMMIT follows it.
    WrittenIsStable: "R7", "mount_tape";
    /// Only the opening that waits learns of a write error, and the others of the file do not.
    OthersAreNotTold: "R8", "mount_tape";
    /// The number of a forgotten node goes to the next file, although later numbers are in use.
    NodeIsUsedAgain: "R9", "mount_tape";
    /// Each peer may use all memory, whatever the others hold (issue 18).
    MemoryIsNotShared: "R10", "hosts::those_that_take_memory";
    /// A timer whose action must wait for something else stays due.
    TimerIsNeverDone: "R11", "world";
    /// A line of the log waits for a reader that stalls, and so does everybody (issue 18).
    LogIsAwaited: "R11", "lasthop::log::queue";
    /// A change of the system is noted in memory and not in the file that survives a crash.
    UndoIsInMemoryOnly: "R12", "edges::undo";
    /// What is requested of streams while they wait for the next process of a gateway is dropped.
    RequestsAreDropped: "R13", "hosts::what_happens_meanwhile";
    /// Packets to connections that leave for another machine are not dropped, so their frozen sockets acknowledge more.
    FrozenAcknowledges: "R13", "edges::repair::nothing_is_lost";
    /// The first authenticator of an initiation is not checked, so strangers get answers.
    Mac1IsNotRead: "S1", "world";
    /// Each initiation of a flood is computed, whatever the budget.
    FloodIsComputed: "S2", "session_tape";
    /// An address that is not validated may get any number of bytes.
    CreditIsInfinite: "S3", "world";
    /// A datagram that comes late is not noted as received, and its copy is opened too.
    LateIsNotNoted: "S4", "session_tape";
    /// An empty datagram uses no packet number up.
    EmptyHasNoNumber: "S5", "world";
    /// One authentic datagram moves the address of its sender (issue 18).
    AddressMovesAtOnce: "S6", "world";
    /// Keys serve for half an hour if no others are agreed on.
    KeysAreKept: "S7", "world";
    /// An initiation with an old stamp gets no answer, so a clock that was ahead locks its host out (issue 18).
    OldStampIsIgnored: "S8", "world";
    /// A key of any kind is taken for a public key, which logs show.
    AnyKindIsTaken: "S9", "key_texts";
    /// The filter of system calls only logs what it should refuse.
    CallsAreOnlyLogged: "S10", "runtime::nothing_is_left";
    /// Memory for a packet of 16 MiB is allocated if its record claims that.
    LengthIsBelieved: "S11", "records";
    /// A listing of a directory in a circle never ends.
    CirclesAreFollowed: "S12", "nfs_answers";
    /// A gateway may open streams to any address of a mobile host, its loopback interface included (issue 18).
    LoopbackIsReached: "S13", "world";
    /// A mobile host may send with the address of another one.
    SourceIsBelieved: "S13", "world";
    /// Packets cost nothing, only their bytes (issue 18).
    PacketsAreFree: "S13", "hosts::one_that_sends_records";
    /// Flows that the wired side begins use up those that the mobile host may begin (issue 18).
    SidesShareFlows: "S13", "hosts::flows_that_the_wired_side_begins";
    /// What a later frame has overtaken counts as lost at once (issue 18).
    OrderIsAssumed: "order", "hosts::jitter_that_reorders";
}

//! The programs of a host: one request at a time.

use std::collections::VecDeque;

use fileserver::Server;
use mount::{Operation, RequestId};
use units::Instant;

use crate::action::{Call, Then};
use crate::reference::{Opening, Reference};
use crate::{Action, Broken, Host, NAMES};

/// Length from which on a file is no longer written.
pub const LONGEST: u64 = 48_000;

/// Number of open files from which on no more are opened.
const OPEN_MAX: usize = 8;

/// The surroundings of programs.
pub struct Ground<'a> {
    /// Present time.
    pub now: Instant,
    /// Host of the programs.
    pub host: &'a mut Host,
    /// Expected names and contents.
    pub reference: &'a mut Reference,
    /// Server, whose disk is compared.
    pub server: &'a Server,
}

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) id: RequestId,
    pub(crate) call: Call,
    pub(crate) began: Instant,
    /// Number of faults of the server that were over when it began.
    pub(crate) faults_before: usize,
    pub(crate) is_interrupted: bool,
}

impl Waiting {
    /// Returns true if the server had a fault at any time since the request began: its answer may come after the fault.
    pub(crate) fn may_fail(&self, reference: &Reference) -> bool {
        reference.faults > self.faults_before
    }
}

/// The programs of one host, which act one after the other.
#[derive(Debug)]
pub struct Programs {
    pub(crate) host: usize,
    actions: VecDeque<Action>,
    pub(crate) calls: VecDeque<Call>,
    waiting: Option<Waiting>,
}

impl Programs {
    /// Returns the programs of a host, by its number in the [`Reference`].
    pub fn new(host: usize) -> Self {
        Self {
            host,
            actions: VecDeque::new(),
            calls: VecDeque::new(),
            waiting: None,
        }
    }

    /// Adds an action after those that wait.
    pub fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Returns the number of actions that have not begun.
    pub fn queued(&self) -> usize {
        self.actions.len()
    }

    /// Returns the request that waits and the time at which it began, in words; `None` if there is none.
    pub fn waiting(&self) -> Option<(String, Instant)> {
        let waiting = self.waiting.as_ref()?;
        Some((format!("{:?}", waiting.call), waiting.began))
    }

    /// Returns true if a request that has no answer yet may reach the file of a name: which file it reaches is open if
    /// another one takes the name meanwhile.
    pub fn may_reach(&self, reference: &Reference, name: usize) -> bool {
        let call = self.waiting.as_ref().map(|waiting| &waiting.call);
        call.is_some_and(|call| match call {
            Call::Open { file, .. } => reference.file(name) == Some(*file),
            Call::Rename { name: from, to } => [*from, *to].contains(&name),
            Call::LookUp { name: used, .. }
            | Call::Create { name: used, .. }
            | Call::Remove { name: used }
            | Call::Resize { name: used, .. } => *used == name,
            _ => false,
        })
    }

    /// Sends a signal to a program that waits for data, attributes or `fsync`.
    ///
    /// # Errors
    /// As [`Programs::go_on`].
    pub fn interrupt(&mut self, ground: &mut Ground<'_>) -> Result<(), Broken> {
        let waiting = self.waiting.as_mut();
        if let Some(waiting) = waiting.filter(|waiting| waiting.call.may_be_interrupted()) {
            waiting.is_interrupted = true;
            let interrupt = Operation::Interrupt(waiting.id);
            ground.host.request(ground.now, mount::Node(0), interrupt);
        }
        self.go_on(ground)
    }

    /// Ends with the killed mount of the host. The files keep what was confirmed, and get other names.
    pub fn kill(&mut self, ground: &mut Ground<'_>) {
        if let Some(waiting) = self.waiting.take() {
            self.doubt(ground, &waiting.call);
        }
        ground.reference.host_was_killed();
        *self = Self::new(self.host);
    }

    /// Takes answers, and makes the next requests, until one waits or nothing is left to do.
    ///
    /// # Errors
    /// The first promise that is broken.
    pub fn go_on(&mut self, ground: &mut Ground<'_>) -> Result<(), Broken> {
        loop {
            if let Some(id) = ground.host.answered_twice {
                return Err(Broken::new("R11", format!("{id:?} was answered twice")));
            }
            if let Some(waiting) = &self.waiting {
                let Some(answer) = ground.host.take_answer(waiting.id) else {
                    return Ok(());
                };
                if let Some(waiting) = self.waiting.take() {
                    self.ended(ground, &waiting, answer)?;
                }
            } else if let Some(call) = self.calls.pop_front() {
                self.begin(ground, call);
            } else if let Some(action) = self.actions.pop_front() {
                self.expand(ground.reference, action);
            } else {
                return Ok(());
            }
        }
    }

    fn begin(&mut self, ground: &mut Ground<'_>, mut call: Call) {
        let reference = &mut *ground.reference;
        match &mut call {
            // What the server has when it answers depends on these.
            Call::Write {
                opening,
                offset,
                length,
                fill,
                appends,
            } => {
                let file = &mut reference.files[opening.file];
                if *appends {
                    *offset = file.content.len() as u64;
                }
                file.since.push((*offset as usize, *length, *fill));
            }
            Call::LookUp {
                name,
                then: Then::Rename { to },
            } if name == to => return,
            _ => {}
        }
        let (node, operation) = call.request(|number| reference.name(number));
        let faults_before = reference.faults - usize::from(reference.is_faulty);
        let id = ground.host.request(ground.now, node, operation);
        let began = ground.now;
        self.waiting = Some(Waiting {
            id,
            call,
            began,
            faults_before,
            is_interrupted: false,
        });
    }

    /// Returns the opening of a number among those of this host.
    fn opening(&self, reference: &Reference, number: usize) -> Option<Opening> {
        let mut own = reference
            .open
            .iter()
            .filter(|opening| opening.host == self.host);
        let count = own.clone().count();
        own.nth(number.checked_rem(count)?).copied()
    }

    /// Adds the first requests of an action.
    fn expand(&mut self, reference: &mut Reference, action: Action) {
        let look_up = |name: usize, then| {
            [Call::LookUp {
                name: name % NAMES,
                then,
            }]
        };
        let opening = |number| self.opening(reference, number);
        let has_many = reference.open.len() > OPEN_MAX;
        match action {
            Action::Create { .. } | Action::Open { .. } if has_many => {}
            Action::Create { name, flags } => self.calls.extend([Call::Create {
                name: name % NAMES,
                flags,
            }]),
            Action::Open { name, truncates } => {
                self.calls.extend(look_up(name, Then::Open { truncates }));
            }
            Action::Remove { name } => self.calls.extend(look_up(name, Then::Remove)),
            Action::Rename { name, to } => {
                self.calls
                    .extend(look_up(name, Then::Rename { to: to % NAMES }));
            }
            Action::Resize { name, size } => {
                self.calls.extend(look_up(name, Then::Resize { size }));
            }
            Action::List => self.calls.extend([Call::OpenDirectory]),
            Action::Read { open } => self.calls.extend(opening(open).map(Call::Read)),
            Action::Attributes { open } => self.calls.extend(opening(open).map(Call::Attributes)),
            Action::Synchronize { open } => self.calls.extend(opening(open).map(Call::Synchronize)),
            Action::Close { open } => {
                if let Some(opening) = opening(open) {
                    self.calls
                        .extend([Call::Flush(opening), Call::Close(opening)]);
                }
            }
            Action::Write {
                open,
                offset,
                length,
                appends,
            } => {
                let opening = opening(open);
                let opening = opening.filter(|opening| reference.size(opening.file) <= LONGEST);
                if let Some(opening) = opening {
                    reference.writes = reference.writes.wrapping_add(1);
                    let fill = reference.writes;
                    self.calls.extend([Call::Write {
                        opening,
                        offset,
                        length,
                        fill,
                        appends,
                    }]);
                }
            }
        }
    }
}

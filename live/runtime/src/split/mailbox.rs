//! Messages from one thread to another.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use edges::wait::Bell;

use crate::lock;

/// A queue between two threads, which a [`Waiter`](edges::wait::Waiter) can wait for. It has no bound of its own: what
/// goes in must be bounded by who puts it there.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    queue: Arc<Mutex<VecDeque<T>>>,
    bell: Bell,
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Self {
            queue: Arc::clone(&self.queue),
            bell: self.bell.clone(),
        }
    }
}

impl<T> Mailbox<T> {
    /// An empty one.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            queue: Arc::default(),
            bell: Bell::new()?,
        })
    }

    /// How many messages wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.queue).len()
    }

    /// Puts a message behind the others.
    pub(crate) fn put(&self, message: T) {
        let mut queue = lock(&self.queue);
        let is_first = queue.is_empty();
        queue.push_back(message);
        drop(queue);
        self.ring(is_first);
    }

    /// The same, unless `most` messages wait already; whether it was put there.
    pub(crate) fn put_within(&self, most: usize, message: T) -> bool {
        let mut queue = lock(&self.queue);
        let (is_first, has_room) = (queue.is_empty(), queue.len() < most);
        if has_room {
            queue.push_back(message);
        }
        drop(queue);
        self.ring(is_first && has_room);
        has_room
    }

    /// Takes the first message.
    pub(crate) fn next(&self) -> Option<T> {
        lock(&self.queue).pop_front()
    }

    /// Is not ready any more until a message comes to an empty queue; says whether it was. To be called before the last
    /// message is taken.
    pub(crate) fn hear(&self) -> io::Result<bool> {
        self.bell.hear()
    }

    /// Puts all of `messages` behind the others.
    pub(crate) fn put_all(&self, messages: &mut VecDeque<T>) {
        if messages.is_empty() {
            return;
        }
        let mut queue = lock(&self.queue);
        let are_first = queue.is_empty();
        queue.append(messages);
        drop(queue);
        self.ring(are_first);
    }

    fn ring(&self, is_silent: bool) {
        if is_silent {
            // A bell that cannot ring has rung often enough.
            let _ = self.bell.ring();
        }
    }

    /// Takes all messages, behind those that are in `into`.
    pub(crate) fn take(&self, into: &mut VecDeque<T>) {
        // Silent first: what is put from here on rings again.
        let _ = self.bell.hear();
        into.append(&mut lock(&self.queue));
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

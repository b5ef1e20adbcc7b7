//! The checks of answers against the reference.

use mount::{Answer, Errno, Listing, Node, OpenFlags};

use crate::Broken;
use crate::action::{Call, Then};
use crate::programs::{Ground, Programs, Waiting};
use crate::reference::{File, Opening, Reference};

fn wrong(call: &Call, text: &str) -> Broken {
    Broken::new("S12", format!("{call:?}: {text}"))
}

impl Programs {
    /// Handles the answer to a request.
    pub(crate) fn ended(
        &mut self,
        ground: &mut Ground<'_>,
        waiting: &Waiting,
        answer: Answer,
    ) -> Result<(), Broken> {
        let call = &waiting.call;
        if let Answer::Error(errno) = answer {
            return self.failed(ground, waiting, errno);
        }
        if !matches!(call, Call::Close(_) | Call::Read(_) | Call::Attributes(_)) {
            Self::told(ground.reference, waiting)?;
        }
        match (call, answer) {
            (Call::LookUp { name, then }, Answer::Entry(entry)) => {
                self.looked_up(ground, call, *name, *then, entry.found)
            }
            (Call::List { .. }, Answer::Listing(listing)) => self.listed(ground, waiting, &listing),
            (call, answer) if call.opening().is_some() => used(ground, call, answer),
            (call, answer) => self.named(ground, call, answer),
        }
    }

    /// Checks the answer to a request that names a file, and applies its effect.
    fn named(
        &mut self,
        ground: &mut Ground<'_>,
        call: &Call,
        answer: Answer,
    ) -> Result<(), Broken> {
        let reference = &mut *ground.reference;
        match (call, answer) {
            (Call::Create { name, flags }, Answer::Created(entry, opened)) => {
                let found = entry.found.ok_or_else(|| wrong(call, "no file"))?;
                let file = created(reference, call, *name, *flags)?;
                check_size(reference, call, file, found.attributes.size)?;
                self.has_opened(reference, found.node, file, opened.handle);
            }
            (
                Call::Open {
                    node,
                    file,
                    truncates,
                },
                Answer::Opened(opened),
            ) => {
                if *truncates {
                    reference.files[*file].resize(0);
                }
                let opening = self.has_opened(reference, *node, *file, opened.handle);
                // Close-to-open: data that another host has closed are visible now.
                self.calls
                    .extend([Call::Attributes(opening), Call::Read(opening)]);
            }
            (Call::Remove { name }, Answer::Done) => reference.names[*name].0 = None,
            (Call::Rename { name, to }, Answer::Done) => {
                let file = reference.names[*name].0.take();
                reference.names[*to].0 = file;
                // Data written to the file are stored before.
                let server = ground.server;
                file.map_or(Ok(()), |file| reference.check_stored(server, file))?;
            }
            (
                Call::Resize {
                    node, file, size, ..
                },
                Answer::Attributes(attributes, _),
            ) => {
                reference.files[*file].resize(*size as usize);
                ground.host.forget(ground.now, *node);
                check_size(reference, call, *file, attributes.size)?;
            }
            (Call::OpenDirectory, Answer::Opened(opened)) => {
                let (handle, names) = (opened.handle, Vec::new());
                self.calls.push_front(Call::List {
                    handle,
                    offset: 0,
                    names,
                });
            }
            (Call::CloseDirectory(_), Answer::Done) => {}
            (call, answer) => return Err(wrong(call, &format!("{answer:?}"))),
        }
        Ok(())
    }

    fn has_opened(
        &self,
        reference: &mut Reference,
        node: Node,
        file: usize,
        handle: mount::Handle,
    ) -> Opening {
        reference.openings += 1;
        let opening = Opening {
            number: reference.openings,
            host: self.host,
            node,
            file,
            handle,
            is_owed: false,
            may_fail: reference.is_faulty,
            error: None,
        };
        reference.open.push(opening);
        opening
    }

    /// Checks that a write that the server refused was reported to the opening (R8).
    fn told(reference: &mut Reference, waiting: &Waiting) -> Result<(), Broken> {
        let may_fail = waiting.may_fail(reference);
        let number = waiting.call.opening().map(|opening| opening.number);
        let mut open = reference.open.iter_mut();
        let Some(opening) = open.find(|opening| Some(opening.number) == number) else {
            return Ok(());
        };
        if opening.is_owed {
            let text = format!("{:?} hides the error of an earlier write", waiting.call);
            return Err(Broken::new("R8", text));
        }
        let is_sync = matches!(waiting.call, Call::Synchronize(_) | Call::Flush(_));
        if is_sync && !may_fail {
            opening.may_fail = false;
        }
        Ok(())
    }

    fn looked_up(
        &mut self,
        ground: &mut Ground<'_>,
        call: &Call,
        name: usize,
        then: Then,
        found: Option<mount::Found>,
    ) -> Result<(), Broken> {
        let known = ground.reference.file(name);
        if found.is_some() != known.is_some() {
            return Err(wrong(
                call,
                &format!("found: {}, expected: {}", found.is_some(), known.is_some()),
            ));
        }
        let (Some(found), Some(file)) = (found, known) else {
            return Ok(());
        };
        let node = found.node;
        match then {
            Then::Open { truncates } => self.calls.push_front(Call::Open {
                node,
                file,
                truncates,
            }),
            Then::Resize { size } => self.calls.push_front(Call::Resize {
                node,
                name,
                file,
                size,
            }),
            Then::Remove => self.calls.push_front(Call::Remove { name }),
            Then::Rename { to } => self.calls.push_front(Call::Rename { name, to }),
        }
        if matches!(then, Then::Remove | Then::Rename { .. }) {
            ground.host.forget(ground.now, node);
        }
        Ok(())
    }

    fn listed(
        &mut self,
        ground: &mut Ground<'_>,
        waiting: &Waiting,
        listing: &Listing,
    ) -> Result<(), Broken> {
        let Call::List { handle, names, .. } = &waiting.call else {
            return Ok(());
        };
        let (handle, mut names) = (*handle, names.clone());
        for listed in listing.entries() {
            if let Some(found) = listed.entry.found.filter(|found| found.node != Node(0)) {
                ground.host.forget(ground.now, found.node);
            }
            names.push(listed.name.to_vec());
        }
        let may_lie = waiting.may_fail(ground.reference);
        if let Some(last) = listing.entries().last()
            && !may_lie
        {
            self.calls.push_front(Call::List {
                handle,
                offset: last.next,
                names,
            });
            return Ok(());
        }
        self.calls.push_front(Call::CloseDirectory(handle));
        // A file that is removed while it is open has a hidden name until it is closed.
        names.retain(|name| !name.starts_with(b".") && !ground.reference.is_given_up(name));
        names.sort();
        let expected = (0..crate::NAMES).filter(|name| ground.reference.file(*name).is_some());
        let mut expected: Vec<_> = expected
            .map(|name| ground.reference.name(name).into_bytes())
            .collect();
        expected.sort();
        if names != expected && !may_lie {
            let names: Vec<_> = names
                .iter()
                .map(|name| String::from_utf8_lossy(name))
                .collect();
            return Err(Broken::new("S12", format!("a listing has {names:?}")));
        }
        Ok(())
    }

    /// Handles a request that failed: a fault of the server must explain it, and what it would have done is in doubt.
    fn failed(
        &mut self,
        ground: &mut Ground<'_>,
        waiting: &Waiting,
        errno: Errno,
    ) -> Result<(), Broken> {
        let (call, reference) = (&waiting.call, &mut *ground.reference);
        if errno == Errno::INTR && waiting.is_interrupted {
            return Ok(());
        }
        if let (Call::Create { name, flags }, Errno::EXIST) = (call, errno)
            && flags.exclusive
            && reference.file(*name).is_some()
        {
            return Ok(());
        }
        let mut is_explained = waiting.may_fail(reference);
        let opening = call.opening().map(|opening| opening.number);
        let opening = reference
            .open
            .iter_mut()
            .find(|open| Some(open.number) == opening);
        if let Some(opening) = opening {
            let writes = matches!(
                call,
                Call::Write { .. } | Call::Synchronize(_) | Call::Flush(_)
            );
            is_explained |= writes && opening.may_fail;
            opening.is_owed &= !writes;
            opening.error = Some(errno);
        }
        if let Some(opening) = call.opening() {
            is_explained |= reference.files[opening.file].is_doubtful;
        }
        if !is_explained {
            return Err(wrong(
                call,
                &format!("{errno:?} without a fault of the server"),
            ));
        }
        self.doubt(ground, call);
        Ok(())
    }

    /// Gives up what a failed request may have changed.
    pub(crate) fn doubt(&mut self, ground: &mut Ground<'_>, call: &Call) {
        let reference = &mut *ground.reference;
        match call {
            Call::Create { name, .. } | Call::Remove { name } => reference.doubt(*name),
            Call::Rename { name, to } => {
                reference.doubt(*name);
                reference.doubt(*to);
            }
            Call::Open {
                node,
                file,
                truncates,
            } => {
                reference.files[*file].is_doubtful |= truncates;
                ground.host.forget(ground.now, *node);
            }
            Call::Resize { node, file, .. } => {
                reference.files[*file].is_doubtful = true;
                ground.host.forget(ground.now, *node);
            }
            Call::List { handle, .. } => self.calls.push_front(Call::CloseDirectory(*handle)),
            // Data that could not be written are given up when nobody has the file open.
            Call::Flush(opening) => {
                let others = reference
                    .open
                    .iter()
                    .filter(|open| open.file == opening.file);
                if others.count() == 1 {
                    reference.retire_file(opening.file);
                }
            }
            _ => {}
        }
    }
}

/// Returns the file that a program has created, or that was there.
fn created(
    reference: &mut Reference,
    call: &Call,
    name: usize,
    flags: OpenFlags,
) -> Result<usize, Broken> {
    let known = reference.file(name);
    if known.is_some() && flags.exclusive {
        return Err(wrong(call, "it was there"));
    }
    let file = known.unwrap_or_else(|| {
        reference.files.push(File::default());
        reference.files.len() - 1
    });
    if flags.truncate {
        reference.files[file].resize(0);
    }
    reference.names[name].0 = Some(file);
    Ok(file)
}

/// Checks the answer to a request that uses an open file, and applies its effect.
fn used(ground: &mut Ground<'_>, call: &Call, answer: Answer) -> Result<(), Broken> {
    let reference = &mut *ground.reference;
    match (call, answer) {
        (
            Call::Write {
                opening,
                offset,
                length,
                fill,
                ..
            },
            Answer::Written(written),
        ) => {
            let content = &mut reference.files[opening.file].content;
            let (start, end) = (*offset as usize, *offset as usize + length);
            content.resize(content.len().max(end), 0);
            content[start..end].fill(*fill);
            if written as usize != *length {
                return Err(wrong(call, "a short write"));
            }
        }
        (Call::Read(opening), Answer::Data(pieces)) => {
            let file = &reference.files[opening.file];
            if !file.is_doubtful && pieces.concat() != file.content {
                return Err(wrong(call, "other content than was written"));
            }
        }
        (Call::Attributes(opening), Answer::Attributes(attributes, _)) => {
            check_size(reference, call, opening.file, attributes.size)?;
        }
        (Call::Synchronize(opening) | Call::Flush(opening), Answer::Done) => {
            reference.check_stored(ground.server, opening.file)?;
        }
        (Call::Close(opening), Answer::Done) => {
            let number = opening.number;
            reference.open.retain(|open| open.number != number);
            ground.host.forget(ground.now, opening.node);
        }
        (call, answer) => return Err(wrong(call, &format!("{answer:?}"))),
    }
    Ok(())
}

fn check_size(reference: &Reference, call: &Call, file: usize, size: u64) -> Result<(), Broken> {
    let known = &reference.files[file];
    if known.is_doubtful || size == known.content.len() as u64 {
        return Ok(());
    }
    let text = format!("{size} bytes instead of {}", known.content.len());
    Err(wrong(call, &text))
}

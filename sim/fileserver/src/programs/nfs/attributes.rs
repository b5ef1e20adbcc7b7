//! GETATTR, SETATTR and ACCESS.

use ::nfs::{
    Access, AccessAnswer, AccessRights, Answer, Attributes, FileType, GetAttributes, SetAttributes,
    Status,
};

use super::outcome;
use crate::programs::Programs;

impl Programs {
    pub(super) fn get_attributes(&self, call: &GetAttributes) -> Answer<'_, GetAttributes> {
        let number = self.storage.resolve(&call.object);
        outcome(number.map(|number| self.attributes_of(number)), ())
    }

    pub(super) fn set_attributes(&mut self, call: &SetAttributes) -> Answer<'_, SetAttributes> {
        let (result, change) = self.change(&call.object, |programs, number| {
            let changed = programs.storage.attributes(number).times.changed;
            if call.guard.is_some_and(|guard| guard != changed) {
                return Err(Status::NotSynchronized);
            }
            programs.storage.set_attributes(number, &call.attributes)
        });
        outcome(result.map(|()| change), change)
    }

    pub(super) fn access(&self, call: &Access) -> Answer<'_, Access> {
        let number = self.storage.resolve(&call.object);
        let result = number.map(|number| {
            let attributes = self.attributes_of(number);
            let bits = call.rights.bits & possible(&attributes).bits;
            AccessAnswer {
                attributes: Some(attributes),
                rights: AccessRights { bits },
            }
        });
        outcome(result, None)
    }
}

/// Returns the access rights of root.
fn possible(attributes: &Attributes) -> AccessRights {
    let always = AccessRights::READ
        .with(AccessRights::MODIFY)
        .with(AccessRights::EXTEND);
    let executable = attributes.mode & 0o111 != 0;
    match attributes.kind {
        FileType::Directory => always
            .with(AccessRights::LOOK_UP)
            .with(AccessRights::DELETE),
        _ if executable => always.with(AccessRights::EXECUTE),
        _ => always,
    }
}

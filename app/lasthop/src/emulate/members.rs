//! The mobile hosts of an emulated air, from the command line.

use std::collections::BTreeMap;
use std::str::FromStr;

use channel::Link;
use edges::tun::TunDevice;

use super::Arguments;
use super::cell::Member;
use super::error::{EmulateError, MembersError};
use super::side::{SideError, SideSpec};
use crate::links;

/// The error model of one right side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorsOf {
    /// Number of the side, from 1.
    side: usize,
    /// Link with the error model.
    link: String,
}

impl FromStr for ErrorsOf {
    type Err = MembersError;

    fn from_str(text: &str) -> Result<Self, MembersError> {
        let parts = text.split_once('=');
        let parsed = parts.and_then(|(side, link)| Some((side.trim().parse().ok()?, link.trim())));
        match parsed {
            Some((side, link)) if !link.is_empty() => Ok(Self {
                side,
                link: link.into(),
            }),
            _ => Err(MembersError::Malformed(text.into())),
        }
    }
}

/// The network to emulate: a link to one side, or an air that several share.
pub(super) enum Plan {
    Pair(SideSpec),
    Shared(Vec<Member<SideSpec>>),
}

/// Checks the sides of the command line.
pub(super) fn plan(arguments: &Arguments, link: &Link) -> Result<Plan, EmulateError> {
    let sides = arguments.right.len();
    if let [only] = arguments.right.as_slice() {
        return match arguments.errors.first() {
            Some(_) => Err(MembersError::ErrorsOfOne.into()),
            None => Ok(Plan::Pair(only.clone())),
        };
    }
    if arguments.signals.is_some() {
        return Err(MembersError::Signals(sides).into());
    }
    if let Some(key) = link.not_for_many() {
        return Err(MembersError::NotForMany(key).into());
    }
    let mut errors = BTreeMap::new();
    for given in &arguments.errors {
        if !(1..=sides).contains(&given.side) {
            return Err(MembersError::NoSuchSide(given.side, sides).into());
        }
        if errors
            .insert(given.side, links::choose(&given.link)?)
            .is_some()
        {
            return Err(MembersError::ErrorsTwice(given.side).into());
        }
    }
    check_addresses(&arguments.right)?;
    let member = |(index, side): (usize, &SideSpec)| Member {
        name: side.name().into(),
        device: side.clone(),
        addresses: side.addresses().collect(),
        errors: errors.remove(&(index + 1)).unwrap_or_else(|| link.clone()),
    };
    Ok(Plan::Shared(
        arguments.right.iter().enumerate().map(member).collect(),
    ))
}

/// Checks that each side has an address, and no two have the same.
fn check_addresses(sides: &[SideSpec]) -> Result<(), MembersError> {
    let mut owners = BTreeMap::new();
    for (side, number) in sides.iter().zip(1..) {
        if side.addresses().next().is_none() {
            return Err(MembersError::NoAddress(number));
        }
        for address in side.addresses() {
            let before = owners.insert(address, number);
            if let Some(other) = before.filter(|other| *other != number) {
                return Err(MembersError::SameAddress(other, number, address));
            }
        }
    }
    Ok(())
}

impl Member<SideSpec> {
    /// Creates its device.
    pub(super) fn open(self, mtu: u32) -> Result<Member<TunDevice>, SideError> {
        Ok(Member {
            name: self.name,
            device: self.device.open(mtu)?,
            addresses: self.addresses,
            errors: self.errors,
        })
    }
}

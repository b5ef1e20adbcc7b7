//! Invitations of gateways: one line of text with which a new gateway joins a site.
//!
//! The line is an [`Invitation`] with two names: that of the gateway that has made it, and that of the new one
//! (`docs/session.md`, Invitations).

use zeroize::Zeroizing;

use crate::coded_text;
use crate::invitation::{self, Invitation, InvitationError, LONGEST_CONTENT, content_of};
use crate::key_text::KeyKind;

pub(crate) const PREFIX: &str = "lasthop-site1-";
const VERSION: u8 = 1;
/// Largest length of a name, in bytes.
const LONGEST_NAME: usize = 32;

/// An invitation of a new gateway to a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteInvitation {
    /// The invitation by one gateway of the site. Its addresses are the inner addresses of the new gateway, with the
    /// prefix lengths of their subnets.
    pub invitation: Invitation,
    /// Name of the gateway that invites; 1 to 32 letters, digits and `_`.
    pub inviter: String,
    /// Name of the new gateway; 1 to 32 letters, digits and `_`.
    pub name: String,
}

/// Reason why a text is not an invitation of a gateway. It never repeats the text, which is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SiteInvitationError {
    /// The text has another prefix.
    #[error(
        "this is not a line for a gateway: it begins with {PREFIX}; copy what `lasthop invite --gateway` printed on \
         another gateway of the site"
    )]
    NoPrefix,
    /// The text is a key.
    #[error(
        "this is a {0}, not a line for a gateway, which begins with {PREFIX}; copy what `lasthop invite --gateway` \
         printed on another gateway of the site"
    )]
    Key(KeyKind),
    /// The line is for a mobile host.
    #[error(
        "this line is for a mobile host; use it there with `lasthop join LINE`. A line for a gateway begins with \
         {PREFIX}; `lasthop invite --gateway` makes one"
    )]
    OfMobileHost,
    /// A character is not in the alphabet.
    #[error(
        "symbol {position} after {PREFIX} is no digit and no letter of a line; copy all of it again"
    )]
    Symbol {
        /// Position of the symbol, from 1.
        position: usize,
    },
    /// The line is damaged, or of another version.
    #[error(transparent)]
    Line(InvitationError),
}

impl From<InvitationError> for SiteInvitationError {
    fn from(error: InvitationError) -> Self {
        match error {
            InvitationError::Symbol { position } => Self::Symbol { position },
            other => Self::Line(other),
        }
    }
}

impl SiteInvitation {
    /// Returns `lasthop-site1-…`. Values beyond their limits are left out.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut content = Zeroizing::new(Vec::with_capacity(LONGEST_CONTENT));
        content.push(VERSION);
        for name in [&self.inviter, &self.name] {
            let name = name.as_bytes();
            let name = name.get(..LONGEST_NAME).unwrap_or(name);
            content.push(name.len() as u8);
            content.extend_from_slice(name);
        }
        self.invitation.append_to(&mut content);
        coded_text::write(PREFIX, &content)
    }

    /// Reads a line. Spaces around it are ignored.
    pub fn parse(text: &str) -> Result<Self, SiteInvitationError> {
        let text = text.trim();
        let Some(symbols) = text.strip_prefix(PREFIX) else {
            return Err(match KeyKind::of(text) {
                Some(kind) => SiteInvitationError::Key(kind),
                None if text.starts_with(invitation::PREFIX) => SiteInvitationError::OfMobileHost,
                None => SiteInvitationError::NoPrefix,
            });
        };
        let content = content_of(PREFIX, symbols)?;
        let fields = match content.split_first() {
            Some((&VERSION, fields)) => fields,
            Some(_) => return Err(InvitationError::OtherVersion.into()),
            None => return Err(InvitationError::Malformed.into()),
        };
        let (inviter, fields) = name(fields)?;
        let (name, fields) = name(fields)?;
        Ok(Self {
            invitation: Invitation::of_content(fields)?,
            inviter,
            name,
        })
    }
}

/// Returns the name at the beginning, and the rest.
fn name(fields: &[u8]) -> Result<(String, &[u8]), InvitationError> {
    let found = fields
        .split_first()
        .and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
    let (name, rest) = found.ok_or(InvitationError::Malformed)?;
    // It becomes the name of a file.
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.iter().all(sound) {
        return Err(InvitationError::Malformed);
    }
    let name = str::from_utf8(name).map_err(|_| InvitationError::Malformed)?;
    Ok((name.into(), rest))
}

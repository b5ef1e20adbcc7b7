//! The mount that a user asks for.

use std::ffi::OsStr;
use std::path::PathBuf;

use nfs::url::Url;
use runtime::files::Server;

use super::options::Options;
use crate::client::{parse_url, server_of};
use crate::failure::Failure;

/// The mount that was requested.
pub(super) struct MountRequest {
    pub(super) url: Url,
    pub(super) server: Server,
    pub(super) point: PathBuf,
    pub(super) options: Options,
}

impl MountRequest {
    /// Creates the request from the URL and the options.
    pub(super) fn new(url: &OsStr, point: PathBuf, options: Options) -> Result<Self, Failure> {
        let url = parse_url(url).map_err(Failure::setting)?;
        let url = options.client.address(&url);
        Ok(Self {
            server: server_of(&url).map_err(Failure::setting)?,
            url,
            point,
            options,
        })
    }
}

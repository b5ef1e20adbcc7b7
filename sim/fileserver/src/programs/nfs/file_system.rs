//! FSSTAT, FSINFO and PATHCONF.

use ::nfs::{
    Answer, BlockSizes, FileSystemInfo, FileSystemProperties, FileSystemStatus, NAME_MAX,
    NameRules, PathConfiguration, ServerAbilities, Space, Time,
};

use super::outcome;
use crate::programs::Programs;
use crate::storage::{FILE_MAX, INODE_COST, LINKS_MAX};

/// Suggested multiple of transfer sizes, in bytes.
const TRANSFER_MULTIPLE: u32 = 512;
/// Preferred size of a READDIR, in bytes.
const DIRECTORY_PREFERRED: u32 = 8_192;
/// Resolution of the clock.
const RESOLUTION: Time = Time {
    seconds: 0,
    nanoseconds: 1,
};

impl Programs {
    pub(super) fn file_system_status(
        &self,
        call: &FileSystemStatus,
    ) -> Answer<'_, FileSystemStatus> {
        let number = self.storage.resolve(&call.root);
        let (total_bytes, free_bytes) = self.storage.space();
        let (total_files, free_files) = (total_bytes / INODE_COST, free_bytes / INODE_COST);
        let result = number.map(|number| Space {
            attributes: Some(self.attributes_of(number)),
            total_bytes,
            free_bytes,
            available_bytes: free_bytes,
            total_files,
            free_files,
            available_files: free_files,
            unchanged_seconds: 0,
        });
        outcome(result, None)
    }

    pub(super) fn file_system_info(&self, call: &FileSystemInfo) -> Answer<'_, FileSystemInfo> {
        let number = self.storage.resolve(&call.root);
        let sizes = BlockSizes {
            maximum: self.config.transfer,
            preferred: self.config.transfer,
            multiple: TRANSFER_MULTIPLE,
        };
        let properties = FileSystemProperties::LINK
            .with(FileSystemProperties::SYMBOLIC_LINK)
            .with(FileSystemProperties::HOMOGENEOUS)
            .with(FileSystemProperties::SET_TIME);
        let result = number.map(|number| ServerAbilities {
            attributes: Some(self.attributes_of(number)),
            read: sizes,
            write: sizes,
            directory_preferred: DIRECTORY_PREFERRED,
            largest_file: FILE_MAX,
            time_resolution: RESOLUTION,
            properties,
        });
        outcome(result, None)
    }

    pub(super) fn path_configuration(
        &self,
        call: &PathConfiguration,
    ) -> Answer<'_, PathConfiguration> {
        let number = self.storage.resolve(&call.object);
        let result = number.map(|number| NameRules {
            attributes: Some(self.attributes_of(number)),
            links_maximum: LINKS_MAX,
            name_maximum: NAME_MAX as u32,
            refuses_long_names: true,
            restricts_owner_changes: true,
            ignores_case: false,
            keeps_case: true,
        });
        outcome(result, None)
    }
}

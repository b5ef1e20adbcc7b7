//! The kernel's check that packets come by the link that is the way back to their source.

use edges::sysctl;
use edges::undo::{UndoError, UndoLog};

/// What the check may be (`rp_filter` in the kernel's ip-sysctl): strict would drop packets that come by another link;
/// loose, that there is some way back, is enough (RFC 3704 §2.4).
const STRICT: &str = "1";
const LOOSE: &str = "2";

/// Loosens the check if it is strict for one of these links. The kernel takes the stricter of "all" and the link's own
/// value, where 2 counts as stricter than 1.
pub(super) fn loosen_source_check<'a>(
    undo: &mut UndoLog,
    links: impl IntoIterator<Item = &'a str>,
) -> Result<(), UndoError> {
    for name in links {
        // The slash separates here, so that a dot may stand in a link's name.
        if sysctl::read(&format!("net/ipv4/conf/{name}/rp_filter"))? == STRICT {
            return undo.set_sysctl("net/ipv4/conf/all/rp_filter", LOOSE);
        }
    }
    Ok(())
}

//! The kernel's check that packets arrive on the link of the route back to their source.

use edges::sysctl;
use edges::undo::{UndoError, UndoLog};

/// Values of `rp_filter` (kernel, ip-sysctl): strict drops packets that arrive on another link; loose only demands that
/// a route back exists (RFC 3704 §2.4).
const STRICT: &str = "1";
const LOOSE: &str = "2";

/// Loosens the check if it is strict for one of these links. The kernel takes the larger value of "all" and the link's
/// own, so 2 overrides 1.
pub(super) fn loosen_source_check<'a>(
    undo: &mut UndoLog,
    links: impl IntoIterator<Item = &'a str>,
) -> Result<(), UndoError> {
    for name in links {
        // The separator is the slash, because the name of a link may contain a dot.
        if sysctl::read(&format!("net/ipv4/conf/{name}/rp_filter"))? == STRICT {
            return undo.set_sysctl("net/ipv4/conf/all/rp_filter", LOOSE);
        }
    }
    Ok(())
}

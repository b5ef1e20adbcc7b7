//! What is known of a process that waits.

/// The signals that are meant to end a process or what it does: hang-up, interrupt (Ctrl-C), quit, kill,
/// terminate; as bits.
const ENDING: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 14;

/// The supplementary groups of a thread; none if it is gone or cannot be seen.
pub fn groups_of(process: u32) -> Vec<u32> {
    let status = status_of(process).unwrap_or_default();
    let groups = field(&status, "Groups:").unwrap_or_default();
    groups
        .split_whitespace()
        .filter_map(|group| group.parse().ok())
        .collect()
}

/// Whether a thread that got a signal while it waited wants to end, or at least what it does: one of the
/// signals that wait for it is meant so. Others (of timers, children, runtimes of languages) are no reason to
/// let a call to the file system fail, which programs do not expect. A thread that cannot be seen counts as one that
/// does.
pub fn wants_to_end(process: u32) -> bool {
    let Some(status) = status_of(process) else {
        return true;
    };
    let mask = |name| field(&status, name).and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let waiting = mask("SigPnd:").unwrap_or(ENDING) | mask("ShdPnd:").unwrap_or(ENDING);
    waiting & !mask("SigBlk:").unwrap_or(0) & ENDING != 0
}

/// `/proc/N/status`; none of a process in another namespace (0) and of one that is gone.
fn status_of(process: u32) -> Option<String> {
    let path = (process != 0).then(|| format!("/proc/{process}/status"))?;
    std::fs::read_to_string(path).ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

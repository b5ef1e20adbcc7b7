//! Search for the part of a path that is the export.

/// Returns the path with one `/` before each part; `.` is removed, and `..` removes the part before it.
pub(super) fn normal(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    [b"/", parts.join(&b'/').as_slice()].concat()
}

/// Returns the rest of a normal `path` below a normal `export`, if it lies there.
pub(super) fn below<'p>(path: &'p [u8], export: &[u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(export)?;
    match (export, rest) {
        (b"/", rest) | (_, [b'/', rest @ ..]) => Some(rest),
        (_, []) => Some(rest),
        _ => None,
    }
}

/// Returns the parts of a normal `path` that may be the export, in the order in which they are to be tried: the longest
/// one that the server lists; if there is none, every prefix of the path, the longest first.
pub(super) fn candidates(path: &[u8], listed: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let fitting = listed
        .iter()
        .map(|export| normal(export))
        .filter(|export| below(path, export).is_some());
    if let Some(longest) = fitting.max_by_key(Vec::len) {
        return vec![longest];
    }
    let mut parts = vec![path.to_vec()];
    while let Some(end) = parts
        .last()
        .and_then(|part| part.iter().rposition(|&byte| byte == b'/'))
        .filter(|_| parts.last().is_some_and(|part| part.len() > 1))
    {
        parts.push(path[..end.max(1)].to_vec());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: Vec<Vec<u8>>) -> Vec<String> {
        let text = |part| String::from_utf8(part).unwrap();
        parts.into_iter().map(text).collect()
    }

    #[test]
    fn the_longest_listed_export_wins_and_names_are_whole() {
        let listed = [
            b"/srv".to_vec(),
            b"/srv/data/".to_vec(),
            b"/srv/data2".to_vec(),
        ];
        assert_eq!(
            text(candidates(b"/srv/data/notes/a", &listed)),
            ["/srv/data"]
        );
        assert_eq!(text(candidates(b"/srv/dat", &listed)), ["/srv"]);
        assert_eq!(
            text(candidates(b"/home/a", &listed)),
            ["/home/a", "/home", "/"]
        );
        assert_eq!(text(candidates(b"/", &[])), ["/"]);
        assert_eq!(text(candidates(b"/a/b", &[b"/".to_vec()])), ["/"]);
    }

    #[test]
    fn what_is_below() {
        assert_eq!(below(b"/srv/a", b"/srv"), Some(&b"a"[..]));
        assert_eq!(below(b"/srv", b"/srv"), Some(&b""[..]));
        assert_eq!(below(b"/srv", b"/"), Some(&b"srv"[..]));
        assert_eq!(below(b"/srv2", b"/srv"), None);
    }

    #[test]
    fn normal_paths() {
        assert_eq!(normal(b"//srv/./a/../b/"), b"/srv/b");
        assert_eq!(normal(b"../.."), b"/");
        assert_eq!(normal(b""), b"/");
    }
}

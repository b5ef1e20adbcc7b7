//! Keeps secrets out of what is shown: errors may repeat a line or an argument into which somebody has pasted one.

use std::borrow::Cow;

/// Begin of all our texts, and the kinds that are secret.
const BEGIN: &str = "lasthop-";
const SECRET: [&str; 4] = ["sk", "psk", "join", "site"];
/// Lengths of 32 bytes in base64, as `WireGuard` writes keys, and in hexadecimal.
const BASE64: usize = 44;
const HEXADECIMAL: usize = 64;
/// What is shown in place of a secret.
const HIDDEN: &str = "…";

/// Returns the text without the symbols of private keys, preshared keys and join lines, and without what could be a key
/// of another program.
pub(crate) fn hide(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, secret, after)) = next(rest) {
        shown.push_str(before);
        shown.push_str(secret);
        shown.push_str(HIDDEN);
        rest = after;
    }
    if shown.is_empty() && rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Returns what is before the next secret, the part of the secret that may be shown, and what is after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let is_symbol = |c: char| c.is_ascii_alphanumeric() || "+/=-".contains(c);
    let mut at = 0;
    while at < text.len() {
        let from = at + text[at..].find(is_symbol)?;
        let length = text[from..].find(|c| !is_symbol(c));
        let end = length.map_or(text.len(), |length| from + length);
        if let Some(shown) = shown_of(&text[from..end]) {
            let (before, after) = (&text[..from], &text[end..]);
            return Some((before, &text[from..from + shown], after));
        }
        at = end;
    }
    None
}

/// Returns the number of bytes of a word that may be shown, if it holds a secret.
fn shown_of(word: &str) -> Option<usize> {
    let lower = word.to_ascii_lowercase();
    let kinds = lower.match_indices(BEGIN).filter_map(|(at, _)| {
        let kind = at + BEGIN.len();
        let is_secret = SECRET.iter().any(|secret| {
            let version = lower[kind..].strip_prefix(secret);
            version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        });
        let symbols = lower[kind..].find('-').map(|dash| kind + dash + 1)?;
        (is_secret && symbols < word.len()).then_some(symbols)
    });
    let ours = kinds.min();
    let is_hexadecimal =
        word.len() == HEXADECIMAL && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_base64 =
        word.len() == BASE64 && word.ends_with('=') && !word[..BASE64 - 1].contains('=');
    ours.or((is_hexadecimal || is_base64).then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let symbols = "m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gn4z2rag";
        for kind in ["sk1", "psk1", "join1", "sk2", "SK1", "Join1"] {
            for (before, after) in [
                ("", ""),
                ("public_key = \"", "\""),
                ("'", "' is not a name"),
                ("--name=", ""),
                ("é ", " ü"),
            ] {
                let text = format!("{before}lasthop-{kind}-{symbols}{after}");
                let shown = hide(&text);
                assert_eq!(shown, format!("{before}lasthop-{kind}-…{after}"));
            }
        }
        let site = format!("lasthop-site1-{symbols}");
        assert_eq!(hide(&site), "lasthop-site1-…");
        let two = format!("lasthop-sk1-{symbols} lasthop-join1-{symbols}");
        assert_eq!(hide(&two), "lasthop-sk1-… lasthop-join1-…");
        assert_eq!(hide("lasthop-sk1-x"), "lasthop-sk1-…");
    }

    #[test]
    fn keys_of_others_are_hidden_and_nothing_else() {
        let wireguard = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
        assert_eq!(hide(&format!("key = \"{wireguard}\"")), "key = \"…\"");
        assert_eq!(hide(&"0a".repeat(32)), "…");
        for harmless in [
            "",
            "lasthop-pk1-rc3fp3qjqy5qz4xtv60nbyhqvbp79prc9jzdmv3f3px9tdjng990v752xm",
            "a file /var/lib/lasthop/gateway/gateway.toml: no such file",
            "a private key begins with lasthop-sk1-",
            "a private key is wanted here (lasthop-sk1-…)",
            "run `lasthop-join` with 44 characters",
        ] {
            assert_eq!(hide(harmless), harmless);
        }
        assert!(matches!(hide("nothing"), Cow::Borrowed(_)));
    }
}

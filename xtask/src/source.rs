//! A parser of Rust source that is just good enough to distinguish code from comments and literals.

#[cfg(test)]
mod tests;

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name, without path.
    pub(crate) name: String,
    /// The line of the word `fn`, from 1.
    pub(crate) line: usize,
    /// Number of lines from that one to the one with the closing brace.
    pub(crate) lines: usize,
    /// Number of its parameters, `self` included.
    pub(crate) parameters: usize,
    /// Number of its parameters whose type is an anonymous tuple.
    pub(crate) tuples: usize,
}

/// A struct with named fields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Struct {
    /// Its name.
    pub(crate) name: String,
    /// The line of the word `struct`, from 1.
    pub(crate) line: usize,
    /// Number of its fields.
    pub(crate) fields: usize,
    /// True if it is a format: of a file, of a message, or of a command line.
    pub(crate) is_format: bool,
}

/// Returns the text with comments and literals replaced by blanks; lines keep their numbers.
pub(crate) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let blank = blank_length(rest);
        let length = match blank {
            Some(length) => length,
            None => word_length(rest).max(first.len_utf8()),
        };
        let (piece, after) = rest.split_at(length);
        match blank {
            Some(_) => code.extend(piece.chars().map(|c| if c == '\n' { c } else { ' ' })),
            None => code.push_str(piece),
        }
        rest = after;
    }
    code
}

/// Returns the functions of a text from [`code_only`], in the order of their beginnings.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    words(code)
        .filter(|(_, word)| *word == "fn")
        .filter_map(|(start, _)| {
            let rest = &code[start..];
            let name = rest["fn".len()..].trim_start();
            let name = &name[..word_length(name)];
            // `fn(u8)` is a type, and `fn $name` a macro's.
            let end = if name.is_empty() {
                None
            } else {
                body_end(rest)
            };
            let parameters = list(rest, '(').map(parts).unwrap_or_default();
            Some(Function {
                name: name.into(),
                line: 1 + newlines(&code[..start]),
                lines: 1 + newlines(&rest[..end?]),
                parameters: parameters.len(),
                tuples: parameters.iter().filter(|part| is_tuple(part)).count(),
            })
        })
        .collect()
}

/// Traits whose derivation marks a struct as a format.
const FORMATS: [&str; 4] = ["Serialize", "Deserialize", "Args", "Parser"];

/// Returns the structs with named fields of a text from [`code_only`], in the order of their beginnings.
pub(crate) fn structs(code: &str) -> Vec<Struct> {
    words(code)
        .filter(|(_, word)| *word == "struct")
        .filter_map(|(start, _)| {
            let rest = &code[start..];
            let name = rest["struct".len()..].trim_start();
            let before = code[..start].rfind(['}', ';']).unwrap_or_default();
            Some(Struct {
                name: name[..word_length(name)].into(),
                line: 1 + newlines(&code[..start]),
                fields: parts(list(rest, '{')?).len(),
                is_format: words(&code[before..start]).any(|(_, word)| FORMATS.contains(&word)),
            })
        })
        .collect()
}

/// Returns the text between the first bracket outside generics, which must be `open`, and its partner.
fn list(code: &str, open: char) -> Option<&str> {
    let is_open = |(_, depth, c): &(usize, i32, char)| *depth == 0 && "({;".contains(*c);
    let (begin, _, found) = depths(code).find(is_open)?;
    let inside = &code[begin + 1..];
    let end = depths(inside).find(|(_, depth, _)| *depth < 0);
    (found == open).then(|| &inside[..end.map_or(inside.len(), |(end, ..)| end)])
}

/// Returns the comma-separated parts of a list.
fn parts(list: &str) -> Vec<&str> {
    let mut begin = 0;
    let mut parts = Vec::new();
    for (position, depth, c) in depths(list) {
        if depth == 0 && c == ',' {
            parts.push(&list[begin..position]);
            begin = position + 1;
        }
    }
    parts.push(&list[begin..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Returns true if the type of a parameter is a tuple, or a reference to one.
fn is_tuple(parameter: &str) -> bool {
    let is_colon = |(position, depth, c): &(usize, i32, char)| {
        let around = [position.wrapping_sub(1), position + 1];
        let is_path = around
            .iter()
            .any(|at| parameter.as_bytes().get(*at) == Some(&b':'));
        *depth == 0 && *c == ':' && !is_path
    };
    depths(parameter).find(is_colon).is_some_and(|(colon, ..)| {
        let mut kind = parameter[colon + 1..].trim_start();
        while let Some(rest) = kind.strip_prefix('&') {
            let lifetime = rest
                .strip_prefix('\'')
                .map(|rest| &rest[word_length(rest)..]);
            let rest = lifetime.unwrap_or(rest).trim_start();
            kind = rest.strip_prefix("mut ").unwrap_or(rest).trim_start();
        }
        kind.starts_with('(') && kind.contains(',')
    })
}

/// Returns the characters of a text with their positions and the number of open brackets around each, negative after a
/// bracket that closes one before the text; a bracket is outside itself. The arrows of function types do not count.
fn depths(code: &str) -> impl Iterator<Item = (usize, i32, char)> {
    let mut depth = 0;
    let mut before = ' ';
    code.char_indices().map(move |(position, c)| {
        let is_arrow = c == '>' && matches!(before, '-' | '=');
        before = c;
        if ")]}>".contains(c) && !is_arrow {
            depth -= 1;
        }
        let around = depth;
        depth += i32::from("([{<".contains(c));
        (position, around, c)
    })
}

/// Returns the words of a text with their positions.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = position + text[position..].find(is_word)?;
        position = start + word_length(&text[start..]);
        Some((start, &text[start..position]))
    })
}

/// Returns the length of the comment or literal at the beginning of `rest`, if there is one.
fn blank_length(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment_length(rest));
    }
    match rest.as_bytes().first()? {
        b'"' => Some(quoted_length(rest, '"')),
        b'\'' => is_character(rest).then(|| quoted_length(rest, '\'')),
        b'r' | b'b' | b'c' => raw_string_length(rest),
        _ => None,
    }
}

/// Returns the length of a block comment, nested ones included.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut position = 0;
    while position < rest.len() {
        let step = match &rest.as_bytes()[position..] {
            [b'/', b'*', ..] => (depth + 1, 2),
            [b'*', b'/', ..] => (depth - 1, 2),
            _ => (depth, 1),
        };
        (depth, position) = (step.0, position + step.1);
        if depth == 0 {
            break;
        }
    }
    position
}

/// Returns the length of a literal between two marks, where a backslash escapes the next character.
fn quoted_length(rest: &str, mark: char) -> usize {
    let mut hidden = false;
    for (position, character) in rest.char_indices().skip(1) {
        if character == mark && !hidden {
            return position + 1;
        }
        hidden = character == '\\' && !hidden;
    }
    rest.len()
}

/// Returns true if an apostrophe begins a character and not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut characters = rest.chars().skip(1);
    characters.next() == Some('\\') || characters.next() == Some('\'')
}

/// Returns the length of a raw string, if `rest` begins with one.
fn raw_string_length(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = rest[prefix.len()..].find('"')?;
    let content = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = rest[content..].find(&end);
    Some(length.map_or(rest.len(), |length| content + length + end.len()))
}

/// Returns the length of the word that `text` begins with; zero if it begins with none.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len())
}

/// Returns the position of the brace that closes the body of the function that `code` begins with; `None` for a
/// declaration.
fn body_end(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (position, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(position);
                }
            }
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Returns the number of line ends in this text.
fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

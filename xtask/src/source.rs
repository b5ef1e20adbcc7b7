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
            Some(Function {
                name: name.into(),
                line: 1 + newlines(&code[..start]),
                lines: 1 + newlines(&rest[..end?]),
            })
        })
        .collect()
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

//! Messages that are longer than a datagram, in parts.

/// First byte of a part; the version of a frame, its high four bits, is never zero.
const PART: u8 = 12;
/// Bytes before the content: kind, number of the message, index of the part, number of parts.
const HEAD: usize = 1 + 4 + 1 + 1;
/// Most bytes of content in a part: it fits any path that carries frames.
const CONTENT: usize = 900;
/// Most parts of a message.
const MOST: usize = 32;

/// Returns the parts of a message; none if it is too long.
pub(crate) fn split(number: u32, message: &[u8]) -> Vec<Vec<u8>> {
    let count = message.len().div_ceil(CONTENT);
    if count > MOST {
        return Vec::new();
    }
    let part = |(index, content): (usize, &[u8])| {
        let mut part = vec![PART];
        part.extend(number.to_be_bytes());
        part.extend([index as u8, count as u8]);
        part.extend(content);
        part
    };
    message.chunks(CONTENT).enumerate().map(part).collect()
}

/// The parts of a peer's latest message.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    number: u32,
    parts: Vec<Option<Vec<u8>>>,
}

impl Parts {
    /// Returns true if `plaintext` is a part of a message.
    pub(crate) fn has(plaintext: &[u8]) -> bool {
        plaintext.first() == Some(&PART)
    }

    /// Returns the message of which this is the only part.
    pub(crate) fn only(plaintext: &[u8]) -> Option<Vec<u8>> {
        let (head, content) = plaintext.split_at_checked(HEAD)?;
        let is_only = matches!(head, [PART, _, _, _, _, 0, 1]) && content.len() <= CONTENT;
        is_only.then(|| content.to_vec())
    }

    /// Takes a part; returns the message if it is whole now.
    pub(crate) fn take(&mut self, plaintext: &[u8]) -> Option<Vec<u8>> {
        if let Some(message) = Self::only(plaintext) {
            // It leaves the parts of another message alone.
            return Some(message);
        }
        let (head, content) = plaintext.split_at_checked(HEAD)?;
        let [PART, number @ .., index, count] = head else {
            return None;
        };
        let number = u32::from_be_bytes(number.try_into().ok()?);
        let (index, count) = (usize::from(*index), usize::from(*count));
        if index >= count || count == 1 || count > MOST || content.len() > CONTENT {
            return None;
        }
        if number != self.number || count != self.parts.len() {
            self.number = number;
            self.parts = vec![None; count];
        }
        self.parts[index] = Some(content.to_vec());
        let whole: Option<Vec<_>> = self.parts.iter().cloned().collect();
        let whole = whole?.concat();
        self.parts = Vec::new();
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_one_part_leaves_another_ones_alone() {
        let mut parts = Parts::default();
        let long = vec![7; 2 * CONTENT];
        let [first, second] = split(1, &long).try_into().expect("two parts");
        assert_eq!(parts.take(&first), None);
        assert_eq!(parts.take(&split(2, &[9])[0]), Some(vec![9]));
        assert_eq!(parts.take(&second), Some(long));
    }

    #[test]
    fn a_message_is_whole_after_its_last_part_in_any_order() {
        for length in [1, CONTENT, CONTENT + 1, 3 * CONTENT, MOST * CONTENT] {
            let message: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let mut parts = split(7, &message);
            parts.rotate_left(1);
            let mut taken = Parts::default();
            let last = parts.pop().expect("a part");
            for part in &parts {
                assert_eq!(taken.take(part), None);
            }
            assert_eq!(taken.take(&last), Some(message));
        }
        assert!(split(7, &vec![0; MOST * CONTENT + 1]).is_empty());
    }

    #[test]
    fn parts_of_two_messages_do_not_mix() {
        let (first, second) = ([1; 2 * CONTENT], [2; 2 * CONTENT]);
        let mut taken = Parts::default();
        assert_eq!(taken.take(&split(1, &first)[0]), None);
        assert_eq!(taken.take(&split(2, &second)[1]), None);
        assert_eq!(taken.take(&split(2, &second)[0]), Some(second.to_vec()));
    }

    #[test]
    fn what_is_no_part_is_ignored() {
        let mut taken = Parts::default();
        for bytes in [
            &[][..],
            &[PART],
            &[PART, 0, 0, 0, 1, 0, 0],
            &[PART, 0, 0, 0, 1, 3, 3],
            &[PART, 0, 0, 0, 1, 0, 255],
            &[4, 0, 0, 0, 1, 0, 1, 9],
        ] {
            assert_eq!(taken.take(bytes), None, "{bytes:?}");
        }
    }
}

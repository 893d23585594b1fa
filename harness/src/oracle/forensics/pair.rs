//! Two values side by side, with the part that differs marked.

use crate::model::audit::Pair;

/// Two values of a key and who sent them.
pub(super) fn pair(one_from: String, one: &str, other_from: String, other: &str) -> Pair {
    let differs = differing(one, other);
    let (one_differs, other_differs) = (differs.map(|parts| parts.0), differs.map(|parts| parts.1));
    Pair { one_from, one: one.to_owned(), other_from, other: other.to_owned(), one_differs, other_differs }
}

/// A part of a text, in characters from 0, end not included.
type Part = (u32, u32);

/// The parts in which two texts differ, widened to whole words: half of a number says nothing.
fn differing(one: &str, other: &str) -> Option<(Part, Part)> {
    if one == other {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    while start > 0 && a[start - 1].is_alphanumeric() {
        start -= 1;
    }
    let shorter = a.len().min(b.len()) - start;
    let mut end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count().min(shorter);
    while end > 0 && a[a.len() - end].is_alphanumeric() {
        end -= 1;
    }
    let part = |text: &[char]| (number(start), number(text.len() - end));
    Some((part(&a), part(&b)))
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Two texts with what differs in brackets: `charge-inv_9-[17]`.
pub(in crate::oracle) fn marked(one: &str, other: &str) -> Option<(String, String)> {
    let (a, b) = differing(one, other)?;
    let mark = |text: &str, (start, end): Part| {
        let (start, end) = (start as usize, end as usize);
        let part = |from: usize, to: usize| text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>();
        format!("{}[{}]{}", part(0, start), part(start, end), part(end, text.chars().count()))
    };
    Some((mark(one, a), mark(other, b)))
}

//! The picture of a window: the points of a run side by side, and letters under those that are spoken of.

/// What stands for another finding than the one that is drawn.
pub(super) const OTHER: char = 'o';

/// A drawn strip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Drawing {
    /// The points, from the left.
    pub(super) points: String,
    /// The letters under them.
    pub(super) letters: String,
    /// The part of the strip that is drawn, as places from 0, the end not included.
    pub(super) from: usize,
    /// See `from`.
    pub(super) to: usize,
    /// Points that one character stands for, at most.
    pub(super) points_per_char: usize,
}

/// Draws a strip in at most `columns` columns. `marks` are places in it with their letters, in order.
///
/// A strip that is too long is cut to the surroundings of the marks; where even these are too long, a character stands for
/// several points and shows the worst of them.
pub(super) fn draw(strip: &str, marks: &[(usize, char)], columns: usize) -> Drawing {
    let all: Vec<char> = strip.chars().collect();
    let (from, to) = part(all.len(), marks, columns);
    let shown = &all[from..to];
    let width = shown.len().min(columns).max(1);
    let start = |column: usize| column * shown.len() / width;
    let points = (0..width).filter_map(|column| worst(&shown[start(column)..start(column + 1)])).collect();
    let mut letters = vec![' '; width];
    for &(place, letter) in marks.iter().filter(|(place, _)| (from..to).contains(place)) {
        let column = (0..width).find(|&column| place - from < start(column + 1)).unwrap_or(width - 1);
        // Two marks in one column: the first one stays; the numbers beside the letters still tell them apart.
        if letters[column] == ' ' {
            letters[column] = letter;
        }
    }
    let points_per_char = shown.len().div_ceil(width);
    Drawing { points, letters: letters.iter().collect(), from, to, points_per_char }
}

/// The part that is drawn: all of it, or the marks with equal surroundings, or all of it again where the marks lie too far apart.
fn part(len: usize, marks: &[(usize, char)], columns: usize) -> (usize, usize) {
    let first = marks.iter().map(|(place, _)| *place).min();
    let last = marks.iter().map(|(place, _)| *place).max();
    match (first, last) {
        (Some(first), Some(last)) if len > columns && last - first < columns => {
            let margin = (columns - (last - first + 1)) / 2;
            let from = first.saturating_sub(margin).min(len - columns);
            (from, from + columns)
        }
        _ => (0, len),
    }
}

fn worst(points: &[char]) -> Option<char> {
    const ORDER: [char; 5] = ['x', '?', OTHER, '-', '.'];
    ORDER.into_iter().find(|known| points.contains(known)).or(points.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_that_fits_is_drawn_point_by_point() {
        let drawing = draw("..xxx.?-", &[(2, 'A'), (4, 'B'), (5, 'C')], 20);
        assert_eq!((drawing.points.as_str(), drawing.letters.as_str()), ("..xxx.?-", "  A BC  "));
        assert_eq!((drawing.from, drawing.to, drawing.points_per_char), (0, 8, 1));
    }

    #[test]
    fn of_a_long_strip_the_surroundings_of_the_window_are_drawn() {
        let strip = format!("{}xxx{}", ".".repeat(5_000), ".".repeat(2_000));
        let drawing = draw(&strip, &[(5_000, 'A'), (5_002, 'B')], 11);
        assert_eq!((drawing.points.as_str(), drawing.letters.as_str()), ("....xxx....", "    A B    "));
        assert_eq!((drawing.from, drawing.to, drawing.points_per_char), (4_996, 5_007, 1));
        let at_the_end = draw(&strip, &[(7_001, 'A'), (7_002, 'B')], 11);
        assert_eq!((at_the_end.from, at_the_end.to, at_the_end.letters.as_str()), (6_992, 7_003, "         AB"));
        let at_the_start = draw(&strip, &[(0, 'A')], 11);
        assert_eq!((at_the_start.from, at_the_start.to, at_the_start.letters.as_str()), (0, 11, "A          "));
    }

    #[test]
    fn one_bad_point_among_thousands_is_never_scaled_away() {
        for at in [0, 1, 499, 4_321, 9_998, 9_999] {
            let mut strip: Vec<char> = ".".repeat(10_000).chars().collect();
            strip[at] = 'x';
            let strip: String = strip.into_iter().collect();
            let drawing = draw(&strip, &[(0, 'A'), (at, 'B'), (9_999, 'C')], 70);
            assert_eq!(drawing.points.matches('x').count(), 1, "{at}");
            assert_eq!((drawing.points.len(), drawing.points_per_char), (70, 143), "{at}");
            let letter = drawing.letters.chars().nth(drawing.points.find('x').expect("an x"));
            assert!(matches!(letter, Some('A' | 'B' | 'C')), "{at}: {letter:?}");
        }
    }

    #[test]
    fn an_empty_strip_is_an_empty_drawing() {
        assert_eq!(draw("", &[], 70).points, "");
        assert_eq!(draw("", &[(3, 'A')], 70).letters.trim(), "");
    }
}

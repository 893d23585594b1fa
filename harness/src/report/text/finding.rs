//! One finding: what is wrong, where the window is, why, how to mend it, and the line that brings it back.

use crate::model::fault::Fault;
use crate::model::finding::{Finding, Window};
use crate::model::interleaving::Interleaving;
use crate::model::point::{Moment, Point};
use crate::model::report::{Cell, Mode, Report};

use super::page::{Page, Role, Span};
use super::strip::{self, OTHER};
use super::words;
use crate::report::explain;

/// Sentences of *why* that are shown.
const WHY_MAX: usize = 5;
/// Further windows that are shown.
const MORE_WINDOWS_MAX: usize = 3;

/// A point of the legend under the strip.
struct Row<'a> {
    place: Option<usize>,
    what: &'static str,
    point: &'a Point,
}

/// Writes a finding.
pub(super) fn block(page: &mut Page, report: &Report, finding: &Finding) {
    let cell = words::cell_of(&report.cells, &finding.cell);
    let title = format!("{} {}", finding.id, finding.verdict);
    page.wrapped("", "  ", &[Span(Role::Bad, title), Span(Role::Strong, format!(": {}", words::headline(finding)))]);
    if !finding.cell.is_empty() {
        page.field("cell", &[finding.cell.join(" ").into()]);
    }
    if finding.interleaving != Interleaving::AsIs {
        page.field("order", &[order(finding.interleaving).into()]);
    }
    if finding.fault != Fault::Kill {
        page.field("fault", &[fault(finding.fault).into()]);
        if !finding.also.is_empty() {
            let others: Vec<String> = finding.also.iter().map(ToString::to_string).collect();
            page.field("", &[format!("and in the same way {}", others.join(", ")).into()]);
        }
    }
    if let Some(after) = &finding.window.after {
        let points: Vec<String> = after.0.iter().map(|step| step.point.to_string()).collect();
        page.field("after", &[format!("a crash at {}, in the life that resumes", points.join(", then at ")).into()]);
    }
    page.field("where", &[where_line(finding, cell).into()]);
    window(page, finding, cell);
    more_windows(page, finding);
    why(page, finding);
    let word = words::cause_word(finding.cause);
    page.field("mend", &[explain::mend_line(finding.cause).into()]);
    page.field_line("more", Span(Role::Strong, format!("killpoint explain {word}")));
    page.field_line("replay", Span(Role::Strong, finding.repro.clone()));
}

fn where_line(finding: &Finding, cell: Option<&Cell>) -> String {
    if let Fault::Wire(_) = finding.fault {
        let requests = words::counted(finding.window.points.into(), "request");
        return format!(
            "at {requests}; shown in {}, brought back from the start",
            words::counted(finding.trials.into(), "trial")
        );
    }
    let is_image = cell.is_some_and(|cell| cell.mode == Mode::Image);
    let width = words::width(&finding.window, cell);
    let images = words::counted(finding.trials.into(), "crash image");
    match (is_image, finding.confirmed_by_sigkill) {
        (false, true) => format!("{width}; {} with a real SIGKILL", words::counted(finding.trials.into(), "trial")),
        (true, true) => format!("{width}; shown by {images}, and again by a real SIGKILL"),
        (_, false) => format!("{width}; shown by {images} only, not by a SIGKILL"),
    }
}

/// A fault and what it does.
fn fault(fault: Fault) -> String {
    match fault {
        Fault::Kill => fault.to_string(),
        Fault::Wire(wire) => format!("{fault}: the request {}", wire.meaning()),
    }
}

/// An order of threads, for people.
fn order(interleaving: Interleaving) -> String {
    let how = match interleaving {
        Interleaving::AsIs => "as the machine made it",
        Interleaving::FlushLate => "threads that write state after an effect are held until the others stand still",
        Interleaving::FlushEarly => "answers are held until the workflow stands still",
        Interleaving::Seed(_) => "threads are paused by priorities drawn from a seed",
    };
    format!("{interleaving}: {how}")
}

/// The strip with its letters, and what the letters stand for.
fn window(page: &mut Page, finding: &Finding, cell: Option<&Cell>) {
    let rows = rows(finding, cell);
    let is_of_strip =
        finding.fault == Fault::Kill && finding.interleaving == Interleaving::AsIs && finding.window.after.is_none();
    let drawn = cell.filter(|cell| is_of_strip && !cell.strip.is_empty() && rows.iter().any(|row| row.place.is_some()));
    if let Some(cell) = drawn {
        picture(page, finding, cell, &rows);
    }
    let indent = Page::field_indent();
    let digits = rows.iter().filter_map(|row| row.place).max().map_or(0, |place| (place + 1).to_string().len());
    let names = rows.iter().map(|row| row.what.len()).max().unwrap_or(0);
    for (row, letter) in rows.iter().zip('A'..) {
        let number = match row.place {
            Some(place) if drawn.is_some() => format!("{letter} {:>digits$}  ", place + 1),
            _ => String::new(),
        };
        let head = format!("{number}{:names$}  ", row.what);
        page.line(&[indent.as_str().into(), Span(Role::Faint, head), row.point.to_string().into()]);
    }
    if finding.window.closed_by.is_none() && finding.fault == Fault::Kill {
        page.field("", &["no later point of the run was seen to be safe".into()]);
    }
    if finding.window.clean_points > 0 {
        let inside = words::counted(finding.window.clean_points.into(), "point");
        let text = format!("{inside} between the first and the last bad one did no harm in this run");
        page.field("", &[text.into()]);
    }
}

fn picture(page: &mut Page, finding: &Finding, cell: &Cell, rows: &[Row<'_>]) {
    let marks: Vec<(usize, char)> = rows.iter().zip('A'..).filter_map(|(row, letter)| Some((row.place?, letter))).collect();
    let own = own_strip(finding, cell);
    let exact = own.is_some();
    let own = own.unwrap_or_else(|| cell.strip.clone());
    let count = own.chars().count();
    let ends = 2 * (count.to_string().len() + 1);
    let drawing = strip::draw(&own, &marks, page.field_columns() - ends);
    let left = format!("{}{} ", Page::field_indent(), drawing.from + 1);
    let indent = " ".repeat(left.len());
    let mut spans = vec![Span(Role::Faint, left)];
    let chars: Vec<char> = drawing.points.chars().collect();
    for stretch in chars.chunk_by(|one, next| (*one == 'x') == (*next == 'x')) {
        let role = if stretch.contains(&'x') { Role::Bad } else { Role::Plain };
        spans.push(Span(role, stretch.iter().collect()));
    }
    spans.push(Span(Role::Faint, format!(" {}", drawing.to)));
    page.line(&spans);
    page.line(&[indent.into(), Span(Role::Strong, drawing.letters)]);
    let mut notes = Vec::new();
    if !exact {
        notes.push("x any finding of this cell".to_owned());
    }
    if drawing.points_per_char > 1 {
        notes.push(format!("one character stands for up to {} points, the worst shows", drawing.points_per_char));
    }
    let legend = [('?', "? not reached or unknown"), ('-', "- not tried"), (OTHER, "o another finding")];
    notes.extend(legend.iter().filter(|(sign, _)| drawing.points.contains(*sign)).map(|(_, note)| (*note).to_owned()));
    if !notes.is_empty() {
        page.field("", &[Span(Role::Faint, notes.join("; "))]);
    }
}

/// The cell's strip, in which bad points outside of this finding's windows are those of another finding. `None` where the place of
/// one of its windows is not known.
fn own_strip(finding: &Finding, cell: &Cell) -> Option<String> {
    let edges = |window: &Window| Some((place(cell, &window.first)?, place(cell, &window.last)?));
    let all = std::iter::once(&finding.window).chain(&finding.windows);
    let of_strip = all.filter(|window| window.interleaving == Interleaving::AsIs && window.after.is_none());
    let windows: Vec<(usize, usize)> = of_strip.map(edges).collect::<Option<_>>()?;
    let inside = |at: usize| windows.iter().any(|&(first, last)| (first..=last).contains(&at));
    Some(cell.strip.chars().enumerate().map(|(at, c)| if c == 'x' && !inside(at) { OTHER } else { c }).collect())
}

/// The points of the legend, in the order of the run.
fn rows<'a>(finding: &'a Finding, cell: Option<&'a Cell>) -> Vec<Row<'a>> {
    let window = &finding.window;
    let row = |what, point: &'a Point| Row { place: cell.and_then(|cell| place(cell, point)), what, point };
    let mut rows = if window.first == window.last {
        vec![row("only bad", &window.first)]
    } else {
        vec![row("first bad", &window.first), row("last bad", &window.last)]
    };
    rows.extend(window.closed_by.as_ref().map(|point| row("safe again", point)));
    if let Some(answer) = cell.and_then(|cell| answer(finding, cell))
        && rows.iter().all(|row| row.point != answer)
    {
        rows.push(row("the answer", answer));
    }
    if rows.iter().all(|row| row.place.is_some()) {
        rows.sort_by_key(|row| row.place);
    }
    rows
}

/// The latest answer to a request of the effect, up to the last bad point.
fn answer<'a>(finding: &Finding, cell: &'a Cell) -> Option<&'a Point> {
    let last = place(cell, &finding.window.last)?;
    let answers =
        |point: &Point| matches!(point, Point::Wire(wire) if wire.effect == finding.promise && wire.moment == Moment::Answered);
    let before = cell.landmarks.iter().filter(|mark| mark.index as usize <= last && answers(&mark.point));
    before.max_by_key(|mark| mark.index).map(|mark| &mark.point)
}

/// The place of a point in the cell's strip.
fn place(cell: &Cell, point: &Point) -> Option<usize> {
    let mark = cell.landmarks.iter().find(|mark| mark.point == *point)?;
    Some(mark.index as usize).filter(|place| *place < cell.strip.chars().count())
}

fn more_windows(page: &mut Page, finding: &Finding) {
    // Where other faults struck is where they always strike: at the moments of the same request.
    let is_other = |window: &&Window| **window != finding.window && window.fault == finding.fault;
    let others: Vec<&Window> = finding.windows.iter().filter(is_other).collect();
    for (index, window) in others.iter().take(MORE_WINDOWS_MAX).enumerate() {
        let points = words::counted(window.points.into(), "point");
        let order = match window.interleaving {
            Interleaving::AsIs => String::new(),
            other => format!(" in the order {other}"),
        };
        let text = format!("{}{order}: {points}, {} to {}", window.intent, window.first, window.last);
        page.field(if index == 0 { "also" } else { "" }, &[text.into()]);
    }
    if others.len() > MORE_WINDOWS_MAX {
        let rest = words::counted((others.len() - MORE_WINDOWS_MAX) as u64, "more window");
        page.field("", &[format!("and {rest}, in report.json").into()]);
    }
}

fn why(page: &mut Page, finding: &Finding) {
    let word = words::cause_word(finding.cause);
    if finding.why.is_empty() {
        page.field("why", &[word.into()]);
        return;
    }
    for (index, sentence) in finding.why.iter().take(WHY_MAX).enumerate() {
        page.field(if index == 0 { "why" } else { "" }, &[sentence.as_str().into()]);
    }
    if finding.why.len() > WHY_MAX {
        let rest = words::counted((finding.why.len() - WHY_MAX) as u64, "more fact");
        page.field("", &[format!("and {rest}, in report.json").into()]);
    }
}

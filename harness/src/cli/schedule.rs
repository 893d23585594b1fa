//! `--at SCHEDULE`: reads one schedule and shows the place of a mistake with a caret.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use killpoint::model::exit::Exit;
use killpoint::model::point::PointError;
use killpoint::model::schedule::{Schedule, ScheduleError};

use super::failure::Failure;

/// Reads what was typed.
///
/// # Errors
/// It is not a schedule.
pub fn read(typed: &str) -> Result<Schedule, Failure> {
    typed.parse().map_err(|error: ScheduleError| {
        let failure = match &error {
            ScheduleError::Empty => Failure::usage("`--at` holds no crash point"),
            ScheduleError::Point { source, .. } => pointed(typed, &error.to_string(), source),
            ScheduleError::Fault { source, .. } => {
                let at = place_of_fault(typed, &source.text);
                drawn(&error.to_string(), typed, at, &source.expected)
            }
            ScheduleError::Misplaced { fault, moment, .. } => {
                let at = place_of_fault(typed, &fault.to_string());
                drawn(
                    &error.to_string(),
                    typed,
                    at,
                    &format!("expected at a request's `{moment}`, such as `charge#1:{moment} {fault}`"),
                )
            }
        };
        failure.hint("`killpoint points` lists the crash points of a workflow; `killpoint explain answered` tells of moments")
    })
}

fn pointed(typed: &str, title: &str, error: &PointError) -> Failure {
    let base = place_of_step(typed, &error.text);
    // Where the step cannot be found in what was typed, it is shown alone.
    let (shown, base) = base.map_or((error.text.as_str(), 0), |base| (typed, base));
    let within = error.text.char_indices().nth(error.at.saturating_sub(1)).map_or(error.text.len(), |(at, _)| at);
    let step_end = base + error.text.len();
    let start = base + within;
    let span = if start < step_end { start..step_end } else { start..start };
    drawn(title, shown, span, error.expected)
}

/// What was typed, with a stretch of it marked.
fn drawn(title: &str, shown: &str, span: Range<usize>, label: &str) -> Failure {
    let draw = |renderer: Renderer| {
        let annotation = AnnotationKind::Primary.span(span.clone()).label(label);
        let group = Level::ERROR.primary_title(title).element(Snippet::source(shown).path("--at").annotation(annotation));
        renderer.render(&[group])
    };
    Failure::drawn(Exit::Usage, draw(Renderer::plain()), draw(Renderer::styled()))
}

/// Where a fault stands: behind a space, at the end of its step. The whole text where it was written in another form than it is shown.
fn place_of_fault(typed: &str, fault: &str) -> Range<usize> {
    let at_end = |at: &usize| matches!(typed[*at + fault.len()..].trim_start().chars().next(), None | Some(';'));
    let behind_space = |at: &usize| typed[..*at].ends_with(' ');
    let mut places = typed.match_indices(fault).map(|(at, _)| at);
    places.find(|at| at_end(at) && behind_space(at)).map_or(0..typed.len(), |at| at..at + fault.len())
}

/// Where a step stands in the schedule: at its start or behind a `;`.
fn place_of_step(typed: &str, step: &str) -> Option<usize> {
    let at_start = |at: &usize| matches!(typed[..*at].trim_end().chars().last(), None | Some(';'));
    typed.match_indices(step).map(|(at, _)| at).find(at_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(typed: &str) -> String {
        read(typed).expect_err("no schedule").render(false)
    }

    #[test]
    fn a_schedule_is_read() {
        assert_eq!(read("charge#1:executed; start/openat(a.db)#1 kill").unwrap().0.len(), 2);
    }

    #[test]
    fn a_mistake_is_shown_at_its_place() {
        insta::assert_snapshot!(told("charge#1:answerd"));
        insta::assert_snapshot!(told("charge#1:answered kill; start/pwrite64(größe.db)#0"));
        insta::assert_snapshot!(told("start"));
        insta::assert_snapshot!(told(" ; "));
        insta::assert_snapshot!(told("charge#1:answered kill; charge#1:executed drop-ak"));
        insta::assert_snapshot!(told("charge#1:received drop-ack"));
    }

    #[test]
    fn any_text_is_a_schedule_or_an_error_and_never_a_panic() {
        for typed in ["", "\u{1b}[2J", "ß#1", "a#1:ß", "x\n#1", ";;ß;", "start/ß(ß)#ß", "output:\"ß", "after:", "\u{0}"] {
            let _ = read(typed);
        }
    }
}

//! `--at SCHEDULE`: reads one schedule and shows the place of a mistake with a caret.

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
    let draw = |renderer: Renderer| {
        let annotation = AnnotationKind::Primary.span(span.clone()).label(error.expected);
        let group = Level::ERROR.primary_title(title).element(Snippet::source(shown).path("--at").annotation(annotation));
        renderer.render(&[group])
    };
    Failure::drawn(Exit::Usage, draw(Renderer::plain()), draw(Renderer::styled()))
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
    }

    #[test]
    fn any_text_is_a_schedule_or_an_error_and_never_a_panic() {
        for typed in ["", "\u{1b}[2J", "ß#1", "a#1:ß", "x\n#1", ";;ß;", "start/ß(ß)#ß", "output:\"ß", "after:", "\u{0}"] {
            let _ = read(typed);
        }
    }
}

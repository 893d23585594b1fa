//! Bugs of killpoint itself: a panic, wherever it was, becomes one line that asks for a report, and the exit code 70.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static SEEN: AtomicBool = AtomicBool::new(false);
static RUN_FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Replaces the message and backtrace of a panic. The panic goes on as it would: an oracle that fails makes its verdict unknown,
/// and the run still ends in its report.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        if SEEN.swap(true, Ordering::SeqCst) {
            return; // What follows from the first one helps nobody.
        }
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        let text = panic.payload().downcast_ref::<&str>().copied();
        let what = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let folder = RUN_FOLDER.get().map(PathBuf::as_path);
        let _ = writeln!(std::io::stderr(), "{}", message(what, &place, folder));
    }));
}

/// Names the run folder, for a report of a bug.
pub fn note_run_folder(folder: &Path) {
    let _ = RUN_FOLDER.set(folder.to_owned());
}

/// Whether there was a panic.
pub fn seen() -> bool {
    SEEN.load(Ordering::SeqCst)
}

fn message(what: &str, place: &str, folder: Option<&Path>) -> String {
    let what = what.replace('\n', " ");
    let with = folder.map(|folder| format!(" and the run folder {}", folder.display())).unwrap_or_default();
    format!("error: a bug in killpoint {}: {what}{place}; please report it with this line{with}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_in_one_line_with_the_run_folder() {
        let told = message("left: 1\nright: 2", " (src/a.rs:7)", Some(Path::new("reports/runs/x")));
        assert_eq!(told.lines().count(), 1);
        assert!(told.contains("left: 1 right: 2 (src/a.rs:7)") && told.ends_with("the run folder reports/runs/x"), "{told}");
    }
}

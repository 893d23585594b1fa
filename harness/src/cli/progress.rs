//! Draws how far a run is on stderr: a bar on a terminal when it takes longer, plain lines elsewhere. The words come from the report.

use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use killpoint::campaign::Tell;
use killpoint::model::event::Event;

use super::render::Progress;
use super::terminal::{Terminal, washed};

/// A run shorter than this shows no bar.
const BAR_AFTER: Duration = Duration::from_secs(2);
/// How often the bar is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Where there is no terminal, a line is written at least so often.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Quiet,
    /// Lines.
    Lines,
    /// Lines, and a bar below them.
    Bar,
}

/// Draws until it is dropped.
pub struct Drawer {
    shared: Arc<Mutex<State>>,
    stop: Option<Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

struct State {
    mode: Mode,
    progress: Progress,
    phase: Option<(String, Instant)>,
    bar: ProgressBar,
    template: &'static str,
    began: Instant,
    last_line: Instant,
}

impl Drawer {
    /// Starts to draw; nothing is seen before something happens.
    pub fn start(terminal: &Terminal, quiet: bool) -> Self {
        let mode = match (quiet, terminal.err_is_terminal) {
            (true, _) => Mode::Quiet,
            (false, true) => Mode::Bar,
            (false, false) => Mode::Lines,
        };
        let shared = Arc::new(Mutex::new(State::new(mode)));
        let (stop, stopped) = channel();
        let drawn = Arc::clone(&shared);
        // Without the thread nothing is drawn, and the run is as good as before.
        let ticker = std::thread::Builder::new().name("progress".to_owned()).spawn(move || tick(&drawn, &stopped)).ok();
        Self { shared, stop: Some(stop), ticker }
    }

    /// What takes the events.
    pub fn tell(&self) -> Tell {
        let shared = Arc::clone(&self.shared);
        Arc::new(move |event| lock(&shared).feed(event))
    }

    /// What writes a line above the bar, whatever the mode.
    pub fn liner(&self) -> impl Fn(&str) + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move |text: &str| lock(&shared).line(text)
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
        lock(&self.shared).bar.finish_and_clear();
    }
}

/// A thread that panicked while it drew leaves a bar that is wrong at worst.
fn lock(shared: &Mutex<State>) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tick(shared: &Mutex<State>, stopped: &Receiver<()>) {
    while stopped.recv_timeout(DRAW_EVERY) == Err(RecvTimeoutError::Timeout) {
        lock(shared).tick(Instant::now());
    }
}

impl State {
    fn new(mode: Mode) -> Self {
        let now = Instant::now();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { mode, progress: Progress::default(), phase: None, bar, template: "", began: now, last_line: now }
    }

    fn feed(&mut self, event: &Event) {
        if let Some(phase) = phase_of(event) {
            self.phase = Some((phase, Instant::now()));
        }
        let line = self.progress.feed(event);
        // An interrupt is told of by the one who heard the signal.
        if let (Some(line), false) = (line, self.mode == Mode::Quiet || *event == Event::Interrupted) {
            self.line(&washed(&line.text));
        }
    }

    fn line(&mut self, text: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{text}");
        });
        self.last_line = Instant::now();
    }

    fn tick(&mut self, now: Instant) {
        match self.mode {
            Mode::Bar if now.duration_since(self.began) >= BAR_AFTER => self.draw(now),
            Mode::Lines if now.duration_since(self.last_line) >= LINE_EVERY => {
                let line = self.still(now);
                self.line(&line);
            }
            _ => {}
        }
    }

    fn draw(&mut self, now: Instant) {
        let (template, message) = if self.progress.total() == 0 {
            ("{spinner} {wide_msg}", self.still(now))
        } else {
            ("{bar:30} {pos}/{len} trials, {eta} left  {wide_msg}", washed(&self.progress.message()))
        };
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if self.progress.total() > 0 && self.bar.length() != Some(self.progress.total()) {
            self.bar.set_length(self.progress.total());
        }
        if self.template != template {
            self.template = template;
            self.bar.set_style(ProgressStyle::with_template(template).expect("the templates above are well-formed"));
            self.bar.reset_eta();
        }
        self.bar.set_message(message);
        self.bar.set_position(self.progress.done());
        self.bar.tick();
    }

    /// What is being done, in one line.
    fn still(&self, now: Instant) -> String {
        let (phase, since) = self.phase.as_ref().map_or(("starting", self.began), |(phase, since)| (phase, *since));
        let seconds = now.duration_since(since).as_secs();
        if self.progress.total() == 0 {
            return format!("{} ({seconds} s)", washed(phase));
        }
        let message = self.progress.message();
        let more = if message.is_empty() { message } else { format!("; {}", washed(&message)) };
        format!("{} of {} trials{more}", self.progress.done(), self.progress.total())
    }
}

/// What begins with an event.
fn phase_of(event: &Event) -> Option<String> {
    match event {
        Event::SetupStarted { command } => Some(format!("setup: {command}")),
        Event::SetupFinished | Event::CellStarted { .. } => Some("clean run".to_owned()),
        Event::BaselineFinished { .. } => Some("the same in other orders of threads".to_owned()),
        Event::Planned { .. } => Some("trials".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_setup_is_named_with_its_time() {
        let mut state = State::new(Mode::Quiet);
        assert_eq!(state.still(state.began + Duration::from_secs(3)), "starting (3 s)");
        state.feed(&Event::SetupStarted { command: "python3 -m venv\u{7}".to_owned() });
        let since = state.phase.as_ref().map(|(_, since)| *since).expect("a phase began");
        assert_eq!(state.still(since + Duration::from_secs(64)), "setup: python3 -m venv\\u{7} (64 s)");
        state.feed(&Event::Planned { cell: 0, trials: 12 });
        assert_eq!(state.still(since), "0 of 12 trials");
    }

    #[test]
    fn where_there_is_no_terminal_a_line_comes_every_thirty_seconds_and_no_bar() {
        let mut state = State::new(Mode::Lines);
        let before = state.last_line;
        state.tick(before + Duration::from_secs(29));
        assert_eq!(state.last_line, before);
        state.tick(before + Duration::from_secs(30));
        assert_ne!(state.last_line, before);
        assert!(state.bar.is_hidden());
    }
}

//! How the experiments of a series go on: one line for each on standard output, and on a terminal one that changes.

use dyno_analysis::progress::{Live, Upcoming};
use dyno_lab::run::Progress;
use dyno_report::live_line;
use dyno_text::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

use crate::{page, say};

/// Shows an experiment of a series while it is measured.
pub struct Member {
    /// The line that changes; `None`: nobody watches.
    bar: Option<ProgressBar>,
    /// Which of how many it is, and its name.
    name: String,
    /// Which run of how many.
    run: String,
}

impl Member {
    /// Begins to show the experiment that is called so.
    pub fn new(name: String) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            bar.enable_steady_tick(Duration::from_millis(100));
            // The template is a constant; a wrong one would show at once.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        let member = Self {
            bar,
            name,
            run: String::new(),
        };
        member.show("");
        member
    }

    /// Removes the line that changes.
    pub fn close(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(visible(&format!("{}{}  {text}", self.name, self.run)).into_owned());
        }
    }
}

impl Progress for Member {
    fn begins(&mut self, run: &Upcoming) {
        if run.of > 1 {
            self.run = format!(", run {} of {}", run.planned.number, run.of);
        }
        self.show("");
    }

    fn step(&mut self, text: &str) {
        self.show(text);
    }

    fn note(&mut self, text: &str) {
        let text = format!("note: {}: {text}", self.name);
        match &self.bar {
            Some(bar) => bar.println(visible(&text)),
            None => say::aside(&text),
        }
    }

    fn live(&mut self, live: &Live) {
        self.show(&live_line(live, page::of_asides()));
    }
}

//! Shows how a campaign goes on: one live line on a terminal, plain lines elsewhere. The summary goes to standard
//! output, all else to standard error.

use crate::failure::Failure;
use crate::say;
use dyno_analysis::progress::{FinishedRun, Live, Upcoming};
use dyno_archive::{Capacity, Versus};
use dyno_lab::run::Progress;
use dyno_report as report;
use dyno_report::figures::count;
use dyno_text::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Where output is not a terminal, how far a step has come is printed no more often than this.
const PLAIN_PERIOD: Duration = Duration::from_millis(990);

/// The same of what is known of two variants, or of a capacity.
const PLAIN_KNOWN: Duration = Duration::from_secs(10);

/// Shows a campaign's progress.
pub struct Terminal {
    /// The line that changes; `None`: plain lines.
    bar: Option<ProgressBar>,
    step: String,
    /// The run under way, if it is one of several.
    run: Option<Upcoming>,
    last_plain: Option<Instant>,
    last_known: Option<Instant>,
    /// Whether all results could be written.
    told: Result<(), Failure>,
}

impl Terminal {
    /// Finds out what standard error is.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            bar,
            step: String::new(),
            run: None,
            last_plain: None,
            last_known: None,
            told: Ok(()),
        }
    }

    /// Removes the live line.
    ///
    /// # Errors
    /// A result could not be written: the campaign went on all the same.
    pub fn close(self) -> Result<(), Failure> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.told
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(visible(text)),
            None => say::aside(text),
        }
    }

    /// Whether a plain line about how far the step has come is due.
    fn plain_is_due(&mut self) -> bool {
        let due = self.last_plain.is_none_or(|last| last.elapsed() >= PLAIN_PERIOD);
        if due {
            self.last_plain = Some(Instant::now());
        }
        due
    }

    /// What is known so far of what a load is to find out.
    fn known(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            self.style("{spinner} {msg}");
            bar.set_message(visible(text).into_owned());
        } else if self.last_known.is_none_or(|last| last.elapsed() >= PLAIN_KNOWN) {
            self.last_known = Some(Instant::now());
            say::aside(text);
        }
    }

    fn style(&self, template: &str) {
        // The templates are constants of this file; a wrong one would show at once.
        if let (Some(bar), Ok(style)) = (&self.bar, ProgressStyle::with_template(template)) {
            bar.set_style(style.progress_chars("=> "));
        }
    }
}

impl Progress for Terminal {
    fn begins(&mut self, run: &Upcoming) {
        if run.of > 1 {
            self.line(&format!("\n{}", report::upcoming_line(run)));
            self.run = Some(run.clone());
            self.step.clear();
        }
    }

    fn step(&mut self, text: &str) {
        // Long steps are told again and again.
        if self.step == text {
            return;
        }
        self.step = text.to_owned();
        self.last_plain = None;
        match &self.bar {
            Some(bar) => {
                bar.set_length(0);
                bar.reset_elapsed();
                bar.set_message(visible(text).into_owned());
                self.style("{spinner} {msg} ({elapsed})");
            }
            None => say::aside(text),
        }
    }

    fn waits(&mut self) {
        const WAITING: &str = "Waiting for the server…";
        match &self.bar {
            Some(bar) => bar.set_message(visible(&format!("{}. {WAITING}", self.step)).into_owned()),
            None => say::aside(WAITING),
        }
    }

    fn amount(&mut self, done: u64, total: u64, unit: &str) {
        if let Some(bar) = &self.bar {
            if bar.length() != Some(total) {
                bar.set_length(total);
                bar.reset_eta();
                self.style(&format!(
                    "{{spinner}} {{msg}} [{{bar:30}}] {{human_pos}} of {{human_len}} {unit}, {{eta}} left"
                ));
            }
            bar.set_position(done);
        } else if done < total && self.plain_is_due() {
            let (done, total) = (count(done), count(total));
            say::aside(&format!("{}: {done} of {total} {unit}", self.step));
        }
    }

    fn done(&mut self, result: &str) {
        self.line(&format!("{}: {result}", self.step));
    }

    fn note(&mut self, text: &str) {
        self.line(&format!("note: {text}"));
    }

    fn live(&mut self, live: &Live) {
        let text = match &self.run {
            Some(run) => report::progress_line(live, run),
            None => report::live_line(live),
        };
        if let Some(bar) = &self.bar {
            self.style("{spinner} {msg}");
            bar.set_message(visible(&text).into_owned());
        } else {
            say::aside(&text);
        }
    }

    fn versus(&mut self, known: &Versus, measured: Duration, at_most: Duration) {
        self.known(&report::versus_line(known, measured, at_most));
    }

    fn pair(&mut self, number: usize, of: usize, left: Duration, each: Duration) {
        self.known(&report::pair_line(number, of, left, each));
    }

    fn capacity(&mut self, known: &Capacity, left: Duration) {
        self.known(&report::capacity_line(known, left));
    }

    fn finished(&mut self, run: &FinishedRun) {
        let text = report::finished_run(run, self.run.as_ref().map(|run| run.of));
        let print = || say::result(&text);
        let told = match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        };
        if self.told.is_ok() {
            self.told = told;
        }
    }
}

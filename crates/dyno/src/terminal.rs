//! Shows how a campaign goes on: one live line on a terminal, plain lines elsewhere. The summary goes to standard
//! output, all else to standard error. What is worth to be kept of a run are its results; on a terminal all else is
//! gone with the line.

use crate::failure::Failure;
use crate::{page, say};
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

/// So much of a line take an animation, and how long a step has taken.
const BESIDE_STEP: usize = 8;

/// The same of an amount beside both numbers and their unit: an animation, a bar, and how long it will take.
const BESIDE_AMOUNT: usize = 36;

/// Where results go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// To standard output.
    Standard,
    /// To standard error, because standard output is for something else.
    Aside,
}

/// Shows a campaign's progress.
pub struct Terminal {
    results: Results,
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
    pub fn new(results: Results) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            results,
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
            Some(bar) => bar.println(page::of_asides().wrapped(&visible(text))),
            None => say::aside(text),
        }
    }

    /// What is under way, with the run that it is for, if that is one of several; `beside` it stands so much.
    fn message(&self, text: &str, beside: usize) {
        if let Some(bar) = &self.bar {
            let run = self.run.as_ref().map(report::run_words);
            let text = run.map_or_else(|| text.to_owned(), |run| format!("{run}: {text}"));
            bar.set_message(page::of_asides().begin(&visible(&text), beside));
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
            self.style("{spinner} {wide_msg}");
            bar.set_message(page::of_asides().begin(&visible(text), BESIDE_STEP));
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
            if self.bar.is_none() {
                say::aside(&format!("\n{}", report::upcoming_line(run)));
            }
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
                // Each change may be drawn, so none may come while the line is that of an amount.
                self.style("{spinner} {elapsed:>3} {wide_msg}");
                self.message(text, BESIDE_STEP);
                bar.set_length(0);
                bar.reset_elapsed();
            }
            None => say::aside(text),
        }
    }

    fn waits(&mut self) {
        const WAITING: &str = "Waiting for the server…";
        match &self.bar {
            Some(_) => self.message(&format!("{}. {WAITING}", self.step), BESIDE_STEP),
            None => say::aside(WAITING),
        }
    }

    fn amount(&mut self, done: u64, total: u64, unit: &str) {
        if let Some(bar) = &self.bar {
            if bar.length() != Some(total) {
                self.message(&self.step, BESIDE_AMOUNT + 2 * count(total).len() + unit.len());
                bar.set_position(done);
                bar.set_length(total);
                bar.reset_eta();
                self.style(&format!(
                    "{{spinner}} {{wide_msg}} [{{bar:10}}] {{human_pos}} of {{human_len}} {unit}, {{eta}} left"
                ));
            }
            bar.set_position(done);
        } else if done < total && self.plain_is_due() {
            let (done, total) = (count(done), count(total));
            say::aside(&format!("{}: {done} of {total} {unit}", self.step));
        }
    }

    fn done(&mut self, result: &str) {
        // What a person watched is in the archive, too.
        if self.bar.is_none() {
            say::aside(&format!("{}: {result}", self.step));
        }
    }

    fn note(&mut self, text: &str) {
        self.line(&format!("note: {text}"));
    }

    fn live(&mut self, live: &Live) {
        let page = page::of_asides();
        let text = match &self.run {
            Some(run) => report::progress_line(live, run, page),
            None => report::live_line(live, page),
        };
        if let Some(bar) = &self.bar {
            self.style("{spinner} {wide_msg}");
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
        let of = self.run.as_ref().map(|run| run.of);
        let text = match self.results {
            Results::Standard => report::finished_run(run, of, page::of_results()),
            Results::Aside => report::finished_run(run, of, page::of_asides()),
        };
        let print = || match self.results {
            Results::Standard => say::result(&text),
            Results::Aside => {
                say::aside(text.trim_end());
                Ok(())
            }
        };
        let told = match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        };
        if self.told.is_ok() {
            self.told = told;
        }
    }
}

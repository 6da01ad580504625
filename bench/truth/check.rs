//! A figure of dyno beside what it ought to be.

use dyno_bench::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// One figure of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub case: String,
    pub figure: &'static str,
    /// Where the truth comes from.
    pub against: &'static str,
    pub dyno: f64,
    /// It is true from here …
    pub low: f64,
    /// … to here.
    pub high: f64,
}

impl Check {
    pub fn holds(&self) -> bool {
        self.dyno >= self.low && self.dyno <= self.high
    }
}

/// The checks of one case against one source of truth.
pub struct Checks<'a> {
    case: &'a str,
    against: &'static str,
    pub list: Vec<Check>,
}

impl<'a> Checks<'a> {
    pub fn of(case: &'a str, against: &'static str) -> Self {
        Self {
            case,
            against,
            list: Vec::new(),
        }
    }

    /// It is to lie within bounds.
    pub fn within(&mut self, figure: &'static str, dyno: f64, low: f64, high: f64) {
        self.list.push(Check {
            case: self.case.to_owned(),
            figure,
            against: self.against,
            dyno,
            low,
            high,
        });
    }

    /// It is to be exactly this.
    pub fn equal(&mut self, figure: &'static str, dyno: f64, truth: f64) {
        self.within(figure, dyno, truth, truth);
    }

    /// It is to differ by no more than a share of the truth, or by a fixed amount if that is more.
    pub fn near(&mut self, figure: &'static str, dyno: f64, truth: f64, share: f64, least: f64) {
        self.near_all(figure, dyno, &[truth], share, least);
    }

    /// The same of a truth that was measured several times, and is as uncertain as these differ.
    pub fn near_all(&mut self, figure: &'static str, dyno: f64, truths: &[f64], share: f64, least: f64) {
        let low = truths.iter().copied().fold(f64::INFINITY, f64::min);
        let high = truths.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let room = |truth: f64| (truth.abs() * share).max(least);
        self.within(figure, dyno, low - room(low), high + room(high));
    }
}

/// All checks by figure and source, and those that do not hold.
pub fn table(checks: &[Check], broken: &[(String, String)]) -> Result<String> {
    let mut figures: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for check in checks {
        let (all, missed) = figures.entry((check.figure, check.against)).or_default();
        *all += 1;
        *missed += usize::from(!check.holds());
    }
    let mut text = "| figure | checked against | checks | misses |\n|---|---|---|---|\n".to_owned();
    for ((figure, against), (all, missed)) in &figures {
        writeln!(text, "| {figure} | {against} | {all} | {missed} |")?;
    }
    let misses: Vec<&Check> = checks.iter().filter(|check| !check.holds()).collect();
    writeln!(text, "\n{} checks, {} misses.", checks.len(), misses.len())?;
    if !misses.is_empty() {
        text += "\n| case | figure | against | dyno | true from | to |\n|---|---|---|---|---|---|\n";
    }
    for check in misses {
        let Check {
            case,
            figure,
            against,
            dyno,
            low,
            high,
        } = check;
        writeln!(
            text,
            "| {case} | {figure} | {against} | {dyno:.3} | {low:.3} | {high:.3} |"
        )?;
    }
    for (case, why) in broken {
        writeln!(
            text,
            "\n{case} could not be run: {}",
            why.lines().next().unwrap_or_default()
        )?;
    }
    Ok(text)
}

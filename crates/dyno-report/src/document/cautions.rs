//! What to keep in mind, said once: the warnings of all runs, and what is missing.

use super::gravity::gravity_of;
use super::model::{Caution, Detail, Gravity};
use crate::campaign::reason;
use crate::figures::{count, counted, one_line, sentence};
use dyno_analysis::campaign_warnings;
use dyno_archive::summary::Warning;
use dyno_archive::{Campaign, Run, RunState};
use indexmap::IndexMap;

/// Names of runs are listed up to this many.
const MOST_NAMES: usize = 3;

/// A warning by its wording, with the runs that have it.
#[derive(Default)]
struct Said {
    /// What stands before, between and behind its figures.
    words: Vec<String>,
    /// Each of its figures over all runs.
    figures: Vec<Figure>,
    runs: Vec<String>,
    detail: Detail,
    gravity: Gravity,
}

/// A figure as it was written, and as a number.
type Written = (String, f64);

/// A figure of a warning, over all runs that have it.
enum Figure {
    /// A quantity, from its least to its greatest.
    Quantity([Written; 2]),
    /// A setting's values, each once: between them there may be none, so a range would say more than was measured.
    Setting(Vec<Written>),
}

/// Gathers warnings.
#[derive(Default)]
pub(crate) struct Cautions {
    general: Vec<Caution>,
    said: IndexMap<Vec<String>, Said>,
    runs: usize,
}

impl Cautions {
    /// Adds what `campaign` as a whole gives reason for. Its name is said where it is one of `several`.
    pub fn campaign(&mut self, campaign: &Campaign, several: bool) {
        self.plan(campaign);
        let name = campaign.name();
        let subject = if several { name.as_str() } else { "" };
        if let Ok(record) = &campaign.record {
            let missing = record.runs.len().saturating_sub(campaign.runs.len());
            let of = counted(record.runs.len() as u64, "run");
            if missing > 0 && campaign.is_under_way() {
                self.general(
                    subject,
                    Gravity::Uncertain,
                    &format!("The campaign is still running: {missing} of {of} to come."),
                );
            } else if missing > 0 {
                self.general(
                    subject,
                    Gravity::Uncertain,
                    &format!("{missing} of {of} are not measured yet; continue with: dyno run --resume {name}"),
                );
            }
        }
        if campaign.runs.is_empty() {
            self.general(subject, Gravity::Void, "The campaign contains no run.");
        }
        for warning in campaign_warnings(campaign) {
            self.general(subject, gravity_of(&warning), &warning.to_string());
        }
    }

    /// Says if the plan of `campaign` cannot be read, and what it has left on servers.
    pub fn plan(&mut self, campaign: &Campaign) {
        for server in campaign.unrestored() {
            let text = format!(
                "The settings that the campaign changed on {server} were not restored; the next dyno run there \
                 restores them."
            );
            self.general("", Gravity::Note, &text);
        }
        if let Err(error) = &campaign.record {
            self.general(
                &campaign.name(),
                Gravity::Void,
                &format!("The campaign's plan cannot be read: {error}"),
            );
        }
    }

    fn general(&mut self, subject: &str, gravity: Gravity, text: &str) {
        self.general.push(Caution {
            subject: subject.to_owned(),
            text: one_line(text),
            detail: Detail::Brief,
            gravity,
        });
    }

    /// Adds the `warnings` of `run`, and what its state gives reason for, which headlines and lists of runs say too.
    pub fn run<'w>(&mut self, run: &Run, name: &str, warnings: impl IntoIterator<Item = &'w Warning>) {
        self.runs += 1;
        for Caution {
            text, detail, gravity, ..
        } in of_run(run, warnings)
        {
            self.say(name, detail, gravity, text);
        }
    }

    /// Adds what is to be said of a run that is called `name`, whatever its state.
    pub fn events(&mut self, name: &str, events: impl IntoIterator<Item = String>) {
        self.runs += 1;
        events
            .into_iter()
            .for_each(|text| self.say(name, Detail::Brief, Gravity::Note, text));
    }

    fn say(&mut self, run: &str, detail: Detail, gravity: Gravity, text: String) {
        // The same words with other figures are the same warning.
        let (words, figures) = apart(&one_line(&text));
        let begun = words.iter().zip(&figures);
        let begun = begun.map(|(before, figure)| Figure::new(before, figure)).collect();
        let said = self.said.entry(words.clone()).or_insert_with(|| Said {
            words,
            figures: begun,
            runs: Vec::new(),
            detail,
            gravity,
        });
        for (all, figure) in said.figures.iter_mut().zip(figures) {
            all.add(figure);
        }
        if said.runs.last().is_none_or(|last| last != run) {
            said.runs.push(run.to_owned());
        }
    }

    /// Those of whole campaigns, which their cells are to be read with.
    pub fn of_campaigns(&self) -> Vec<String> {
        let of = |Caution { subject, text, .. }: &Caution| match subject.as_str() {
            "" => text.clone(),
            subject => format!("{subject}: {text}"),
        };
        self.general.iter().map(of).collect()
    }

    /// All of them: the gravest first, of those alike what whole campaigns have, then what most runs have.
    pub fn all(self) -> Vec<Caution> {
        let runs = self.runs;
        let mut said: Vec<Said> = self.said.into_values().collect();
        said.sort_by_key(|said| std::cmp::Reverse(said.runs.len()));
        let of_runs = said.into_iter().map(|said| {
            let number = said.runs.len();
            let subject = match number {
                _ if runs == 1 => said.runs.concat(),
                2 if runs == 2 => "both runs".to_owned(),
                _ if number == runs => format!("all {} runs", count(runs as u64)),
                ..=MOST_NAMES => said.runs.join(", "),
                _ => format!(
                    "{} of {} runs, the first {}",
                    count(number as u64),
                    count(runs as u64),
                    said.runs[0]
                ),
            };
            Caution {
                subject,
                text: said.text(),
                detail: said.detail,
                gravity: said.gravity,
            }
        });
        let mut all: Vec<Caution> = self.general.into_iter().chain(of_runs).collect();
        all.sort_by_key(|caution| caution.gravity);
        all
    }
}

/// What the state of `run` gives reason for, and its `warnings`.
pub(super) fn of_run<'w>(run: &Run, warnings: impl IntoIterator<Item = &'w Warning>) -> Vec<Caution> {
    let of = |detail, gravity, text: String| Caution {
        subject: String::new(),
        text: one_line(&text),
        detail,
        gravity,
    };
    let unread = run.record.as_ref().err();
    let unread = unread.map(|error| {
        let text = format!("The run's record cannot be read: {error}");
        of(Detail::Brief, Gravity::Void, text)
    });
    let failure = run.record.as_ref().ok().and_then(|record| record.failure.as_deref());
    let state = match run.state {
        RunState::Failed => Some(format!(
            "The run failed: {}",
            failure.unwrap_or("the reason is not known")
        )),
        RunState::Running => Some("The run is in progress: its figures are preliminary.".to_owned()),
        RunState::Incomplete => Some(format!(
            "The run is not complete ({}); it is excluded from comparisons.",
            failure.unwrap_or("dyno was terminated")
        )),
        RunState::Faulty => Some(format!(
            "The run is excluded from comparisons: {}",
            sentence(&reason(run))
        )),
        RunState::Complete => None,
    };
    let state = state.map(|text| of(Detail::Full, Gravity::Void, text));
    let warnings = warnings
        .into_iter()
        .map(|warning| of(Detail::Brief, gravity_of(warning), warning.to_string()));
    unread.into_iter().chain(state).chain(warnings).collect()
}

impl Said {
    /// The warning, with all that its figures were.
    fn text(&self) -> String {
        let figures = self.figures.iter().map(Figure::text).chain([String::new()]);
        self.words
            .iter()
            .cloned()
            .zip(figures)
            .map(|(words, figure)| words + &figure)
            .collect()
    }
}

impl Figure {
    /// One behind these words, in a first run.
    fn new(before: &str, figure: &Written) -> Self {
        match before.ends_with(" = ") {
            true => Self::Setting(vec![figure.clone()]),
            false => Self::Quantity([figure.clone(), figure.clone()]),
        }
    }

    /// Adds what it is in another run.
    fn add(&mut self, figure: Written) {
        match self {
            Self::Quantity([least, _]) if figure.1 < least.1 => *least = figure,
            Self::Quantity([_, greatest]) if figure.1 > greatest.1 => *greatest = figure,
            Self::Setting(values) if !values.contains(&figure) => values.push(figure),
            Self::Quantity(_) | Self::Setting(_) => {}
        }
    }

    /// The range of a quantity that is not the same in all runs, or all values of a setting.
    fn text(&self) -> String {
        match self {
            Self::Quantity([(least, low), (_, high)]) if low == high => least.clone(),
            Self::Quantity([(least, _), (greatest, _)]) => format!("{least}–{greatest}"),
            Self::Setting(values) => {
                let mut values = values.clone();
                values.sort_by(|(_, one), (_, other)| one.total_cmp(other));
                let texts: Vec<_> = values.iter().map(|(text, _)| text.as_str()).collect();
                match texts.split_last() {
                    Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
                    _ => texts.concat(),
                }
            }
        }
    }
}

/// Takes the figures out of a text: numbers that stand by themselves, and neither are part of a name, such as `tbl2`,
/// nor a code, whose digits are not grouped.
fn apart(text: &str) -> (Vec<String>, Vec<(String, f64)>) {
    const LONGEST_UNGROUPED: usize = 3;
    let (mut words, mut figures) = (vec![String::new()], Vec::new());
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let inside = |character: char| character.is_ascii_digit() || ".,".contains(character);
        let end = rest.find(|character| !inside(character)).unwrap_or(rest.len());
        let digits = rest[..end].trim_end_matches(['.', ',']);
        let after = rest[digits.len()..].chars().next().unwrap_or(' ');
        let whole = digits.split('.').next().unwrap_or_default();
        let alone =
            (before.is_whitespace() || "(<".contains(before)) && (after.is_whitespace() || ".,;:)%/".contains(after));
        let number = digits.replace(',', "").parse().ok();
        let figure = first.is_ascii_digit() && alone && (whole.contains(',') || whole.len() <= LONGEST_UNGROUPED);
        let taken = if let Some(number) = number.filter(|_| figure) {
            figures.push((digits.to_owned(), number));
            words.push(String::new());
            digits
        } else {
            // A number that is part of a name is taken as a whole.
            let taken = &rest[..end.max(first.len_utf8())];
            if let Some(last) = words.last_mut() {
                last.push_str(taken);
            }
            taken
        };
        before = taken.chars().next_back().unwrap_or(before);
        rest = &rest[taken.len()..];
    }
    (words, figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_said_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("intervals.csv"), "").unwrap();
        let mut run = Run::read(folder.path().to_owned()).unwrap();
        run.state = RunState::Complete;
        let mut cautions = Cautions::default();
        for number in 1..=5 {
            let name = format!("{number:03}-rep1");
            let note = |text: String| Warning::Note { text };
            let warnings = [note(format!("TPS varies by {number}.5 %")), note("a\nb".to_owned())];
            cautions.run(&run, &name, warnings.iter().take(if number > 3 { 1 } else { 2 }));
        }
        let all: Vec<_> = cautions
            .all()
            .into_iter()
            .map(|caution| (caution.subject, caution.text))
            .collect();
        assert_eq!(all[1], ("all 5 runs".to_owned(), "TPS varies by 1.5–5.5 %".to_owned()));
        assert_eq!(all[2], ("001-rep1, 002-rep1, 003-rep1".to_owned(), "a b".to_owned()));
        assert!(all[0].1.starts_with("The run's record cannot be read: "));
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn the_gravest_is_first() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("intervals.csv"), "").unwrap();
        let mut run = Run::read(folder.path().to_owned()).unwrap();
        run.state = RunState::Incomplete;
        let mut cautions = Cautions::default();
        for name in ["001-rep1", "002-rep1"] {
            let few = Warning::FewIntervals {
                intervals: 5,
                interval_s: None,
            };
            let host = Warning::Steal { percent: 12.0 };
            cautions.run(
                &run,
                name,
                [&few, &host].into_iter().take(if name == "001-rep1" { 2 } else { 1 }),
            );
        }
        let all = cautions.all();
        let gravities: Vec<Gravity> = all.iter().map(|caution| caution.gravity).collect();
        assert_eq!(
            gravities,
            [Gravity::Void, Gravity::Void, Gravity::Biased, Gravity::Uncertain]
        );
        assert!(all[1].text.starts_with("The run is not complete"), "{all:?}");
    }

    #[test]
    fn of_figures_that_differ_the_range_is_told() {
        let told = |texts: &[&str]| -> Vec<String> {
            let mut cautions = Cautions::default();
            for (number, text) in texts.iter().enumerate() {
                cautions.events(&format!("run {number}"), [(*text).to_owned()]);
            }
            cautions.all().into_iter().map(|caution| caution.text).collect()
        };
        let missed = |reached: &str| format!("\"a1\" did {reached} of the 20,000 transactions/s asked for.");
        assert_eq!(
            told(&[&missed("12,345"), &missed("987.6"), &missed("19,000")]),
            ["\"a1\" did 987.6–19,000 of the 20,000 transactions/s asked for."]
        );
        assert_eq!(told(&["none of 2", "none of 2."]).len(), 2);
        // What is part of a name, or a code, is no figure.
        let names = ["lock on tbl1 (40001) with -T 120", "lock on tbl2 (40001) with -T 120"];
        assert_eq!(told(&names), names);
        assert_eq!(told(&["failed with 40001", "failed with 57014"]).len(), 2);
        assert_eq!(
            told(&["10.0.0.1:5432 in 3 s, 9 %", "10.0.0.1:5432 in 5 s, 9 %"]),
            ["10.0.0.1:5432 in 3–5 s, 9 %"]
        );
        assert_eq!(told(&["é 1,", "é 2,"]), ["é 1–2,"]);
    }

    #[test]
    fn of_settings_each_value_is_told() {
        let lost = |level: &str| Warning::NotDurable {
            settings: vec![
                format!("innodb_flush_log_at_trx_commit = {level}"),
                "sync_binlog = 0".to_owned(),
            ],
        };
        let mut cautions = Cautions::default();
        for (number, level) in ["2", "0", "2"].into_iter().enumerate() {
            cautions.events(&format!("run {number}"), [lost(level).to_string()]);
        }
        let told = cautions.all().remove(0).text;
        assert!(
            told.contains("(innodb_flush_log_at_trx_commit = 0 and 2, sync_binlog = 0)"),
            "{told}"
        );
    }
}

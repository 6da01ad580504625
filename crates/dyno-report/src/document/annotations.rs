//! What all timelines of a run have in common: the stretch of time, its phases, its dips, and what happened meanwhile.

use super::culprit::culprit;
use super::model::{Lane, Mark, MarkKind, Span, SpanKind, Timeline};
use super::series::rounded_s;
use crate::figures::{count, counted, decimal, one_line};
use dyno_archive::analysis::{Cause, Dip};
use dyno_archive::plan::{MEASURE, WARMUP};
use dyno_archive::{EventKind, EventRecord, PhaseRecord};
use dyno_record::{Checkpoint, Stalled, Who};

/// More marks of a kind cannot be told apart; neighbours are drawn as one.
const MOST_MARKS: usize = 300;

/// The annotations of a run's timelines. Events are added as they come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    group: String,
    interval_s: f64,
    end_s: f64,
    phases: Vec<Span>,
    dips: Vec<Span>,
    marks: Vec<Mark>,
    errors: Vec<Errors>,
}

/// Intervals next to each other in which transactions failed.
#[derive(Clone, Debug, PartialEq)]
struct Errors {
    start_s: f64,
    end_s: f64,
    count: u64,
    example: String,
}

impl Annotations {
    /// For the run `group` with intervals of `interval_s` that ends after `end_s` seconds.
    #[must_use]
    pub fn new(group: impl Into<String>, interval_s: f64, end_s: f64) -> Self {
        Self {
            group: group.into(),
            interval_s,
            end_s,
            ..Self::default()
        }
    }

    /// The run's name.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Where the axis ends, in seconds since the load began.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        self.end_s
    }

    /// When the measurement began, in seconds since the load began.
    #[must_use]
    pub fn measured_from_s(&self) -> f64 {
        let warmup = self.phases.iter().filter(|span| span.kind == SpanKind::Warmup);
        warmup.map(|span| span.end_s).fold(0.0, f64::max)
    }

    /// Sets the phases, as they were or as they are planned.
    pub fn set_phases(&mut self, phases: &[PhaseRecord]) {
        self.phases.clear();
        let mut next_s = 0.0;
        for phase in phases {
            let start_s = phase.start_s.unwrap_or(next_s);
            let planned_s = phase.planned_s.map(|planned_s| start_s + planned_s);
            let end_s = phase.end_s.or(planned_s).unwrap_or(self.end_s);
            next_s = end_s;
            let (kind, label) = match phase.name.as_str() {
                MEASURE => continue,
                WARMUP => (SpanKind::Warmup, "warm-up".to_owned()),
                stage => (SpanKind::Stage, one_line(stage)),
            };
            self.phases.push(span(kind, start_s, end_s, label));
        }
    }

    /// Sets the dips with their causes.
    pub fn set_dips(&mut self, dips: &[Dip]) {
        let label = |dip: &Dip| {
            let of = dip
                .workload
                .as_deref()
                .map_or_else(String::new, |name| one_line(name) + ": ");
            // There is no room for more than the name of who did it.
            let cause = culprit(dip).unwrap_or_else(|| cause_words(dip));
            format!("{of}{cause} ({} % lower)", decimal(dip.depth_percent, 0))
        };
        self.dips = dips
            .iter()
            .map(|dip| Span {
                weight: rounded_s(dip.depth_percent),
                ..span(SpanKind::Dip, dip.start_s, dip.end_s, label(dip))
            })
            .collect();
    }

    /// Adds what happened.
    pub fn push(&mut self, event: &EventRecord) {
        let at_s = event.at_s;
        let (kind, start_s, end_s, label) = match &event.kind {
            EventKind::Phase { .. } => return,
            EventKind::Errors { count, example, .. } => return self.failed(at_s, *count, example),
            EventKind::Checkpoint(checkpoint) => {
                let kind = match checkpoint.reason.as_str() {
                    "time" => MarkKind::TimedCheckpoint,
                    _ => MarkKind::RequestedCheckpoint,
                };
                let end_s = checkpoint.end_s.unwrap_or(self.end_s.max(checkpoint.start_s));
                (kind, checkpoint.start_s, Some(end_s), checkpoint_words(checkpoint))
            }
            EventKind::Autovacuum(work) => {
                let what = if work.analyze { "autoanalyze" } else { "autovacuum" };
                let label = format!("{what} of {}", work.table);
                (MarkKind::Vacuum, work.start_s, Some(work.end_s), label)
            }
            EventKind::Vacuum(work) => {
                let label = format!("vacuum of {}", work.table);
                (MarkKind::Vacuum, work.start_s, Some(work.end_s), label)
            }
            EventKind::Blocked(blocked) => {
                let holder = blocked.holder.as_deref().unwrap_or("one of the measured sessions");
                let of = blocked
                    .relation
                    .as_ref()
                    .map_or_else(String::new, |relation| format!(" of {relation}"));
                let waiting = counted(blocked.waiting, "session");
                let lock = blocked.lock.as_deref().unwrap_or("lock");
                let label = format!("{waiting} waited for a {lock}{of} held by {holder}");
                (MarkKind::Blocked, blocked.start_s, Some(blocked.end_s), label)
            }
            EventKind::Stalled(Stalled {
                who,
                start_s,
                end_s,
                detail,
                ..
            }) => {
                let who = match who {
                    Who::Dyno => "dyno",
                    Who::Server => "the server",
                };
                let label = format!("{who} stalled: {detail}");
                (MarkKind::Stalled, *start_s, Some(*end_s), label)
            }
            EventKind::Aborted {
                workload,
                client,
                reason,
            } => {
                let label = format!("client {client} of {workload} ended: {reason}");
                (MarkKind::Errors, at_s, None, label)
            }
            EventKind::Reconnected {
                workload,
                client,
                after_s,
            } => {
                let label = format!(
                    "client {client} of {workload} was disconnected for {} s",
                    decimal(*after_s, 1)
                );
                (MarkKind::Errors, at_s - after_s, Some(at_s), label)
            }
            EventKind::Note { text } => (MarkKind::Note, at_s, None, text.clone()),
        };
        self.marks.push(Mark {
            kind,
            start_s: rounded_s(start_s.max(0.0)),
            end_s: end_s.map(rounded_s),
            label: one_line(&label),
        });
    }

    fn failed(&mut self, end_s: f64, count: u64, example: &str) {
        let start_s = (end_s - self.interval_s).max(0.0);
        match self.errors.last_mut() {
            // Failures of intervals next to each other are one trouble.
            Some(last) if start_s <= last.end_s + 1.5 * self.interval_s => {
                last.end_s = last.end_s.max(end_s);
                last.count = last.count.saturating_add(count);
            }
            _ => self.errors.push(Errors {
                start_s,
                end_s,
                count,
                example: one_line(example),
            }),
        }
    }

    /// All that happened.
    #[must_use]
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let errors = self.errors.iter().map(|errors| Mark {
            kind: MarkKind::Errors,
            start_s: rounded_s(errors.start_s),
            end_s: Some(rounded_s(errors.end_s)),
            label: format!("{} failed: {}", counted(errors.count, "transaction"), errors.example),
        });
        let all: Vec<Mark> = self.marks.iter().cloned().chain(errors).collect();
        for kind in KINDS {
            let mut of_kind: Vec<Mark> = all.iter().filter(|mark| mark.kind == kind).cloned().collect();
            of_kind.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
            marks.extend(joined(of_kind));
        }
        marks
    }

    /// What is worth saying of it in a caption: how many dips by which cause, and how many of each mark.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        if !self.dips.is_empty() {
            let mut causes: indexmap::IndexMap<&str, u64> = indexmap::IndexMap::new();
            for dip in &self.dips {
                let cause = dip
                    .label
                    .split_once(" (")
                    .map_or(dip.label.as_str(), |(cause, _)| cause);
                *causes.entry(cause).or_default() += 1;
            }
            let causes: Vec<_> = causes
                .iter()
                .map(|(cause, number)| format!("{} × {cause}", count(*number)))
                .collect();
            parts.push(format!(
                "{} ({})",
                counted(self.dips.len() as u64, "dip"),
                causes.join(", ")
            ));
        }
        let number = |kinds: &[MarkKind]| self.marks.iter().filter(|mark| kinds.contains(&mark.kind)).count() as u64;
        let checkpoints = number(&[MarkKind::TimedCheckpoint, MarkKind::RequestedCheckpoint]);
        let kinds = [
            (checkpoints, "checkpoint"),
            (number(&[MarkKind::Vacuum]), "vacuum"),
            (number(&[MarkKind::Blocked]), "lock wait"),
            (number(&[MarkKind::Stalled]), "stall"),
        ];
        parts.extend(
            kinds
                .into_iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, what)| counted(number, what)),
        );
        parts.join(", ")
    }

    /// A timeline with these lanes.
    #[must_use]
    pub fn timeline(&self, lanes: Vec<Lane>) -> Timeline {
        Timeline {
            group: self.group.clone(),
            start_s: 0.0,
            end_s: rounded_s(self.end_s),
            lanes,
            spans: self.phases.iter().chain(&self.dips).cloned().collect(),
            marks: self.marks(),
            names: Vec::new(),
        }
    }
}

const KINDS: [MarkKind; 7] = [
    MarkKind::TimedCheckpoint,
    MarkKind::RequestedCheckpoint,
    MarkKind::Vacuum,
    MarkKind::Blocked,
    MarkKind::Stalled,
    MarkKind::Errors,
    MarkKind::Note,
];

/// What a dip came from; also if that is not known, it is clear what is meant.
pub(super) fn cause_words(dip: &Dip) -> String {
    if let Some(holder) = culprit(dip) {
        return format!("a lock held by {holder}");
    }
    match dip.cause {
        Cause::Unknown => "unknown cause".to_owned(),
        cause => cause.to_string(),
    }
}

fn span(kind: SpanKind, start_s: f64, end_s: f64, label: String) -> Span {
    Span {
        kind,
        start_s: rounded_s(start_s),
        end_s: rounded_s(end_s),
        label,
        weight: 100.0,
    }
}

/// What is known of a checkpoint.
fn checkpoint_words(checkpoint: &Checkpoint) -> String {
    let reason = match checkpoint.reason.as_str() {
        "time" => "by time".to_owned(),
        "wal" => "by WAL volume".to_owned(),
        other => one_line(other),
    };
    let mut details = Vec::new();
    let seconds = [("write", checkpoint.write_s), ("sync", checkpoint.sync_s)];
    details.extend(
        seconds
            .into_iter()
            .filter_map(|(what, s)| Some(format!("{what} {} s", decimal(s?, 1)))),
    );
    details.extend(checkpoint.buffers.map(|buffers| counted(buffers, "buffer")));
    if checkpoint.end_s.is_none() {
        details.push("unfinished at the end".to_owned());
    }
    let colon = if details.is_empty() { "" } else { ": " };
    format!("checkpoint {reason}{colon}{}", details.join(", "))
}

/// Marks of one kind in order of time, neighbours joined until there are few enough.
fn joined(mut marks: Vec<Mark>) -> Vec<Mark> {
    let by = marks.len().div_ceil(MOST_MARKS);
    if by <= 1 {
        return marks;
    }
    marks = marks
        .chunks(by)
        .map(|chunk| {
            let ends = chunk.iter().map(|mark| mark.end_s.unwrap_or(mark.start_s));
            Mark {
                end_s: Some(ends.fold(chunk[0].start_s, f64::max)),
                label: format!(
                    "{} in this period, the first: {}",
                    count(chunk.len() as u64),
                    chunk[0].label
                ),
                ..chunk[0].clone()
            }
        })
        .collect();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Autovacuum;

    fn event(at_s: f64, kind: EventKind) -> EventRecord {
        EventRecord { at_s, kind }
    }

    fn errors(at_s: f64) -> EventRecord {
        event(
            at_s,
            EventKind::Errors {
                phase: MEASURE.to_owned(),
                workload: "w".to_owned(),
                sqlstate: "40P01".to_owned(),
                count: 2,
                example: "deadlock\n<b>".to_owned(),
            },
        )
    }

    #[test]
    fn failures_next_to_each_other_are_one_mark() {
        let mut annotations = Annotations::new("r", 1.0, 60.0);
        [5.0, 6.0, 7.0, 20.0]
            .into_iter()
            .for_each(|at_s| annotations.push(&errors(at_s)));
        let marks = annotations.marks();
        assert_eq!(marks.len(), 2);
        assert_eq!((marks[0].start_s, marks[0].end_s), (4.0, Some(7.0)));
        assert_eq!(marks[0].label, "6 transactions failed: deadlock <b>");
    }

    #[test]
    fn checkpoints_say_what_is_known_of_them() {
        let mut annotations = Annotations::new("r", 1.0, 60.0);
        let checkpoint = Checkpoint {
            reason: "time".to_owned(),
            start_s: -3.0,
            end_s: None,
            write_s: Some(26.94),
            ..Checkpoint::default()
        };
        annotations.push(&event(-3.0, EventKind::Checkpoint(checkpoint)));
        let marks = annotations.marks();
        assert_eq!(
            (marks[0].kind, marks[0].start_s, marks[0].end_s),
            (MarkKind::TimedCheckpoint, 0.0, Some(60.0))
        );
        assert_eq!(
            marks[0].label,
            "checkpoint by time: write 26.9 s, unfinished at the end"
        );
        assert_eq!(annotations.words(), "1 checkpoint");
    }

    #[test]
    fn too_many_marks_are_joined_and_none_is_lost() {
        let mut annotations = Annotations::new("r", 1.0, 10_000.0);
        for second in 0..1_000 {
            let start_s = f64::from(second) * 10.0;
            let work = Autovacuum {
                table: "public.tbl".to_owned(),
                start_s,
                end_s: start_s + 1.0,
                analyze: false,
            };
            annotations.push(&event(start_s, EventKind::Autovacuum(work)));
        }
        let marks = annotations.marks();
        assert_eq!(marks.len(), 250);
        assert_eq!((marks[0].start_s, marks[249].end_s), (0.0, Some(9_991.0)));
        assert_eq!(marks[0].label, "4 in this period, the first: autovacuum of public.tbl");
        assert_eq!(annotations.words(), "1,000 vacuums");
    }

    #[test]
    fn phases_are_shaded_as_planned_until_they_are_over() {
        let phase = |name: &str, planned_s, start_s, end_s| PhaseRecord {
            name: name.to_owned(),
            planned_s,
            start_s,
            end_s,
        };
        let mut annotations = Annotations::new("r", 1.0, 40.0);
        let phases = [
            phase(WARMUP, Some(5.0), Some(0.0), Some(5.1)),
            phase("ramp", Some(10.0), Some(5.1), None),
            phase("hold", Some(20.0), None, None),
        ];
        annotations.set_phases(&phases);
        let spans = annotations.timeline(Vec::new()).spans;
        let times: Vec<_> = spans
            .iter()
            .map(|span| (span.label.as_str(), span.start_s, span.end_s))
            .collect();
        assert_eq!(
            times,
            [("warm-up", 0.0, 5.1), ("ramp", 5.1, 15.1), ("hold", 15.1, 35.1)]
        );
        assert_eq!(annotations.measured_from_s(), 5.1);
    }
}

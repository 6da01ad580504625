//! Two cells or more measured beside each other, until it is known of each whether it does more than the first.
//!
//! In turn, as one load: all servers are up and all clients connected, and the load goes to one side or another, in
//! slices of half a second or so; or to all at once. What one side did in its slices is kept as a run of its own, with
//! intervals of what counts of each slice, so that everything that reads runs reads these. What they say about each
//! other is kept beside them. What cannot be up at once is measured by runs, one after the other.

mod by_runs;
mod differences;
mod idle;
mod judge;
mod length;
mod memory;
mod sequence;
mod together;

pub(super) use by_runs::{OfRuns, block_of, known as known_of_runs};
pub(super) use differences::{is_alike, notes};
pub(super) use idle::folder_of;
pub use together::{compared, ordered};
pub(super) use together::{one, prepared};

use super::{Progress, Recorder};
use dyno_archive::plan::{Cell, Levels, Plan};
use dyno_archive::{Block, Measure, Turns, Versus, Way};
use dyno_engine::{ClientEvent, Connected, Ending, Found, Observer, Outcome, Span, Stage, Steering};
use dyno_load::LoadPlan;
use dyno_record::{Interval, LatencyHistogram};
use idle::Idle;
use judge::{Done, Judge};
use length::Length;
use sequence::{Place, Sequence};
use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long slices are at first.
pub const SLICE: Duration = Duration::from_millis(500);

/// Which difference matters, if nobody says.
pub const DETECT: f64 = 0.03;

/// How long is measured at most, if nobody says.
pub const AT_MOST: Duration = Duration::from_secs(600);

/// With more variants a block takes long, and all their servers have to be up.
const MOST: usize = 8;

/// Why two cells cannot be measured in turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnsError {
    /// Several factors are varied.
    #[error(
        "the variants that are measured in turn differ in one factor, but {} make {cells} cells: give every other \
         factor one value; several things that are to differ together can be the levels of one factor \
         ([factors.profile] in the file)",
        factors.join(" and ")
    )]
    Several {
        /// How many.
        cells: usize,
        /// What makes them: `the 3 values of clients`.
        factors: Vec<String>,
    },
    /// There is only one, or there are two that are the same.
    #[error(
        "nothing differs, so there are no two variants: give one factor two different values, such as --set \
         target=embedded:17,embedded:18. To measure something against itself, vary a parameter that nothing uses"
    )]
    Alike,
    /// Two of several are the same.
    #[error("{one} and {other} are the same in everything that is measured: leave one out")]
    Equal {
        /// The levels of the one.
        one: String,
        /// The levels of the other.
        other: String,
    },
    /// They cannot be up at once, or not be compared in slices.
    #[error("the variants cannot be measured at the same time: {why}")]
    NotAtOnce {
        /// What is in the way, as a sentence without its full stop.
        why: String,
    },
    /// There are too many.
    #[error("at most {MOST} variants are measured in turn, and these are {cells}: leave out some values")]
    TooMany {
        /// How many.
        cells: usize,
    },
}

/// Which workloads of the load are those of each side: one side after the other.
#[derive(Clone, Debug)]
pub(super) struct Division(Vec<Range<usize>>);

impl Division {
    /// That of a plan in turns.
    pub fn of(plan: &Plan) -> Self {
        let each = plan.cells.iter().scan(0, |before, cell| {
            let begin = *before;
            *before += cell.experiment.workloads.len();
            Some(begin..*before)
        });
        Self(each.collect())
    }

    /// The workloads of a side.
    pub fn workloads(&self, side: usize) -> Range<usize> {
        self.0.get(side).cloned().unwrap_or_default()
    }

    /// Whose a workload is.
    fn side(&self, workload: usize) -> usize {
        let side = self.0.iter().position(|workloads| workloads.contains(&workload));
        side.unwrap_or_default()
    }

    /// What there is of a side among what there is of each workload.
    pub fn own<T: Clone>(&self, side: usize, all: &[T]) -> Vec<T> {
        let Range { start, end } = self.workloads(side);
        all.iter().take(end).skip(start).cloned().collect()
    }
}

/// Gives the workloads of `load` their turns.
pub(super) fn take_turns(load: &mut LoadPlan, division: &Division, warmup: Duration, turns: &Turns, sequence: &Order) {
    // All warm up, in turn as well.
    let warm = (warmup.as_nanos() / turns.slice.as_nanos().max(1)) as usize;
    let sides = sequence.0.sides();
    let at_once = turns.way == Way::AtOnce;
    for (index, workload) in load.workloads.iter_mut().enumerate() {
        let own = division.side(index);
        let warm = (0..warm).map(|slice| stage(turns.slice, at_once || slice % sides == own));
        workload.stages_begin = Duration::ZERO;
        workload.stages = warm.chain(sequence.stages(own, 0)).collect();
    }
    if let Some(measured) = load.phases.last_mut() {
        measured.duration = sequence.0.lasts();
    }
}

/// A slice, in which a side `works` or rests.
fn stage(duration: Duration, works: bool) -> Stage {
    Stage {
        duration,
        clients: (!works).then_some(Span { from: 0.0, to: 0.0 }),
        rate_per_s: None,
    }
}

/// Whose turn it is when.
pub(super) struct Order(Sequence);

impl Order {
    /// That of a plan in turns, with this warm-up.
    pub fn of(plan: &Plan, turns: &Turns, warmup: Duration) -> Self {
        let measured = plan.cells.first().and_then(|cell| cell.experiment.measure);
        let measured = measured.unwrap_or_default();
        let sides = u8::try_from(plan.cells.len()).unwrap_or(u8::MAX);
        Self(match turns.way {
            Way::AtOnce => Sequence::at_once(warmup, turns.slice, measured, sides),
            _ => Sequence::new(warmup, turns.slice, measured, plan.seed, sides),
        })
    }

    /// What a side does in each slice from this one on.
    fn stages(&self, own: usize, from: usize) -> impl Iterator<Item = Stage> {
        (from..self.0.slices()).map(move |slice| stage(self.0.length(slice), self.0.works(slice, own)))
    }
}

/// The factors in which cells differ, each with how many levels it has among them. A cell that was included may have
/// one of its own.
fn varied(cells: &[Cell]) -> Vec<(&str, usize)> {
    let factors = cells.first().into_iter().flat_map(|cell| cell.levels.keys());
    let count = |factor: &String| {
        let levels: HashSet<_> = cells.iter().map(|cell| cell.levels.get(factor)).collect();
        levels.len()
    };
    let counted = factors.map(|factor| (factor.as_str(), count(factor)));
    counted.filter(|(_, levels)| *levels > 1).collect()
}

/// That one factor; `None` if there are several.
fn only_varied(cells: &[Cell]) -> Option<&str> {
    match varied(cells)[..] {
        [(factor, _)] => Some(factor),
        _ => None,
    }
}

/// Told after each block what is known, and when it ended; says whether that is enough.
pub(super) type Watch<'a> = dyn FnMut(&Versus, Duration) -> ControlFlow<()> + 'a;

/// Sees the load, and lets each side's recorder see what is its own.
pub(super) struct Sides<'a, 'b> {
    recorders: Vec<&'a mut Recorder<'b>>,
    division: Division,
    order: Order,
    judge: Judge,
    /// Which slice is under way, and what each side did so far in it that works.
    under_way: (usize, Vec<Option<Interval>>),
    /// How long slices have to be, with the transactions of the parts of the slice under way; `None`: as they are.
    length: Option<(Length, Vec<u64>)>,
    steering: Option<Arc<Steering>>,
    /// What watches the server whose turn it is not; `None`: that is not known.
    idle: Option<Idle>,
    notes: Vec<String>,
    /// Whether it is known what was asked, or the last of longer slices is over: what comes then is the load's end.
    is_over: bool,
    watch: &'a mut Watch<'a>,
    /// What differs, and the levels of each.
    factor: String,
    levels: Vec<Levels>,
}

impl<'a, 'b> Sides<'a, 'b> {
    /// Nothing seen yet.
    pub fn new(
        plan: &'a Plan,
        turns: &Turns,
        order: Order,
        recorders: Vec<&'a mut Recorder<'b>>,
        watch: &'a mut Watch<'a>,
    ) -> Self {
        let first = plan.cells.first().map_or(&[][..], |cell| &cell.experiment.workloads);
        let open = first.iter().all(|workload| workload.rate_per_s.is_some());
        let judge = Judge::new(turns.detect, order.0.clone(), open);
        let levels: Vec<Levels> = plan.cells.iter().map(|cell| cell.levels.clone()).collect();
        let factor = only_varied(&plan.cells).unwrap_or_default().to_owned();
        let length = turns.may_grow.then(|| (Length::new(levels.len()), Vec::new()));
        Self {
            recorders,
            division: Division::of(plan),
            order,
            judge,
            under_way: (0, vec![None; levels.len()]),
            length,
            steering: turns.may_grow.then(Arc::default),
            idle: None,
            notes: Vec::new(),
            is_over: false,
            watch,
            factor,
            levels,
        }
    }

    /// The same, where each side has a server of its own on this machine: those at rest are watched. Their data is in
    /// these folders.
    pub fn watching(mut self, folders: &[Option<PathBuf>]) -> Self {
        self.idle = Idle::new(folders);
        self
    }

    /// What is known.
    pub fn versus(&self) -> Versus {
        let idle = self.idle.as_ref().and_then(Idle::said);
        Versus {
            notes: self.notes.iter().cloned().chain(idle).collect(),
            ..self.judge.versus(&self.factor, &self.levels)
        }
    }

    /// How that came about.
    pub fn blocks(&self) -> Vec<Block> {
        self.judge.blocks()
    }

    /// Whether that the load ends is its regular end: it is known what was asked, or there is no slice left.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends a slice: what counts of it is an interval of each side that worked in it.
    fn close(&mut self, slice: usize, end: Duration) -> ControlFlow<()> {
        let mut all = Vec::new();
        for side in 0..self.recorders.len() {
            let Some(interval) = self.under_way.1[side].take() else {
                continue;
            };
            self.recorders[side].interval(&interval)?;
            all.push(Done {
                side,
                figures: figures(&interval),
                idle_busy: self.idle.as_mut().and_then(|idle| idle.ends(side, interval.duration)),
            });
        }
        let is_block_over = self.judge.slice(slice, all, end);
        if slice + 1 == self.order.0.block() * judge::PILOTS {
            self.lengthen();
        }
        if !is_block_over {
            return ControlFlow::Continue(());
        }
        let versus = self.versus();
        let is_answered = (self.watch)(&versus, end).is_break();
        // Slices as planned end with the load.
        let is_last = self.order.0.longer_from().is_some() && slice + 1 == self.order.0.slices();
        self.is_over = is_last || is_answered;
        match self.is_over {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
        }
    }

    /// Takes a part of a slice in which this side works.
    fn part(&mut self, side: usize, place: Place, interval: &Interval) {
        let recordings = self.division.own(side, &interval.recordings);
        if let Some((length, parts)) = &mut self.length {
            parts.push(recordings.iter().map(|recording| recording.transactions).sum());
            if place.part == place.parts - 1 {
                length.add(side, &std::mem::take(parts));
            }
        }
        let cut = self.order.0.cut(place.parts);
        if place.part + 1 == cut
            && let Some(idle) = &mut self.idle
        {
            idle.begins(side);
        }
        if place.part < cut {
            return;
        }
        match &mut self.under_way.1[side] {
            Some(sum) => {
                sum.duration += interval.duration;
                for (sum, part) in sum.recordings.iter_mut().zip(&recordings) {
                    sum.add(part);
                }
            }
            none => {
                *none = Some(Interval {
                    recordings,
                    ..interval.clone()
                });
            }
        }
    }

    /// Lets the load go on with longer slices, if those so far show that it takes that.
    fn lengthen(&mut self) {
        let Some((length, _)) = self.length.take() else { return };
        let (Some(steering), (factor, Some(reason))) = (&self.steering, length.factor()) else {
            return;
        };
        // The block that has begun goes on as it does.
        let block = judge::PILOTS + 1;
        let Some(longer) = self.order.0.lengthened(block, factor) else {
            return;
        };
        let Some((from, slice)) = longer.longer_from() else {
            return;
        };
        self.notes
            .push(length::said(reason, longer.length(0), longer.length(slice)));
        self.judge.lengthen(longer.clone(), block, factor);
        self.order = Order(longer);
        let sides = (0..self.recorders.len()).flat_map(|side| self.division.workloads(side).map(move |_| side));
        let each = sides.map(|own| self.order.stages(own, slice).collect());
        steering.go_on(from, each.collect());
    }
}

/// What is compared of what a side did in an interval, in the order of [`Measure::ALL`].
fn figures(interval: &Interval) -> [f64; 4] {
    let mut latency = LatencyHistogram::default();
    let mut transactions = 0;
    for recording in &interval.recordings {
        transactions += recording.transactions;
        latency.add(&recording.latency);
    }
    let percentile = |percent| latency.percentile_ns(percent) as f64;
    Measure::ALL.map(|measure| match measure {
        Measure::Throughput => transactions as f64 / interval.duration.as_secs_f64(),
        Measure::P50 => percentile(50.0),
        Measure::P95 => percentile(95.0),
        Measure::P99 => percentile(99.0),
    })
}

impl Observer for Sides<'_, '_> {
    fn steering(&self) -> Option<Arc<Steering>> {
        self.steering.clone()
    }

    fn connected(&mut self, connected: &Connected) {
        for recorder in &mut self.recorders {
            recorder.connected(connected);
        }
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        if self.is_over {
            return ControlFlow::Continue(());
        }
        let Some(place) = self.order.0.place(interval.start) else {
            for side in 0..self.recorders.len() {
                let recordings = self.division.own(side, &interval.recordings);
                self.recorders[side].interval(&Interval {
                    recordings,
                    ..interval.clone()
                })?;
            }
            return ControlFlow::Continue(());
        };
        if self.under_way.0 != place.slice {
            self.under_way = (place.slice, vec![None; self.recorders.len()]);
        }
        let works = |side: &usize| self.order.0.works(place.slice, *side);
        let working: Vec<usize> = (0..self.recorders.len()).filter(works).collect();
        for side in working {
            self.part(side, place, interval);
        }
        match place.part == place.parts - 1 {
            true => self.close(place.slice, interval.start + interval.duration),
            false => ControlFlow::Continue(()),
        }
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        let side = self.division.side(workload);
        let workload = workload - self.division.workloads(side).start;
        self.recorders[side].statement(workload, place, found);
    }

    fn client_event(&mut self, event: &ClientEvent) {
        // A recorder passes over what is not its own.
        for recorder in &mut self.recorders {
            recorder.client_event(event);
        }
    }
}

/// How the load ended as one side has seen it: of its own workloads. That it was `known` which side does more is its
/// regular end.
pub(super) fn outcome_of(side: usize, division: &Division, known: bool, outcome: &Outcome) -> Outcome {
    Outcome {
        ended_early: match &outcome.ended_early {
            None => None,
            Some(_) if known => None,
            Some(Ending::Stopped) => Some(Ending::Stopped),
            // What it was is told as the reason.
            Some(_) => Some(Ending::Aborted),
        },
        unfinished: division.own(side, &outcome.unfinished),
        waited: division.own(side, &outcome.waited),
        last: division.own(side, &outcome.last),
        aborted: division.own(side, &outcome.aborted),
        connections: division.own(side, &outcome.connections),
        connection_time: division.own(side, &outcome.connection_time),
        measured: outcome.measured,
    }
}

/// Passes on what all recorders have to say to the one who watches; how the load goes on is told for all together.
pub(super) struct Quiet<'a, 'b>(pub &'a std::cell::RefCell<&'b mut dyn Progress>);

impl Progress for Quiet<'_, '_> {
    fn note(&mut self, text: &str) {
        self.0.borrow_mut().note(text);
    }

    fn asks(&mut self, text: &str) {
        self.0.borrow_mut().asks(text);
    }
}

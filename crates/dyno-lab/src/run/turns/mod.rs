//! Two cells measured in turn, as one load: both servers are up and all clients connected, and the load goes to one
//! side or the other, in slices of half a second or so, until it is known which of them does more.
//!
//! What one side did in its slices is kept as a run of its own, with intervals of what counts of each slice, so that
//! everything that reads runs reads these. What both say about each other is kept beside them.

mod differences;
mod idle;
mod judge;
mod length;
mod sequence;
mod together;

pub(super) use differences::notes;
pub use together::in_turns;
pub(super) use together::one;

use super::{Progress, Recorder};
use dyno_archive::plan::{Levels, Plan};
use dyno_archive::{Block, Turns, Verdict, Versus};
use dyno_engine::{ClientEvent, Connected, Ending, Found, Observer, Outcome, Span, Stage, Steering};
use dyno_load::LoadPlan;
use dyno_record::{Interval, Recording};
use idle::Idle;
use judge::{Done, Judge};
use length::Length;
use sequence::{CUT, PARTS, Sequence};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Why two cells cannot be measured in turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnsError {
    /// There is another number of them.
    #[error(
        "two variants are measured in turn, but {} make {cells}: give one factor two values and every other one; \
         several things that are to differ together can be the levels of one factor ([factors.profile] in the file)",
        factors.join(" and ")
    )]
    NotTwo {
        /// How many.
        cells: usize,
        /// What makes them: `the 3 values of clients`.
        factors: Vec<String>,
    },
    /// There is only one, or both are the same.
    #[error(
        "nothing differs, so there are no two variants: give one factor two different values, such as --set \
         target=embedded:17,embedded:18. To measure something against itself, vary a parameter that nothing uses"
    )]
    Alike,
    /// The experiment is none of which slices can be compared.
    #[error("this experiment cannot be measured in turn, because {why}; measure it with dyno run --repeat 5")]
    Unsuitable {
        /// What is in the way.
        why: &'static str,
    },
    /// Both would have to be on one server.
    #[error(
        "{address} cannot have two {what} at once, so the variants cannot be measured in turn: give each an address of \
         its own with --set target=…, or measure one after the other with dyno run --repeat 5"
    )]
    OneServer {
        /// The server, without passwords.
        address: String,
        /// What it cannot have twice.
        what: &'static str,
    },
    /// They cannot be up at once.
    #[error("the variants cannot be measured in turn: {cause}")]
    NotTogether {
        /// Why.
        cause: String,
    },
}

/// Gives the workloads of `load` their turns; those from `first_of_second` on are of the second side.
pub(super) fn take_turns(
    load: &mut LoadPlan,
    first_of_second: usize,
    warmup: Duration,
    turns: Turns,
    sequence: &Order,
) {
    // Both warm up, in turn as well.
    let warm = (warmup.as_nanos() / turns.slice.as_nanos().max(1)) as usize;
    for (index, workload) in load.workloads.iter_mut().enumerate() {
        let own = usize::from(index >= first_of_second);
        let warm = (0..warm).map(|slice| stage(turns.slice, slice % 2 == own));
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
    pub fn of(plan: &Plan, turns: Turns, warmup: Duration) -> Self {
        let measured = plan.cells.first().and_then(|cell| cell.experiment.measure);
        Self(Sequence::new(
            warmup,
            turns.slice,
            measured.unwrap_or_default(),
            plan.seed,
        ))
    }

    /// What a side does in each slice from this one on.
    fn stages(&self, own: usize, from: usize) -> impl Iterator<Item = Stage> {
        (from..self.0.slices()).map(move |slice| stage(self.0.length(slice), self.0.side(slice) == own))
    }
}

/// Sees the load, and lets each side's recorder see what is its own.
pub(super) struct Sides<'a, 'b> {
    recorders: [&'a mut Recorder<'b>; 2],
    /// How many workloads the first side has.
    first: usize,
    order: Order,
    judge: Judge,
    /// What the side whose turn it is did so far in the slice under way, and which slice that is.
    under_way: Option<(usize, Interval)>,
    /// How many workloads there are.
    workloads: usize,
    /// How long slices have to be, with the transactions of the parts of the slice under way; `None`: as they are.
    length: Option<(Length, Vec<u64>)>,
    steering: Option<Arc<Steering>>,
    /// What watches the server whose turn it is not; `None`: that is not known.
    idle: Option<Idle>,
    notes: Vec<String>,
    /// Whether the last of longer slices is over.
    is_over: bool,
    watch: &'a mut dyn FnMut(&Versus, Duration),
    /// Whether it goes on to the end, whatever is known.
    to_the_end: bool,
    /// What differs, and the levels of the two.
    factor: String,
    levels: [Levels; 2],
}

impl<'a, 'b> Sides<'a, 'b> {
    /// Nothing seen yet. `watch` is told what is known after each block, and how long the load has been measured.
    pub fn new(
        plan: &'a Plan,
        turns: Turns,
        order: Order,
        recorders: [&'a mut Recorder<'b>; 2],
        watch: &'a mut dyn FnMut(&Versus, Duration),
    ) -> Self {
        let workloads = |cell: usize| plan.cells.get(cell).map_or(&[][..], |cell| &cell.experiment.workloads);
        let open = workloads(0).iter().all(|workload| workload.rate_per_s.is_some());
        let judge = Judge::new(turns, order.0.clone(), open);
        let levels = [0, 1].map(|cell| plan.cells.get(cell).map(|cell| cell.levels.clone()).unwrap_or_default());
        let differs = levels[0]
            .iter()
            .find(|(name, level)| levels[1].get(*name) != Some(level));
        let factor = differs.map_or_else(String::new, |(name, _)| name.clone());
        Self {
            recorders,
            first: workloads(0).len(),
            order,
            judge,
            under_way: None,
            workloads: workloads(0).len() + workloads(1).len(),
            length: turns.may_grow.then(Default::default),
            steering: turns.may_grow.then(Arc::default),
            idle: None,
            notes: Vec::new(),
            is_over: false,
            watch,
            to_the_end: plan.screen.is_some(),
            factor,
            levels,
        }
    }

    /// The same, where each side has a server of its own on this machine: the one at rest is watched. Their data is in
    /// these folders.
    pub fn watching(mut self, folders: [Option<&Path>; 2]) -> Self {
        self.idle = Idle::new(folders);
        self
    }

    /// What is known, and how that came about.
    pub fn known(&self) -> (Versus, Vec<Block>) {
        let (mut versus, blocks) = self.judge.known(&self.factor, [&self.levels[0], &self.levels[1]]);
        let idle = self.idle.as_ref().and_then(Idle::said);
        versus.notes = self.notes.iter().cloned().chain(idle).collect();
        (versus, blocks)
    }

    /// Whether that the load ends is its regular end: it is known what was asked, or there is no slice left.
    pub fn is_over(&self) -> bool {
        self.is_over || self.judge.answer() != Verdict::Unknown
    }

    /// The recordings of one side.
    fn of(&self, side: usize, recordings: &[Recording]) -> Vec<Recording> {
        let (one, other) = recordings.split_at(self.first.min(recordings.len()));
        if side == 0 { one } else { other }.to_vec()
    }

    /// Ends a slice: what counts of it is an interval of its side.
    fn close(&mut self, slice: usize, interval: &Interval) -> ControlFlow<()> {
        let side = self.order.0.side(slice);
        self.recorders[side].interval(interval)?;
        let mut done = Done {
            time: interval.duration,
            idle_busy: self.idle.as_mut().and_then(|idle| idle.ends(side, interval.duration)),
            ..Done::default()
        };
        for recording in &interval.recordings {
            done.transactions += recording.transactions;
            done.latency.add(&recording.latency);
        }
        let end = interval.start + interval.duration;
        self.judge.slice(slice, &done, end);
        if slice + 1 == sequence::BLOCK * judge::PILOTS {
            self.lengthen();
        }
        // Slices as planned end with the load.
        self.is_over = self.order.0.longer_from().is_some() && slice + 1 == self.order.0.slices();
        if slice % sequence::BLOCK != sequence::BLOCK - 1 {
            return ControlFlow::Continue(());
        }
        let (versus, _) = self.known();
        (self.watch)(&versus, end);
        match self.is_over() && !self.to_the_end {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
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
        let each = (0..self.workloads).map(|workload| usize::from(workload >= self.first));
        let each = each.map(|own| self.order.stages(own, slice).collect());
        steering.go_on(from, each.collect());
    }
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
        let Some(place) = self.order.0.place(interval.start) else {
            // Behind the last slice the load only ends.
            if self.is_over {
                return ControlFlow::Continue(());
            }
            for side in 0..2 {
                let recordings = self.of(side, &interval.recordings);
                self.recorders[side].interval(&Interval {
                    recordings,
                    ..interval.clone()
                })?;
            }
            return ControlFlow::Continue(());
        };
        let recordings = self.of(place.side, &interval.recordings);
        if let Some((length, parts)) = &mut self.length {
            parts.push(recordings.iter().map(|recording| recording.transactions).sum());
            if place.part == place.parts - 1 {
                length.add(place.side, &std::mem::take(parts));
            }
        }
        let cut = place.parts / PARTS * CUT;
        if place.part + 1 == cut
            && let Some(idle) = &mut self.idle
        {
            idle.begins(place.side);
        }
        if place.part >= cut {
            match &mut self.under_way {
                Some((slice, sum)) if *slice == place.slice => {
                    sum.duration += interval.duration;
                    for (sum, part) in sum.recordings.iter_mut().zip(&recordings) {
                        sum.add(part);
                    }
                }
                other => {
                    *other = Some((
                        place.slice,
                        Interval {
                            recordings,
                            ..interval.clone()
                        },
                    ));
                }
            }
        }
        if place.part == place.parts - 1
            && let Some((slice, sum)) = self.under_way.take()
        {
            return self.close(slice, &sum);
        }
        ControlFlow::Continue(())
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        let (side, workload) = match workload.checked_sub(self.first) {
            Some(workload) => (1, workload),
            None => (0, workload),
        };
        self.recorders[side].statement(workload, place, found);
    }

    fn client_event(&mut self, event: &ClientEvent) {
        // A recorder passes over what is not its own.
        for recorder in &mut self.recorders {
            recorder.client_event(event);
        }
    }
}

/// How the load ended as one side has seen it: of its own workloads, the `first` ones or the others. That it was
/// `known` which side does more is its regular end.
pub(super) fn outcome_of(side: usize, first: usize, known: bool, outcome: &Outcome) -> Outcome {
    fn own<T: Clone>(side: usize, first: usize, all: &[T]) -> Vec<T> {
        let (one, other) = all.split_at(first.min(all.len()));
        if side == 0 { one } else { other }.to_vec()
    }
    Outcome {
        ended_early: match &outcome.ended_early {
            None => None,
            Some(_) if known => None,
            Some(Ending::Stopped) => Some(Ending::Stopped),
            // What it was is told as the reason.
            Some(_) => Some(Ending::Aborted),
        },
        unfinished: own(side, first, &outcome.unfinished),
        waited: own(side, first, &outcome.waited),
        last: own(side, first, &outcome.last),
        aborted: own(side, first, &outcome.aborted),
        connections: own(side, first, &outcome.connections),
        connection_time: own(side, first, &outcome.connection_time),
        measured: outcome.measured,
    }
}

/// Passes on what two recorders have to say to the one who watches; how the load goes on is told for both together.
pub(super) struct Quiet<'a, 'b>(pub &'a std::cell::RefCell<&'b mut dyn Progress>);

impl Progress for Quiet<'_, '_> {
    fn note(&mut self, text: &str) {
        self.0.borrow_mut().note(text);
    }

    fn asks(&mut self, text: &str) {
        self.0.borrow_mut().asks(text);
    }
}

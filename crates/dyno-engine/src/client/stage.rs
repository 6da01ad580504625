//! Clients become active, rest, and change between closed and open loop, as the start delay and the stages of their
//! workload want it, or whoever steers the load.

use super::Clients;
use super::state::Waiting;
use crate::backend::{Backend, Driver};
use crate::clock::duration_ns;
use crate::profile::{Change, Rules};
use crate::program::Scripted;

/// When clients begin their transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// On completion of the previous one: a closed loop.
    Completion,
    /// By the schedule: an open loop.
    Schedule,
    /// The open loop is over, but what was due in it and could not begin comes first. Nobody's transaction is
    /// forgotten.
    Arrears,
}

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// Makes the changes that are due.
    #[cold]
    pub(super) fn follow_course(&mut self, now_ns: u64) {
        while let Some(change) = self.changes.next_if(|change| change.at_ns <= now_ns) {
            self.change(change);
        }
        self.change_ns = self.changes.peek().map_or(u64::MAX, |change| change.at_ns);
    }

    /// Takes note of how the load is to go on.
    #[cold]
    pub(super) fn heed_steering(&mut self) {
        let Some(steering) = self.steering else { return };
        self.heeded = steering.changes();
        let Some((from, stages)) = steering.of(self.number) else {
            return;
        };
        let from_ns = self.phases_begin_ns.saturating_add(duration_ns(from));
        let profile = Rules::steered(self.workload, &stages).profile(self.part, from_ns, from_ns);
        // Until then everything goes on as it does.
        self.changes = profile.changes.into_iter().peekable();
        self.course = Some(profile.ramps);
        self.change_ns = from_ns;
    }

    fn change(&mut self, change: Change) {
        if let Some(ramps) = self.course.take() {
            self.schedule.begin_again(ramps);
        }
        let before = self.active;
        self.active = change.active;
        if change.active < before {
            self.idle.retain(|&index| index < change.active);
            self.runnable.retain(|&index| index < change.active);
        }
        let behind = self.pace != Pace::Completion && self.schedule.next_ns() < change.at_ns;
        self.keep_pace(match change.open {
            true => Pace::Schedule,
            false if behind => Pace::Arrears,
            false => Pace::Completion,
        });
        // One that is still in a transaction goes on by itself, and one that rests is in no queue.
        for index in before..change.active {
            if self.clients[index].waiting == Waiting::Turn {
                // It was free for what was due since, however late this thread is with the change.
                let free_ns = self.clients[index].free_ns.max(change.at_ns);
                self.line_up(index, free_ns);
            }
        }
    }

    /// Clients begin transactions in this way from now on.
    pub(super) fn keep_pace(&mut self, pace: Pace) {
        self.pace = pace;
        if pace == Pace::Completion {
            self.at_once = self.active;
            self.runnable.append(&mut self.idle);
        } else {
            self.at_once = 0;
            self.idle.append(&mut self.runnable);
        }
    }
}

//! What came of the search, from all that was seen.

use super::search::Search;
use super::step::Step;
use dyno_archive::{CapacityAnswer, CapacityStep, LimitedMeasure, LoadDimension, StepVerdict};

/// What keeps a rate from holding is taken for a lack of clients only if it is at least this part of what they do in a
/// closed loop.
const NEARLY_ALL: f64 = 0.9;

/// What was seen.
pub(super) struct Seen<'a> {
    pub search: &'a Search,
    pub over: LoadDimension,
    /// All that there are.
    pub clients: usize,
    /// All of them in a closed loop.
    pub closed: &'a Step,
    pub steps: &'a [CapacityStep],
}

impl Seen<'_> {
    /// What it says.
    pub fn answer(&self) -> CapacityAnswer {
        let holds_with_all = |holds: f64| self.over == LoadDimension::Clients && holds >= self.clients as f64;
        match (self.search.holds(), self.search.fails()) {
            _ if self.search.next().is_some() => CapacityAnswer::Unknown,
            _ if self.search.is_hopeless() => CapacityAnswer::Never,
            (Some(holds), None) if holds_with_all(holds) => CapacityAnswer::Clients,
            // Nothing between them could be decided, if they are not as near as was asked for.
            (Some(_), Some(fails)) => match self.clients_are_short(fails) {
                true => CapacityAnswer::Clients,
                false => CapacityAnswer::Found,
            },
            _ => CapacityAnswer::Unknown,
        }
    }

    /// Whether the rate `fails` only because transactions wait for a free client: most of their time they did that, at
    /// a rate that is about all that clients do in a closed loop, and there, with all of them busy, the limits hold.
    fn clients_are_short(&self, fails: f64) -> bool {
        let errors = LimitedMeasure::Errors.to_string();
        let is_it = |step: &&CapacityStep| step.load == fails;
        let waited = |step: &CapacityStep| step.lag_us > step.mean_us / 2.0;
        self.over == LoadDimension::Rate
            && self.closed.is_within()
            && fails >= NEARLY_ALL * self.closed.kept(StepVerdict::Unsure, None).tps
            && self.steps.iter().rfind(is_it).is_some_and(waited)
            && self
                .steps
                .iter()
                .filter(is_it)
                .all(|step| step.broken.as_ref() != Some(&errors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Recording;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    /// All clients in a closed loop: so many transactions per second, of 1 ms each.
    fn closed(tps: u64) -> Step {
        let mut step = Step::new(0.0, &["p99 < 5ms".parse().unwrap()], &[], Duration::ZERO);
        let mut recording = Recording {
            transactions: tps,
            ..Recording::default()
        };
        recording.latency.record_n(1_000_000, tps);
        step.add(&[recording], SECOND);
        step
    }

    /// A search that ended with this, each of it seen twice.
    fn ended(holds: f64, fails: f64) -> Search {
        let mut search = Search::new(holds, [1.0, f64::MAX], false, 0.05);
        for _ in 0..2 {
            search.found(holds, StepVerdict::Holds, true);
            search.found(fails, StepVerdict::Fails, false);
        }
        search
    }

    fn failed(load: f64, lag_us: f64) -> CapacityStep {
        CapacityStep {
            load,
            lag_us,
            mean_us: 10_000.0,
            ..closed(1).kept(StepVerdict::Fails, None)
        }
    }

    fn answer(search: &Search, over: LoadDimension, closed: &Step, steps: &[CapacityStep]) -> CapacityAnswer {
        let seen = Seen {
            search,
            over,
            clients: 8,
            closed,
            steps,
        };
        seen.answer()
    }

    #[test]
    fn clients_are_the_limit_only_if_transactions_wait_for_them_at_all_that_they_do() {
        let said = |tps: u64, lag_us: f64| {
            let search = ended(980.0, 1_000.0);
            answer(&search, LoadDimension::Rate, &closed(tps), &[failed(1_000.0, lag_us)])
        };
        assert_eq!(said(1_050, 9_000.0), CapacityAnswer::Clients);
        assert_eq!(said(1_050, 1_000.0), CapacityAnswer::Found, "the server is slow");
        assert_eq!(
            said(1_200, 9_000.0),
            CapacityAnswer::Found,
            "the clients do more than that"
        );
    }

    #[test]
    fn a_rate_is_not_taken_for_a_number_of_clients() {
        let mut search = Search::new(100.0, [1.0, 100.0], false, 0.05);
        search.found(100.0, StepVerdict::Holds, true);
        assert_eq!(search.next(), None);
        let said = |over| answer(&search, over, &closed(200), &[]);
        assert_eq!(said(LoadDimension::Rate), CapacityAnswer::Unknown);
        assert_eq!(said(LoadDimension::Clients), CapacityAnswer::Clients);
    }

    #[test]
    fn that_no_load_holds_is_said_after_two_looks() {
        let mut search = Search::new(1.0, [1.0, 100.0], false, 0.05);
        let said = |search: &Search| answer(search, LoadDimension::Rate, &closed(20), &[]);
        search.found(1.0, StepVerdict::Fails, false);
        assert_eq!(said(&search), CapacityAnswer::Unknown);
        search.found(1.0, StepVerdict::Fails, false);
        assert_eq!(said(&search), CapacityAnswer::Never);
    }
}

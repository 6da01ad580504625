//! One numbering of the statements that clients come upon.
//!
//! Scripts in Lua tell their statements when they first execute them, so each agent numbers them in its own order. Here
//! a text has one place, whichever agents count it, and what these have counted is moved there before it is added up.

use dyno_engine::Found;
use dyno_record::{ListedHistogram, ListedInterval, MOST_STATEMENTS};
use std::collections::HashMap;

/// The statements of a load that several hosts drive.
#[derive(Debug, Default)]
pub struct Statements {
    workloads: Vec<Known>,
}

/// Those of a workload.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Whether there are none but those that everybody knows, by the same numbers.
    is_listed: bool,
    by_text: HashMap<String, usize>,
    /// Whether some have no place of their own.
    others: bool,
    /// For each host, where those are counted here that it has told of.
    of_hosts: Vec<Vec<usize>>,
}

/// A host numbers statements in a way that nothing can come of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it counts a statement that it has not told of")]
pub struct Misnumbered;

impl Statements {
    /// Of a load on so many hosts; for each workload whether all its statements are known before.
    pub fn new(are_listed: impl IntoIterator<Item = bool>, hosts: usize) -> Self {
        let known = |is_listed: bool| Known {
            is_listed,
            of_hosts: vec![Vec::new(); hosts],
            ..Known::default()
        };
        Self {
            workloads: are_listed.into_iter().map(known).collect(),
        }
    }

    /// A host tells of the statement that it counts at `place`. Gives its place here if that is news.
    pub fn find(
        &mut self,
        host: usize,
        workload: usize,
        place: usize,
        found: Option<&Found>,
    ) -> Result<Option<usize>, Misnumbered> {
        let known = self.workloads.get_mut(workload);
        let known = known.filter(|known| !known.is_listed).ok_or(Misnumbered)?;
        let own = known.of_hosts.get_mut(host).ok_or(Misnumbered)?;
        // In the order of their places, and all others together in the last one when there is none left.
        if place != own.len() || (place == MOST_STATEMENTS) != found.is_none() {
            return Err(Misnumbered);
        }
        let next = known.by_text.len();
        let (here, is_new) = match found.map(|found| (&found.text, known.by_text.get(&found.text))) {
            Some((_, Some(here))) => (*here, false),
            Some((text, None)) if next < MOST_STATEMENTS => {
                known.by_text.insert(text.clone(), next);
                (next, true)
            }
            _ => (MOST_STATEMENTS, !std::mem::replace(&mut known.others, true)),
        };
        own.push(here);
        Ok(is_new.then_some(here))
    }

    /// Moves what a host has counted to the places that it has here.
    pub fn place(&self, host: usize, interval: &mut ListedInterval) -> Result<(), Misnumbered> {
        for (known, recording) in self.workloads.iter().zip(&mut interval.recordings) {
            if known.is_listed {
                continue;
            }
            let own = known.of_hosts.get(host).ok_or(Misnumbered)?;
            for (place, latency) in std::mem::take(&mut recording.statement_latency).into_iter().enumerate() {
                if latency.is_empty() {
                    continue;
                }
                let here = *own.get(place).ok_or(Misnumbered)?;
                let places = &mut recording.statement_latency;
                if here >= places.len() {
                    places.resize_with(here + 1, ListedHistogram::default);
                }
                places[here].add(latency);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::{Interval, Latencies, Recording, SparseHistogram};
    use proptest::prelude::*;
    use std::time::Duration;

    fn found(text: &str) -> Found {
        Found {
            text: text.to_owned(),
            example: text.to_owned(),
        }
    }

    fn interval(latencies: &[(usize, u64)]) -> ListedInterval {
        let mut recording = Recording::new(0);
        latencies
            .iter()
            .for_each(|(place, latency_ns)| recording.record_statement(*place, *latency_ns));
        let interval = Interval {
            phase: 0,
            start: Duration::ZERO,
            duration: Duration::from_secs(1),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        ListedInterval::from_bytes(&interval.to_bytes(), 1, 1).unwrap()
    }

    #[test]
    fn what_is_told_or_counted_out_of_turn_is_refused() {
        let mut statements = Statements::new([false], 2);
        assert_eq!(statements.find(0, 0, 0, Some(&found("a"))), Ok(Some(0)));
        assert_eq!(statements.find(0, 0, 0, Some(&found("b"))), Err(Misnumbered));
        assert_eq!(statements.find(0, 0, 2, Some(&found("b"))), Err(Misnumbered));
        assert_eq!(statements.find(0, 1, 0, Some(&found("b"))), Err(Misnumbered));
        assert_eq!(
            statements.find(0, 0, MOST_STATEMENTS, Some(&found("b"))),
            Err(Misnumbered)
        );
        assert_eq!(statements.find(0, 0, MOST_STATEMENTS, None), Err(Misnumbered));
        assert_eq!(statements.find(0, 0, 1, None), Err(Misnumbered));
        // What was refused is not known.
        assert_eq!(statements.find(1, 0, 0, Some(&found("b"))), Ok(Some(1)));
        assert_eq!(statements.place(0, &mut interval(&[(0, 10)])), Ok(()));
        for untold in [1, MOST_STATEMENTS] {
            assert_eq!(statements.place(0, &mut interval(&[(untold, 10)])), Err(Misnumbered));
        }
        let mut listed = Statements::new([true], 1);
        assert_eq!(listed.find(0, 0, 0, Some(&found("a"))), Err(Misnumbered));
        assert_eq!(listed.place(0, &mut interval(&[(3, 10)])), Ok(()));
    }

    #[test]
    fn those_that_have_no_place_any_more_share_the_last() {
        let mut statements = Statements::new([false], 2);
        for number in 0..MOST_STATEMENTS {
            let told = statements.find(0, 0, number, Some(&found(&number.to_string())));
            assert_eq!(told, Ok(Some(number)));
        }
        assert_eq!(statements.find(1, 0, 0, Some(&found("new"))), Ok(Some(MOST_STATEMENTS)));
        assert_eq!(statements.find(1, 0, 1, Some(&found("newer"))), Ok(None));
        let mut counted = interval(&[(0, 10), (1, 20)]);
        statements.place(1, &mut counted).unwrap();
        let shared = counted.recordings[0].statement_latency[MOST_STATEMENTS].counts();
        assert_eq!(shared.map(|(_, count)| count).sum::<u64>(), 2);
        assert_eq!(statements.find(0, 0, MOST_STATEMENTS, None), Ok(None));
    }

    proptest! {
        /// Whatever the order in which hosts come upon statements, each text has the counts of all hosts.
        #[test]
        fn each_text_has_one_place(
            hosts in prop::collection::vec(prop::collection::vec((0_u8..12, 1_u64..1_000_000), 0..40), 1..5),
        ) {
            let mut statements = Statements::new([false], hosts.len());
            let mut texts: Vec<String> = Vec::new();
            let mut sum = Recording::new(0);
            let mut expected: HashMap<u8, SparseHistogram> = HashMap::new();
            for (host, executed) in hosts.iter().enumerate() {
                let mut own: Vec<u8> = Vec::new();
                let mut counted = Vec::new();
                for (text, latency_ns) in executed {
                    let place = own.iter().position(|known| known == text).unwrap_or_else(|| {
                        own.push(*text);
                        let told = statements.find(host, 0, own.len() - 1, Some(&found(&text.to_string())));
                        if let Some(place) = told.unwrap() {
                            assert_eq!(place, texts.len());
                            texts.push(text.to_string());
                        }
                        own.len() - 1
                    });
                    counted.push((place, *latency_ns));
                    expected.entry(*text).or_default().record(*latency_ns);
                }
                let mut counted = interval(&counted);
                prop_assert_eq!(statements.place(host, &mut counted), Ok(()));
                sum.add(&counted.recordings[0]);
            }
            prop_assert_eq!(texts.len(), expected.len());
            for (text, latency) in expected {
                let place = texts.iter().position(|known| *known == text.to_string()).unwrap();
                prop_assert_eq!(&sum.statement_latency[place], &latency);
            }
        }
    }
}

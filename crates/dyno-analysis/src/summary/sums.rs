//! What a workload did that ran once on each of several servers, where their sum means something.

use dyno_archive::summary::{WorkloadFacts, WorkloadSummary};

/// What a workload on several servers is called when all of it is meant.
#[must_use]
pub fn sum_of(name: &str) -> String {
    format!("{name} (sum)")
}

/// Those of a run's `workloads` whose experiment asks for their sum, each as if it were one: with what can be added up,
/// and without latencies and steadiness, which are of one server each.
#[must_use]
pub fn sums(facts: &[WorkloadFacts], workloads: &[WorkloadSummary]) -> Vec<WorkloadSummary> {
    let mut sums: Vec<WorkloadSummary> = Vec::new();
    for facts in facts {
        let instances = facts.instances.as_ref().filter(|instances| instances.sum);
        let workload = workloads.iter().find(|workload| workload.name == facts.name);
        let Some((instances, workload)) = instances.zip(workload) else {
            continue;
        };
        let name = sum_of(&instances.of);
        match sums.iter_mut().find(|sum| sum.name == name) {
            Some(sum) => add(sum, workload),
            None => sums.push(WorkloadSummary {
                name,
                steadiness: None,
                latency: None,
                lag: None,
                statement_latencies: Vec::new(),
                errors_by_state: Vec::new(),
                scripts: Vec::new(),
                ..workload.clone()
            }),
        }
    }
    sums
}

fn add(sum: &mut WorkloadSummary, workload: &WorkloadSummary) {
    sum.clients += workload.clients;
    sum.threads += workload.threads;
    sum.transactions += workload.transactions;
    sum.statements += workload.statements;
    sum.errors += workload.errors;
    sum.unfinished += workload.unfinished;
    sum.skipped += workload.skipped;
    sum.late += workload.late;
    sum.retried += workload.retried;
    sum.retries += workload.retries;
    sum.tps += workload.tps;
    sum.statements_per_s += workload.statements_per_s;
    let (completion, other) = (&mut sum.completion, workload.completion);
    completion.after_end += other.after_end;
    completion.longer_than_s = completion
        .longer_than_s
        .into_iter()
        .chain(other.longer_than_s)
        .reduce(f64::min);
    // All is done when the last is; rates of different times do not add up.
    completion.took_s = completion
        .took_s
        .zip(other.took_s)
        .map(|(one, another)| one.max(another));
    if let Some(took_s) = completion.took_s {
        (sum.tps, sum.statements_per_s) = (sum.transactions as f64 / took_s, sum.statements as f64 / took_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Instances;
    use dyno_archive::summary::{Completion, Pacing};

    /// What two instances of the workload `a` did with `tps` each, with its facts.
    fn instances(tps: [f64; 2], sum: bool) -> ([WorkloadFacts; 2], [WorkloadSummary; 2]) {
        let names = ["a-1", "a-2"];
        let facts = names.map(|name| WorkloadFacts {
            instances: Some(Instances {
                of: "a".to_owned(),
                sum,
            }),
            ..WorkloadFacts::closed(name, 3, 1)
        });
        let [one, other] = names;
        let did = [(one, tps[0]), (other, tps[1])].map(|(name, tps)| WorkloadSummary {
            name: name.to_owned(),
            clients: 3,
            threads: 1,
            pacing: Pacing::Closed,
            transactions: tps as u64,
            statements: 2 * tps as u64,
            errors: 1,
            unfinished: 0,
            completion: Completion::default(),
            transactions_per_client: None,
            skipped: 0,
            late: 0,
            retried: 0,
            retries: 0,
            tps,
            statements_per_s: 2.0 * tps,
            steadiness: None,
            latency: None,
            lag: None,
            statement_latencies: Vec::new(),
            errors_by_state: Vec::new(),
            scripts: Vec::new(),
        });
        (facts, did)
    }

    #[test]
    fn what_is_asked_for_is_added_up() {
        let (facts, workloads) = instances([100.0, 250.0], true);
        let [sum] = &sums(&facts, &workloads)[..] else {
            unreachable!()
        };
        assert_eq!(
            (sum.name.as_str(), sum.tps, sum.statements_per_s),
            ("a (sum)", 350.0, 700.0)
        );
        assert_eq!((sum.clients, sum.transactions, sum.errors), (6, 350, 2));
        let (facts, _) = instances([1.0, 1.0], false);
        assert_eq!(sums(&facts, &workloads), []);
    }

    #[test]
    fn all_is_done_when_the_last_is() {
        let of_two = |completions: [Completion; 2]| {
            let (facts, mut workloads) = instances([100.0, 300.0], true);
            for (workload, completion) in workloads.iter_mut().zip(completions) {
                workload.completion = completion;
            }
            sums(&facts, &workloads).remove(0)
        };
        let took = |took_s: f64| Completion {
            took_s: Some(took_s),
            after_end: 1,
            longer_than_s: None,
        };
        let longer = |longer_than_s: f64| Completion {
            longer_than_s: Some(longer_than_s),
            ..Completion::default()
        };
        let done = of_two([took(2.0), took(5.0)]);
        assert_eq!((done.completion.took_s, done.completion.after_end), (Some(5.0), 2));
        assert_eq!((done.tps, done.statements_per_s), (80.0, 160.0));
        let one = of_two([took(2.0), longer(9.0)]);
        assert_eq!((one.completion.took_s, one.completion.longer_than_s), (None, Some(9.0)));
        assert_eq!(of_two([longer(9.0), longer(8.0)]).completion.longer_than_s, Some(8.0));
    }
}

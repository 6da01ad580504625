//! Whether a server executed statements in another way than before: within a run, between runs of a cell, and between
//! campaigns.
//!
//! Plans are compared by what is done to which table by which index, and in which order. What the server expects of it,
//! costs and numbers of rows, differs each time that it counts rows, and says nothing about what is done.

use dyno_archive::{Run, StatementPlans};
use dyno_record::{Explained, PlanStep, QueryPlan};
use indexmap::IndexMap;
use std::fmt;

/// More steps than this are not told of a change.
const MOST_TOLD: usize = 4;

/// Of longer statements, so many letters tell which one is meant.
const MOST_NAMED: usize = 60;

/// The steps of a plan that another one does not have, and the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanChange {
    /// What only the first one does. If neither has anything of its own, they do the same in another order.
    pub gone: Vec<String>,
    /// What only the other one does.
    pub come: Vec<String>,
}

/// How the plans of a statement, which is told by this text, differ; `None` if they do not.
#[must_use]
pub fn change(statement: &str, one: &QueryPlan, other: &QueryPlan) -> Option<PlanChange> {
    let (one, other) = (shape(statement, one), shape(statement, other));
    if one == other {
        return None;
    }
    let without = |all: &[(usize, String)], others: &[(usize, String)]| -> Vec<String> {
        let mut others: Vec<&String> = others.iter().map(|(_, words)| words).collect();
        let own = all.iter().map(|(_, words)| words).filter(|words| {
            let place = others.iter().position(|other| other == words);
            place.map(|place| others.swap_remove(place)).is_none()
        });
        own.cloned().collect()
    };
    Some(PlanChange {
        gone: without(&one, &other),
        come: without(&other, &one),
    })
}

impl fmt::Display for PlanChange {
    /// As a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |steps: &[String]| {
            let more = steps.len().saturating_sub(MOST_TOLD);
            let more = (more > 0).then(|| format!("{more} more"));
            let steps = steps.iter().take(MOST_TOLD).cloned().chain(more);
            steps.collect::<Vec<_>>().join("; ")
        };
        match (self.gone.as_slice(), self.come.as_slice()) {
            ([], []) => f.write_str("the same steps in another order"),
            (gone, []) => write!(f, "without {}", told(gone)),
            ([], come) => write!(f, "with {} in addition", told(come)),
            (gone, come) => write!(f, "{} in place of {}", told(come), told(gone)),
        }
    }
}

/// What a plan does, step by step with depths. Tables of which a label tells no numbers are told without them, too.
fn shape(statement: &str, plan: &QueryPlan) -> Vec<(usize, String)> {
    let is_numbered = statement.contains('#');
    let words = |step: &PlanStep| {
        let sends = step
            .remote
            .as_ref()
            .map(|sql| format!(", sending {}", without_values(sql)));
        let words = format!("{}{}", step.words(), sends.unwrap_or_default());
        match is_numbered {
            true => without_numbers(&words),
            false => words,
        }
    };
    plan.steps.iter().map(|step| (step.depth, words(step))).collect()
}

/// Words with a sign in place of digits, as in labels of statements that are alike.
fn without_numbers(words: &str) -> String {
    let mut out = String::new();
    for letter in words.chars() {
        match letter.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(letter),
        }
    }
    out
}

/// SQL with a question mark in place of each number and string. Samples of values may differ.
fn without_values(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql;
    let mut in_name = false;
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '\'' => {
                out.push('?');
                rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
            }
            '0'..='9' if !in_name => {
                out.push('?');
                let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
                end.unwrap_or(rest.len())
            }
            letter => {
                out.push(letter);
                letter.len_utf8()
            }
        };
        in_name = letter.is_alphanumeric() && !letter.is_ascii_digit() || in_name && letter.is_ascii_digit();
        in_name |= matches!(letter, '_' | '$');
        rest = &rest[taken..];
    }
    out
}

/// A plan in a line, what a step gets its rows from in parentheses.
fn in_line(statement: &str, plan: &QueryPlan) -> String {
    let mut line = String::new();
    let mut open = 0;
    for (place, (depth, words)) in shape(statement, plan).into_iter().enumerate() {
        // A plan that somebody wrote by hand may leave depths out.
        let depth = depth.min(place);
        if depth > open {
            line.push_str(" (");
            open += 1;
        } else if place > 0 {
            line.extend(std::iter::repeat_n(')', open - depth));
            open = depth;
            line.push_str(", ");
        }
        line.push_str(&words);
    }
    line.extend(std::iter::repeat_n(')', open));
    line
}

/// A statement that a server was asked for plans of.
struct Asked {
    /// How sentences call it.
    name: String,
    workload: String,
    /// Its text. Statements with one text are one statement, in whichever run.
    text: String,
    before: Explained,
    after: Option<Explained>,
}

impl Asked {
    /// The plan that it had last.
    fn last(&self) -> Option<&QueryPlan> {
        let after = self.after.as_ref().and_then(Explained::plan);
        after.or_else(|| self.before.plan())
    }
}

/// The statements of a run, and what its proxies sent to the servers behind them.
fn asked(run: &Run) -> impl Iterator<Item = Asked> {
    run.plans().into_iter().flat_map(|plans| {
        let StatementPlans {
            workload,
            number,
            statement,
            before,
            after,
            remote,
        } = plans;
        let name = format!("{workload}/{number}");
        let sent: Vec<_> = remote
            .into_iter()
            .map(|remote| Asked {
                name: format!("{name} on {}", remote.server),
                workload: workload.clone(),
                text: format!("on {}: {}", remote.server, without_values(&remote.statement)),
                before: remote.explained,
                after: remote.after,
            })
            .collect();
        let own = Asked {
            name,
            workload,
            text: statement,
            before,
            after,
        };
        std::iter::once(own).chain(sent)
    })
}

/// The statements whose plans changed while a run went on, as sentences.
pub(super) fn findings(run: &Run) -> Vec<String> {
    let changed = asked(run).filter_map(|asked| {
        let (before, after) = (asked.before.plan()?, asked.after.as_ref()?.plan()?);
        let change = change(&asked.text, before, after)?;
        Some(format!(
            "The plan of {} changed during the run: after it, {change}. The figures are of both.",
            asked.name
        ))
    });
    changed.collect()
}

/// What a run's plans are in the end, each in a line by workload and the begin of the statement: what Lua comes upon
/// has another number each time.
pub(super) fn of_run(run: &Run) -> IndexMap<String, String> {
    let known = asked(run).filter_map(|asked| {
        let plan = asked.last()?;
        let words = asked.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let begin: String = words.chars().take(MOST_NAMED).collect();
        let cut = if begin.len() < words.len() { "…" } else { "" };
        let name = format!("{}: {begin}{cut}", asked.workload);
        Some((name, in_line(&asked.text, plan)))
    });
    known.collect()
}

/// A statement whose plan differs between runs of one cell.
pub(super) struct Differing {
    /// The workload and the number of the statement.
    pub statement: String,
    /// The names of two runs.
    pub runs: [String; 2],
    /// What the second one does otherwise.
    pub change: PlanChange,
}

/// The statements whose plans differ between runs that are to be alike, each once.
pub(super) fn differing(runs: &[&Run]) -> Vec<Differing> {
    let mut first: IndexMap<(String, String, usize), (String, Asked)> = IndexMap::new();
    let mut found: Vec<Differing> = Vec::new();
    for run in runs {
        // What Lua comes upon has another number each time, and a script may have a statement twice.
        let mut times: IndexMap<(String, String), usize> = IndexMap::new();
        for asked in asked(run) {
            let (workload, text) = (asked.workload.clone(), asked.text.clone());
            let time = times.entry((workload.clone(), text.clone())).or_insert(0);
            *time += 1;
            let key = (workload, text, *time);
            let Some((name, known)) = first.get(&key) else {
                first.insert(key, (run.name(), asked));
                continue;
            };
            let change = known.last().zip(asked.last());
            let change = change.and_then(|(one, other)| self::change(&asked.text, one, other));
            let is_new = found.iter().all(|other| other.statement != asked.name);
            found.extend(change.filter(|_| is_new).map(|change| Differing {
                statement: asked.name,
                runs: [name.clone(), run.name()],
                change,
            }));
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use dyno_archive::write_plans;
    use dyno_record::AskedWith;
    use proptest::prelude::*;
    use std::path::Path;

    /// A plan of these steps with their depths; costs are whatever they are.
    pub(crate) fn plan(steps: &[(usize, &str, &str)], cost: f64) -> QueryPlan {
        let step = |(depth, step, on): &(usize, &str, &str)| PlanStep {
            depth: *depth,
            step: (*step).to_owned(),
            on: Some((*on).to_owned()),
            cost: Some(cost),
            ..PlanStep::default()
        };
        QueryPlan {
            steps: steps.iter().map(step).collect(),
            asked_with: AskedWith::Text,
            answer: None,
        }
    }

    /// Has a run keep plans of one statement.
    pub(crate) fn keep(folder: &Path, before: QueryPlan, after: QueryPlan) {
        let plans = StatementPlans {
            workload: "one".to_owned(),
            number: 1,
            statement: "select 1".to_owned(),
            before: Explained::Plan(before),
            after: Some(Explained::Plan(after)),
            remote: Vec::new(),
        };
        write_plans(folder, &[plans]).unwrap();
    }

    #[test]
    fn what_the_server_behind_a_proxy_does_otherwise_is_told_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let stays = plan(&[(0, "Foreign Scan", "t")], 1.0);
        let by = |step: &str| Explained::Plan(plan(&[(0, step, "t")], 1.0));
        let remote = |value: u32, before, after| dyno_archive::RemotePlan {
            server: "far".to_owned(),
            statement: format!("select x from t where id = {value}"),
            explained: by(before),
            after: Some(by(after)),
        };
        let run_of = |name: &str, value, before, after| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            let plans = StatementPlans {
                workload: "one".to_owned(),
                number: 1,
                statement: "select 1".to_owned(),
                before: Explained::Plan(stays.clone()),
                after: Some(Explained::Plan(stays.clone())),
                remote: vec![remote(value, before, after)],
            };
            write_plans(&folder, &[plans]).unwrap();
            Run {
                record: Err(dyno_archive::ArchiveError::InUse { path: folder.clone() }),
                path: folder,
                state: dyno_archive::RunState::Complete,
            }
        };
        let one = run_of("one", 1, "Index Scan", "Seq Scan");
        let other = run_of("other", 2, "Index Scan", "Index Scan");
        assert_eq!(
            findings(&one),
            [
                "The plan of one/1 on far changed during the run: after it, Seq Scan on t in place of Index Scan on t. \
                 The figures are of both."
            ]
        );
        let [differing] = &differing(&[&one, &other])[..] else {
            unreachable!()
        };
        assert_eq!(differing.statement, "one/1 on far");
    }

    #[track_caller]
    fn assert_change(one: &QueryPlan, other: &QueryPlan, expected: Option<&str>) {
        let change = change("select 1", one, other).map(|change| change.to_string());
        assert_eq!(change.as_deref(), expected);
    }

    #[test]
    fn what_is_done_is_compared_and_not_what_it_costs() {
        let by_index = plan(&[(0, "Update", "t"), (1, "Index Scan", "t")], 5.0);
        let dearer = plan(&[(0, "Update", "t"), (1, "Index Scan", "t")], 50.0);
        let whole = plan(&[(0, "Update", "t"), (1, "Seq Scan", "t")], 500.0);
        let sorted = plan(&[(0, "Update", "t"), (1, "Sort", "t"), (2, "Index Scan", "t")], 5.0);
        assert_change(&by_index, &dearer, None);
        assert_change(&by_index, &whole, Some("Seq Scan on t in place of Index Scan on t"));
        assert_change(&by_index, &sorted, Some("with Sort on t in addition"));
        assert_change(&sorted, &by_index, Some("without Sort on t"));
        let join = |one, other| plan(&[(0, "Join", "both"), (1, "Scan", one), (1, "Scan", other)], 1.0);
        assert_change(
            &join("a", "b"),
            &join("b", "a"),
            Some("the same steps in another order"),
        );
    }

    #[test]
    fn another_index_is_another_plan_and_another_value_is_not() {
        let using = |index: &str, remote: &str| {
            let mut plan = plan(&[(0, "Scan", "t")], 1.0);
            plan.steps[0].index = Some(index.to_owned());
            plan.steps[0].remote = Some(remote.to_owned());
            plan
        };
        let one = using("a", "select c1 from t where id = 5 and name = 'x'");
        assert_change(
            &one,
            &using("a", "select c1 from t where id = 17 and name = 'yz'"),
            None,
        );
        let elsewhere = "Scan using a on t, sending select c1 from t in place of Scan using a on t, sending select c1 \
                         from t where id = ? and name = ?";
        assert_change(&one, &using("a", "select c1 from t"), Some(elsewhere));
        assert!(change("", &one, &using("b", "select c1 from t where id = 5 and name = 'x'")).is_some());
    }

    #[test]
    fn tables_of_one_label_are_one() {
        let (one, other) = (
            plan(&[(0, "Scan", "sbtest1")], 1.0),
            plan(&[(0, "Scan", "sbtest12")], 1.0),
        );
        assert_eq!(change("select c from sbtest# where id=?", &one, &other), None);
        assert!(change("select c from sbtest1", &one, &other).is_some());
        assert_eq!(without_numbers("Scan using t7_pkey on t12"), "Scan using t#_pkey on t#");
    }

    #[test]
    fn a_plan_in_a_line() {
        let steps = [
            (0, "Join", "x"),
            (1, "Scan", "a"),
            (1, "Hash", "y"),
            (2, "Scan", "b"),
            (0, "End", "z"),
        ];
        let line = in_line("", &plan(&steps, 1.0));
        assert_eq!(line, "Join on x (Scan on a, Hash on y (Scan on b)), End on z");
    }

    fn any_plan() -> impl Strategy<Value = QueryPlan> {
        let step = (0_usize..5, "[a-c']{0,3}", proptest::option::of("[a-b0-9$_ 'é]{0,8}"));
        let step = step.prop_map(|(depth, step, remote)| PlanStep {
            depth,
            step,
            remote,
            ..PlanStep::default()
        });
        proptest::collection::vec(step, 0..8).prop_map(|steps| QueryPlan {
            steps,
            ..QueryPlan::default()
        })
    }

    proptest! {
        #[test]
        fn a_plan_differs_from_others_and_not_from_itself(one in any_plan(), other in any_plan(), label in "[a#]{1}") {
            prop_assert_eq!(change(&label, &one, &one), None);
            let there = change(&label, &one, &other);
            let back = change(&label, &other, &one);
            prop_assert_eq!(there.clone().map(|change| change.gone), back.map(|change| change.come));
            prop_assert!(there.is_none_or(|change| !change.to_string().is_empty()));
            let line = in_line(&label, &one);
            prop_assert_eq!(line.matches('(').count(), line.matches(')').count());
        }
    }
}

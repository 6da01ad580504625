//! How the server executes each statement: what it planned before the load and after it.

use super::model::{Block, Section};
use super::parts::{code, in_full, in_setup, list, paragraph, section};
use crate::figures::{count, counted, figure, one_line, sentence};
use dyno_analysis::plans::change;
use dyno_archive::{RemotePlan, Run, StatementPlans};
use dyno_record::{AskedWith, Explained, QueryPlan};
use indexmap::IndexSet;

/// More statements than this are not read; all of them are in the archive.
const MOST_STATEMENTS: usize = 50;

/// More letters of a condition than this are not read.
const MOST_LETTERS: usize = 300;

/// Steps below more than this are not moved further to the right.
const MOST_INDENTED: usize = 40;

/// What plans are.
const HOW: &str = "What the server planned for each statement, as it was asked before the load and after it; no \
                   statement was executed for that. Below a step are those that it gets its rows from. Rows and costs \
                   are what the server expected, costs in its own unit.";

/// The plans of a run's statements, folded; nothing if none was asked for.
pub(super) fn section_of(run: &Run) -> Option<Section> {
    let all = run.plans();
    if all.is_empty() {
        return None;
    }
    let mut blocks = vec![paragraph(HOW)];
    let planned: Vec<&StatementPlans> = all.iter().filter(|plans| has_plan(plans)).collect();
    for plans in planned.iter().take(MOST_STATEMENTS) {
        blocks.extend(of_statement(plans));
        blocks.extend(plans.remote.iter().flat_map(|remote| of_remote(plans, remote)));
    }
    let more = planned.len().saturating_sub(MOST_STATEMENTS);
    if more > 0 {
        let more = counted(more as u64, "more statement");
        blocks.push(paragraph(format!("The plans of {more} are in plans.json of the run.")));
    }
    blocks.extend(list(without_plan(&all)));
    Some(in_full(Section {
        folded: true,
        ..section("plans", "Plans", blocks)
    }))
}

/// Those of the first run of each cell that has kept any, named by `name`.
pub(super) fn of_cells<'a>(
    runs: impl Iterator<Item = &'a Run>,
    name: impl Fn(&Run) -> String,
) -> impl Iterator<Item = Section> {
    let mut cells = IndexSet::new();
    runs.filter_map(move |run| {
        let cell = run.record.as_ref().map(|record| record.cell.iter().collect::<Vec<_>>());
        let cell = cell.unwrap_or_default();
        if cells.contains(&cell) {
            return None;
        }
        let section = section_of(run)?;
        cells.insert(cell);
        Some(Section {
            title: name(run),
            ..section
        })
    })
}

/// The plans of several runs as a chapter; nothing if there are none.
pub(super) fn together(mut runs: Vec<Section>) -> Option<Section> {
    for (number, section) in (1..).zip(&mut runs) {
        section.id = format!("plans-{number}");
        // What all have is said once.
        section.blocks.retain(|block| *block != paragraph(HOW));
    }
    let words = format!("Of the first run of each cell that has kept them. {HOW}");
    (!runs.is_empty()).then(|| {
        in_setup(in_full(Section {
            sections: runs,
            ..section("plans", "Plans", vec![paragraph(words)])
        }))
    })
}

fn has_plan(plans: &StatementPlans) -> bool {
    [Some(&plans.before), plans.after.as_ref()]
        .into_iter()
        .flatten()
        .any(|explained| explained.plan().is_some())
}

/// The plans of a statement: one if it stayed the same.
fn of_statement(plans: &StatementPlans) -> Vec<Block> {
    let named = format!("{}/{}", plans.workload, plans.number);
    let caption = format!("{named}: {}", one_line(&plans.statement));
    let after = plans.after.as_ref();
    before_and_after(&named, &caption, &plans.statement, &plans.before, after)
}

/// The plans of what is `named` so in a sentence, under a `caption`; none if there are none.
fn before_and_after(
    named: &str,
    caption: &str,
    statement: &str,
    before: &Explained,
    after: Option<&Explained>,
) -> Vec<Block> {
    let (before, after) = (before.plan(), after.and_then(Explained::plan));
    let captioned = |when: &str, plan: &QueryPlan| code(format!("{caption} ({when}{})", asked_with(plan)), tree(plan));
    match (before, after) {
        (Some(before), Some(after)) => match change(statement, before, after) {
            None => vec![captioned("the same before and after", after)],
            Some(change) => vec![
                paragraph(one_line(&format!(
                    "The plan of {named} changed during the run: after it, {change}."
                ))),
                captioned("before", before),
                captioned("after", after),
            ],
        },
        (Some(before), None) => vec![captioned("before", before)],
        (None, Some(after)) => vec![captioned("after", after)],
        (None, None) => Vec::new(),
    }
}

/// What the server behind a proxy does for what it is sent.
fn of_remote(plans: &StatementPlans, remote: &RemotePlan) -> Vec<Block> {
    let StatementPlans { workload, number, .. } = plans;
    let server = one_line(&remote.server);
    let sent = one_line(&remote.statement);
    match &remote.explained {
        Explained::Plan(_) => {
            let named = format!("{workload}/{number} on {server}");
            let caption = format!("{workload}/{number}, on {server}: {sent}");
            before_and_after(
                &named,
                &caption,
                &remote.statement,
                &remote.explained,
                remote.after.as_ref(),
            )
        }
        Explained::HasNone => vec![paragraph(format!("On {server}, {sent} has no plan."))],
        Explained::NotAsked(why) | Explained::Denied(why) | Explained::Refused(why) => vec![paragraph(format!(
            "{server} did not tell its plan for {sent}: {}",
            sentence(&one_line(why))
        ))],
    }
}

/// With what a plan was asked for, if that is not the statement itself.
fn asked_with(plan: &QueryPlan) -> &'static str {
    match plan.asked_with {
        AskedWith::Text => "",
        AskedWith::Parameters => "; for any values",
        AskedWith::Values => "; with values such as clients send",
        AskedWith::StandIns => "; with made-up values",
    }
}

/// A plan as lines, each step further to the right than the one that it gives its rows to.
fn tree(plan: &QueryPlan) -> String {
    let mut lines = Vec::new();
    for step in &plan.steps {
        let indent = "  ".repeat(step.depth.min(MOST_INDENTED));
        let rows = step.rows.map(|rows| match rows {
            1.0 => "1 row".to_owned(),
            rows => format!("{} rows", count_or_figure(rows)),
        });
        let cost = step.cost.map(|cost| format!("cost {}", figure(cost)));
        let expected: Vec<String> = rows.into_iter().chain(cost).collect();
        let expected = match expected.as_slice() {
            [] => String::new(),
            expected => format!("  ({})", expected.join(", ")),
        };
        lines.push(format!("{indent}{}{expected}", one_line(&step.words())));
        let details = step.details.iter().map(|(name, value)| (name.as_str(), value));
        let sent = step.remote.iter().map(|sql| ("sends", sql));
        for (name, value) in details.chain(sent) {
            let value = one_line(value);
            let shown: String = value.chars().take(MOST_LETTERS).collect();
            let cut = if shown.len() < value.len() { "…" } else { "" };
            lines.push(format!("{indent}    {}: {shown}{cut}", one_line(name)));
        }
    }
    lines.join("\n")
}

/// A number of rows, which a server may tell in fractions.
fn count_or_figure(rows: f64) -> String {
    match rows {
        rows if (0.0..1e15).contains(&rows) && rows.fract() == 0.0 => count(rows as u64),
        rows => figure(rows),
    }
}

/// Which statements have no plan here, and why.
fn without_plan(all: &[StatementPlans]) -> Vec<String> {
    let mut kinds = Vec::new();
    let mut others = Vec::new();
    for plans in all.iter().filter(|plans| !has_plan(plans)) {
        let name = format!("{}/{}", plans.workload, plans.number);
        match plans.after.as_ref().unwrap_or(&plans.before) {
            Explained::HasNone => kinds.push(format!("{name} ({})", one_line(&plans.statement))),
            Explained::NotAsked(why) => others.push(format!(
                "The plan of {name} was not asked for: {}",
                sentence(&one_line(why))
            )),
            Explained::Denied(why) => {
                others.push(format!(
                    "This role may not know the plan of {name}: {}",
                    sentence(&one_line(why))
                ));
            }
            Explained::Refused(why) => others.push(format!(
                "The server did not tell the plan of {name}: {}",
                sentence(&one_line(why))
            )),
            Explained::Plan(_) => {}
        }
    }
    let kinds = (!kinds.is_empty()).then(|| format!("Statements of a kind that has no plan: {}.", kinds.join(", ")));
    let cut = others.len().saturating_sub(MOST_STATEMENTS);
    others.truncate(MOST_STATEMENTS);
    let more = (cut > 0).then(|| format!("{} more have none.", count(cut as u64)));
    kinds.into_iter().chain(others).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::{ArchiveError, RunState, write_plans};
    use dyno_record::PlanStep;

    fn plan(index: Option<&str>) -> Explained {
        let scan = PlanStep {
            depth: 1,
            step: if index.is_some() { "Index Scan" } else { "Seq Scan" }.to_owned(),
            on: Some("t".to_owned()),
            index: index.map(str::to_owned),
            remote: Some("select id\nfrom t".to_owned()),
            details: [("Filter".to_owned(), "x".repeat(MOST_LETTERS + 1))].into(),
            rows: Some(12_345.0),
            cost: Some(8.25),
        };
        let update = PlanStep {
            step: "Update".to_owned(),
            on: Some("t".to_owned()),
            ..PlanStep::default()
        };
        Explained::Plan(QueryPlan {
            steps: vec![update, scan],
            asked_with: AskedWith::Parameters,
            answer: None,
        })
    }

    fn shown(statements: &[StatementPlans]) -> Option<Section> {
        let folder = tempfile::tempdir().unwrap();
        write_plans(folder.path(), statements).unwrap();
        let path = folder.path().to_owned();
        section_of(&Run {
            record: Err(ArchiveError::InUse { path: path.clone() }),
            path,
            state: RunState::Complete,
        })
    }

    fn of(number: usize, before: Explained, after: Option<Explained>) -> StatementPlans {
        StatementPlans {
            workload: "one".to_owned(),
            number,
            statement: "update t\nset x = 1".to_owned(),
            before,
            after,
            remote: Vec::new(),
        }
    }

    #[test]
    fn the_plan_of_a_remote_server_stands_beside_that_of_its_proxy() {
        let remote = |explained| RemotePlan {
            server: "far".to_owned(),
            statement: "select x\nfrom t".to_owned(),
            explained,
            after: None,
        };
        let mut kept = of(1, plan(None), None);
        kept.remote = vec![
            remote(plan(Some("t_pkey"))),
            remote(Explained::Refused("no.".to_owned())),
        ];
        let section = format!("{:?}", shown(&[kept]));
        assert!(section.contains("one/1, on far: select x from t (before"), "{section}");
        assert!(section.contains("using t_pkey"), "{section}");
        assert!(
            section.contains("far did not tell its plan for select x from t: no."),
            "{section}"
        );
    }

    #[test]
    fn a_plan_that_stayed_is_shown_once_and_one_that_changed_with_what_changed() {
        let section = shown(&[
            of(1, plan(Some("t_pkey")), Some(plan(Some("t_pkey")))),
            of(2, plan(Some("t_pkey")), Some(plan(None))),
            of(3, Explained::HasNone, Some(Explained::HasNone)),
            of(4, Explained::Refused("no table".to_owned()), None),
        ]);
        let blocks = section.unwrap().blocks;
        let [
            _,
            Block::Code { caption, text },
            Block::Text { text: changed },
            _,
            Block::Code { caption: later, .. },
            rest,
        ] = &blocks[..]
        else {
            panic!("{blocks:?}")
        };
        assert_eq!(
            caption,
            "one/1: update t set x = 1 (the same before and after; for any values)"
        );
        let letters = "x".repeat(MOST_LETTERS);
        let expected = format!(
            "Update on t\n  Index Scan using t_pkey on t  (12,345 rows, cost 8.25)\n      Filter: {letters}…\n      \
             sends: select id from t"
        );
        assert_eq!(*text, expected);
        let words = "The plan of one/2 changed during the run: after it, Seq Scan on t, sending select id from t in \
                     place of Index Scan using t_pkey on t, sending select id from t.";
        assert_eq!(changed, words);
        assert!(later.ends_with("(after; for any values)"), "{later}");
        let items = [
            "Statements of a kind that has no plan: one/3 (update t set x = 1).",
            "The server did not tell the plan of one/4: no table.",
        ];
        assert_eq!(
            *rest,
            Block::List {
                items: items.map(str::to_owned).into()
            }
        );
    }

    #[test]
    fn what_was_not_kept_has_no_section() {
        assert_eq!(shown(&[]), None);
    }
}

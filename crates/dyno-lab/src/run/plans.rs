//! How the server would execute the statements of a run: asked before the load connects and after it has ended, so
//! that it disturbs nothing that is measured.

use super::recording::Entry;
use dyno_archive::plan::Workload;
use dyno_archive::{ArchiveError, RemotePlan, StatementPlans, write_plans};
use dyno_engine::Found;
use dyno_record::Explained;
use dyno_script::Example;
use dyno_target::target::{Control, TargetError, ToExplain};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long all statements of a run may take to be explained, each time.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many are asked for before it is looked whether there is time for more.
const AT_ONCE: usize = 10;

/// The plans of a server's statements in a run.
pub(super) struct Plans {
    /// The numbers of the workloads that run there.
    workloads: Vec<usize>,
    asked: Vec<Asked>,
}

/// A statement and what the server is asked for it.
struct Asked {
    /// The number of its workload.
    workload: usize,
    to_explain: ToExplain,
    kept: StatementPlans,
}

impl Plans {
    /// Asks for the plans of all statements that are known before the load, of the workloads that are `its`.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn before(
        control: &mut dyn Control,
        entry: &Entry<'_>,
        examples: &[Vec<Example>],
        is_its: impl Fn(&Workload) -> bool,
    ) -> Result<Self, TargetError> {
        let workloads = entry.experiment.workloads.iter().zip(&entry.statements).zip(examples);
        let its = workloads.enumerate().filter(|(_, ((workload, _), _))| is_its(workload));
        let asked = its.clone().flat_map(|(number, ((workload, statements), examples))| {
            let each = statements.iter().zip(examples).zip(1..);
            each.map(move |((statement, example), place)| Asked {
                workload: number,
                to_explain: ToExplain {
                    has_values: example.parameterized.is_some(),
                    parameterized: example.parameterized.clone(),
                    filled: example.filled.clone(),
                },
                kept: StatementPlans {
                    workload: workload.name.clone(),
                    number: place,
                    statement: statement.clone(),
                    before: Explained::HasNone,
                    after: None,
                    remote: Vec::new(),
                },
            })
        });
        let mut plans = Self {
            asked: asked.collect(),
            workloads: its.map(|(number, _)| number).collect(),
        };
        let explained = plans.explain(control)?;
        for (asked, explained) in plans.asked.iter_mut().zip(explained) {
            asked.kept.before = explained;
        }
        Ok(plans)
    }

    /// Asks the server that these reach through foreign tables, `server`, for the plans of what it is sent: those of
    /// before the load, or again those of after.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn ask_remote(&mut self, server: &str, control: &mut dyn Control, again: bool) -> Result<(), TargetError> {
        let begun = Instant::now();
        for asked in &mut self.asked {
            if again {
                let known = &mut asked.kept.remote;
                if !known.is_empty() && begun.elapsed() <= PATIENCE {
                    let to_explain: Vec<_> = known.iter().map(|remote| of_text(&remote.statement, false)).collect();
                    let explained = control.explain(&to_explain)?;
                    for (remote, explained) in known.iter_mut().zip(explained) {
                        remote.after = Some(explained);
                    }
                }
                continue;
            }
            let steps = asked.kept.before.plan().map_or(&[][..], |plan| &plan.steps);
            let mut sent: Vec<String> = steps.iter().filter_map(|step| step.remote.clone()).collect();
            sent.dedup();
            sent.truncate(AT_ONCE);
            if sent.is_empty() || begun.elapsed() > PATIENCE {
                continue;
            }
            let to_explain: Vec<_> = sent.iter().map(|statement| of_text(statement, false)).collect();
            let explained = control.explain(&to_explain)?;
            let plans = sent.into_iter().zip(explained);
            asked.kept.remote = plans
                .map(|(statement, explained)| RemotePlan {
                    server: server.to_owned(),
                    statement,
                    explained,
                    after: None,
                })
                .collect();
        }
        Ok(())
    }

    /// Asks again, and for what clients have `come_upon` in workloads of these `names`, each with the number of its
    /// workload.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn after(
        &mut self,
        control: &mut dyn Control,
        names: &[String],
        come_upon: &[(usize, Found)],
    ) -> Result<(), TargetError> {
        for (workload, found) in come_upon.iter().filter(|(number, _)| self.workloads.contains(number)) {
            let before = self.asked.iter().filter(|asked| asked.workload == *workload).count();
            self.asked.push(Asked {
                workload: *workload,
                to_explain: of_text(&found.example, found.example != found.text),
                kept: StatementPlans {
                    workload: names.get(*workload).cloned().unwrap_or_default(),
                    number: before + 1,
                    statement: found.text.clone(),
                    before: Explained::NotAsked("its text was not known before the load".to_owned()),
                    after: None,
                    remote: Vec::new(),
                },
            });
        }
        let explained = self.explain(control)?;
        for (asked, explained) in self.asked.iter_mut().zip(explained) {
            asked.kept.after = Some(explained);
        }
        Ok(())
    }

    /// What the server says of each statement now.
    fn explain(&self, control: &mut dyn Control) -> Result<Vec<Explained>, TargetError> {
        let begun = Instant::now();
        let mut explained = Vec::new();
        for some in self.asked.chunks(AT_ONCE) {
            if begun.elapsed() > PATIENCE {
                let reason = format!("explaining others took more than {} s", PATIENCE.as_secs());
                explained.extend(some.iter().map(|_| Explained::NotAsked(reason.clone())));
                continue;
            }
            let some: Vec<_> = some.iter().map(|asked| asked.to_explain.clone()).collect();
            explained.extend(control.explain(&some)?);
        }
        Ok(explained)
    }

    /// Writes those of `all` servers into the folder of their run, if there is any statement.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write<'a>(all: impl IntoIterator<Item = &'a Self>, folder: &Path) -> Result<(), ArchiveError> {
        let mut asked: Vec<_> = all.into_iter().flat_map(|plans| &plans.asked).collect();
        if asked.is_empty() {
            return Ok(());
        }
        asked.sort_by_key(|asked| asked.workload);
        let kept: Vec<_> = asked.into_iter().map(|asked| asked.kept.clone()).collect();
        write_plans(folder, &kept)
    }

    /// What to say of statements of which this role may not know the plan.
    pub fn denied(&self) -> Option<String> {
        let why = |explained: &Explained| match explained {
            Explained::Denied(why) => Some(why.clone()),
            _ => None,
        };
        let of = |asked: &Asked| why(&asked.kept.before).or_else(|| why(asked.kept.after.as_ref()?));
        let denied: Vec<String> = self.asked.iter().filter_map(of).collect();
        let first = denied.first()?;
        Some(format!(
            "The plans of {} of {} statements are not kept, because the server lets this role not know them ({first}); \
             it takes the rights that executing the statements takes, and those on all that their views read.",
            denied.len(),
            self.asked.len()
        ))
    }
}

/// A text as it was seen.
fn of_text(text: &str, has_values: bool) -> ToExplain {
    ToExplain {
        // One that was prepared may have parameters, which only the database can tell.
        parameterized: Some(text.to_owned()).filter(|text| text.contains(['?', '$'])),
        filled: Some(text.to_owned()),
        has_values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_that_are_missing_are_said_once() {
        let asked = |before: Explained, after: Option<Explained>| Asked {
            workload: 0,
            to_explain: ToExplain::default(),
            kept: StatementPlans {
                workload: "one".to_owned(),
                number: 1,
                statement: "select 1".to_owned(),
                before,
                after,
                remote: Vec::new(),
            },
        };
        let denied = |why: &str| Explained::Denied(why.to_owned());
        let plans = |asked| {
            let workloads = vec![0];
            Plans { workloads, asked }.denied()
        };
        assert_eq!(plans(vec![asked(Explained::HasNone, Some(Explained::HasNone))]), None);
        let said = plans(vec![
            asked(denied("no right on a"), Some(denied("no right on a"))),
            asked(Explained::HasNone, None),
            asked(Explained::NotAsked(String::new()), Some(denied("no right on b"))),
        ]);
        let said = said.unwrap();
        let begin = "The plans of 2 of 3 statements are not kept, because the server lets this role not know them (no \
                     right on a); ";
        assert!(said.starts_with(begin), "{said}");
    }
}

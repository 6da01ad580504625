//! From an experiment to the exact work of a run.

use super::counted;
use super::load_hosts::{CellHosts, OnHosts};
use super::placeholder::substitute;
use super::plan::Design;
use super::set::{STAGE, WORKLOAD};
use super::{Change, Experiment, FillPlan, SetError, StagePlan, WorkPlan, WorkloadPlan, address, driver, servers};
use dyno_analysis::summary::metrics;
use dyno_archive::plan::{
    Check, Data, Driver, Expect, Fill, Question, Resolved, Scripts, Size, Stage, Value, Workload,
};
use dyno_script::Rows;
use indexmap::IndexMap;
use std::time::Duration;

/// How long is measured where nobody says it.
const MEASURE: Duration = Duration::from_secs(60);

/// The largest number of rows that an expression may give: a double is exact up to here.
const MOST_ROWS: f64 = 9_007_199_254_740_992.0;

impl Experiment {
    /// The exact work of a run at the file's own levels: the file's values, those of `size`, then `overrides` in order.
    #[cfg(test)]
    pub(crate) fn resolve(
        &self,
        size: Size,
        overrides: &[(String, String)],
        cores: usize,
    ) -> Result<Resolved, SetError> {
        let overridden = |mut experiment: Self| {
            for (name, value) in overrides {
                experiment.set(name, &Value::from(value.as_str()))?;
            }
            Ok::<_, SetError>(experiment)
        };
        let experiment = self.at(size)?;
        let mut cell = overridden(experiment.clone())?;
        if experiment.has_dialects() {
            cell = overridden(experiment.spoken_for(&cell, size)?)?;
        }
        cell.resolved(size, cores)
    }

    /// The experiment with the values of `size`.
    pub(crate) fn at(&self, size: Size) -> Result<Self, SetError> {
        let mut experiment = self.clone();
        for (_, changes) in self.sizes.iter().filter(|(known, _)| *known == size) {
            for change in changes {
                experiment.change(change)?;
            }
        }
        Ok(experiment)
    }

    /// The experiment as it is set now, with nothing that varies.
    pub(crate) fn without_design(&self) -> Self {
        Self {
            design: Design::default(),
            sizes: Vec::new(),
            ..self.clone()
        }
    }

    /// Makes a change.
    pub(super) fn change(&mut self, change: &Change) -> Result<(), SetError> {
        match change {
            Change::Value(name, value) => return self.set(name, value),
            Change::Factor(name, levels) => self.design.vary(name, levels.clone()),
            Change::Named(name, levels) => self.vary_named(name, levels),
            Change::Baseline(levels) => self.design.baseline.clone_from(levels),
            Change::Exclude(cells) => self.design.exclude.clone_from(cells),
            Change::Include(cells) => self.design.include.clone_from(cells),
        }
        Ok(())
    }

    /// The exact work of a run, as everything is set now.
    pub(crate) fn resolved(self, size: Size, cores: usize) -> Result<Resolved, SetError> {
        let parameters = self.parameters;
        let checks = self.checks.into_iter().map(|check| check_of(check, &parameters));
        let outputs = self.outputs.into_iter().map(|output| question_of(output, &parameters));
        let fill = self.fill.into_iter().map(|plan| {
            let rows = plan.row_count(&parameters)?;
            let seed = plan.seed(&parameters)?;
            for column in plan.columns.keys() {
                plan.check_column(column, &parameters)?;
            }
            let columns = plan.columns.into_iter();
            Ok(Fill {
                rows,
                table: plan.table,
                columns: columns
                    .map(|(name, expression)| (name, substitute(&expression, &parameters)))
                    .collect(),
                seed,
                file: plan.file,
            })
        });
        let selected = self.selected;
        let metrics = self.metrics.into_iter().filter(|(_, expression)| {
            let left_out = |name: &str| !selected.is_empty() && !selected.iter().any(|selected| selected == name);
            !metrics::workloads(expression).any(left_out)
        });
        let metrics = metrics.collect();
        let runs = |name: &String| selected.is_empty() || selected.contains(name);
        let hosts = CellHosts::of(self.load_hosts, self.hosts, self.hosts_replaced)?;
        let (further, instances) = servers::further(self.servers, &parameters, size, cores)?;
        let checks = servers::asked(checks, "check", |check| &mut check.question, &instances)?;
        let outputs = servers::asked(outputs, "output", |output| output, &instances)?;
        let drivers = driver::Places::of(&self.workloads);
        let workloads = self.workloads.into_iter().filter(|plan| runs(&plan.name));
        let workloads = workloads.map(|plan| {
            let in_turn = (plan.hosts == OnHosts::InTurn).then_some(hosts.number());
            Ok((plan.sum, in_turn, plan.resolved(cores, &hosts, &parameters)?))
        });
        let mut workloads = servers::on_instances(workloads.collect::<Result<_, _>>()?, &instances)?;
        let load_hosts = hosts.in_use(&mut workloads);
        check_languages(&workloads)?;
        let prepare = self.prepare.map(|plan| plan.resolved(&parameters)).transpose();
        let prepare = prepare.map_err(|refused| of_option("data", refused))?;
        let staged = !self.stages.is_empty();
        let stages = self
            .stages
            .into_iter()
            .filter_map(|plan| plan.resolved(&runs, &workloads));
        let stages: Vec<_> = stages.collect();
        for stage in &stages {
            check_clients(stage, &workloads)?;
        }
        if stages.is_empty() && staged {
            return Err(SetError::Invalid {
                name: WORKLOAD.to_owned(),
                value: selected.join("+"),
                reason: "no stage runs it".to_owned(),
            });
        }
        let is_counted = workloads
            .iter()
            .any(|workload| workload.transactions_per_client.is_some());
        let measure = match stages.as_slice() {
            [] if is_counted => None,
            [] => self.measure.or(Some(MEASURE)),
            stages => stages
                .iter()
                .try_fold(Duration::ZERO, |sum, stage| Some(sum.saturating_add(stage.lasts?))),
        };
        let resolved = servers::checked(Resolved {
            server_name: self.server_name,
            servers: further,
            data: Data {
                setup: substitute(&self.setup, &parameters),
                setup_place: self.setup_place,
                fill: fill.collect::<Result<_, _>>()?,
                prepare,
                finish: substitute(&self.finish, &parameters),
                finish_place: self.finish_place,
                read_only: self.read_only,
                state: self.state,
                cache: self.cache,
                tablespaces: self.tablespaces,
            },
            settings: self
                .settings
                .into_iter()
                .map(|(name, value)| (name, substitute(&value, &parameters)))
                .collect(),
            name: self.name,
            title: self.title,
            question: self.question,
            source: self.source,
            group: self.group,
            size: Some(size),
            target: self.target.map(address),
            path: self.path,
            locale: self.locale,
            parameters,
            warmup: self.warmup.unwrap_or_else(|| counted::usual_warmup(&workloads)),
            measure,
            limit: self.measure.filter(|_| is_counted && stages.is_empty()),
            grace: self.grace,
            interval: self.interval,
            load_hosts,
            workloads,
            stages,
            metrics,
            limits: self.limits,
            checks,
            outputs,
        })?;
        drivers.check(&resolved)?;
        counted::check(&resolved)?;
        Ok(resolved)
    }
}

/// A check with its parameters.
fn check_of(check: Check, parameters: &IndexMap<String, Value>) -> Check {
    Check {
        question: question_of(check.question, parameters),
        expect: match check.expect {
            Expect::Rows(mut rows) => {
                for value in rows.iter_mut().flatten() {
                    *value = substitute(value, parameters);
                }
                Expect::Rows(rows)
            }
            limits @ Expect::Number { .. } => limits,
        },
    }
}

/// A question with its parameters.
fn question_of(question: Question, parameters: &IndexMap<String, Value>) -> Question {
    Question {
        sql: substitute(&question.sql, parameters),
        ..question
    }
}

/// Says which option of what cannot have its value.
fn of_option(whose: &str, (name, value, reason): (String, Value, String)) -> SetError {
    SetError::Invalid {
        name: format!("{whose}.{name}"),
        value: value.to_string(),
        reason,
    }
}

/// Makes sure that workloads which run side by side are in one language: their clients are driven by one program.
fn check_languages(workloads: &[Workload]) -> Result<(), SetError> {
    let is_lua = |workload: &&Workload| workload.scripts.lua().is_some();
    let number = workloads.iter().filter(is_lua).count();
    if number == 0 || number == workloads.len() {
        return Ok(());
    }
    let names: Vec<_> = workloads.iter().map(|workload| workload.name.as_str()).collect();
    Err(SetError::Invalid {
        name: WORKLOAD.to_owned(),
        value: names.join("+"),
        reason: "workloads that run at the same time must all be in Lua, or none of them; let them run one after the \
                 other, as levels of the factor `workload`"
            .to_owned(),
    })
}

/// Makes sure that a stage has no more clients than one of its workloads, at least, has.
fn check_clients(stage: &Stage, workloads: &[Workload]) -> Result<(), SetError> {
    let runs = |workload: &&Workload| stage.workloads.is_empty() || stage.workloads.contains(&workload.name);
    let most = workloads.iter().filter(runs).map(|workload| workload.clients).max();
    let (Some(span), Some(most)) = (stage.clients, most) else {
        return Ok(());
    };
    let wanted = span.from.max(span.to);
    if wanted > most as f64 {
        return Err(SetError::Invalid {
            name: format!("{STAGE}.{}.clients", stage.name),
            value: wanted.to_string(),
            reason: format!("expected at most {most}, because its workloads have no more clients"),
        });
    }
    Ok(())
}

impl FillPlan {
    /// How many rows these parameters make.
    pub(super) fn row_count(&self, parameters: &IndexMap<String, Value>) -> Result<u64, SetError> {
        let rows = substitute(&self.rows, parameters);
        let whole = |rows: &f64| rows.fract() == 0.0 && (0.0..=MOST_ROWS).contains(rows);
        let number = match Value::from(rows.as_str()).to_integer() {
            Some(rows) => u64::try_from(rows).ok(),
            None => {
                let rows = metrics::calculate(&rows, |_| None).ok().filter(whole);
                rows.map(|rows| rows as u64)
            }
        };
        number.ok_or_else(|| SetError::Invalid {
            name: format!("fill.{}.rows", self.table),
            value: rows,
            reason: "expected a whole number from 0 on, or an expression such as {scale} * 100000".to_owned(),
        })
    }

    /// The seed with these parameters, if dyno makes the rows.
    pub(super) fn seed(&self, parameters: &IndexMap<String, Value>) -> Result<Option<u64>, SetError> {
        let Some(seed) = &self.seed else {
            return Ok(None);
        };
        let seed = substitute(seed, parameters);
        seed.parse().map(Some).map_err(|_| SetError::Invalid {
            name: format!("fill.{}.seed", self.table),
            value: seed,
            reason: "expected a whole number from 0 on".to_owned(),
        })
    }

    /// Makes sure that dyno understands the expression of a column, with these parameters, if it makes the rows.
    pub(super) fn check_column(&self, column: &str, parameters: &IndexMap<String, Value>) -> Result<(), SetError> {
        let (Some(seed), Some(expression)) = (self.seed(parameters)?, self.columns.get(column)) else {
            return Ok(());
        };
        let expression = substitute(expression, parameters);
        let compiled = Rows::compile(&self.table, seed, [(column, expression.as_str())]);
        compiled.map(drop).map_err(|error| SetError::Invalid {
            name: format!("fill.{}.generate.{column}", self.table),
            value: expression.split_whitespace().collect::<Vec<_>>().join(" "),
            reason: error.message,
        })
    }
}

impl WorkloadPlan {
    /// The workload on its load hosts, of which each has a thread at least.
    fn resolved(
        self,
        cores: usize,
        hosts: &CellHosts,
        parameters: &IndexMap<String, Value>,
    ) -> Result<Workload, SetError> {
        let load_hosts = hosts.places(&self.name, &self.hosts)?;
        let driven_by = match (&self.hosts, load_hosts.len()) {
            (OnHosts::InTurn, _) => 1,
            (_, 0) => hosts.number().max(1),
            (_, number) => number,
        };
        let scripts = match self.scripts {
            WorkPlan::Scripts(scripts) => scripts,
            WorkPlan::Lua(plan) => {
                let script = plan.resolved(parameters);
                Scripts::Lua(Box::new(script.map_err(|refused| of_option(&self.name, refused))?))
            }
        };
        Ok(Workload {
            // A driver that blocks has a thread for each client.
            threads: match self.driver {
                Driver::Dyno => self
                    .threads
                    .unwrap_or(cores.saturating_mul(driven_by))
                    .max(driven_by)
                    .min(self.clients),
                Driver::Oracledb => self.clients,
            },
            name: self.name,
            clients: self.clients,
            protocol: self.protocol,
            driver: self.driver,
            rate_per_s: self.rate_per_s,
            transactions_per_client: self.transactions,
            start_delay: self.start_delay,
            scripts,
            server: self.server,
            instances: None,
            load_hosts,
        })
    }
}

impl StagePlan {
    /// The stage with those of its workloads that run, each as often as it is among `workloads`; `None` if none does.
    fn resolved(self, runs: &impl Fn(&String) -> bool, workloads: &[Workload]) -> Option<Stage> {
        let of_all = self.workloads.is_empty();
        let named = self.workloads.into_iter().filter(runs);
        let workloads: Vec<_> = named
            .flat_map(|name| {
                let is_its = move |workload: &&Workload| match &workload.instances {
                    Some(instances) => instances.of == name,
                    None => workload.name == name,
                };
                workloads.iter().filter(is_its).map(|workload| workload.name.clone())
            })
            .collect();
        (of_all || !workloads.is_empty()).then_some(Stage {
            name: self.name,
            lasts: self.lasts.filter(|_| !self.until_done),
            limit: self.lasts.filter(|_| self.until_done),
            clients: self.clients,
            rate: self.rate,
            workloads,
        })
    }
}

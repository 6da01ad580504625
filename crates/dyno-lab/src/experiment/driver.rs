//! What speaks to the server for the clients: one driver for all workloads of a run, and one that can.

use super::servers::product_of;
use super::set::WORKLOAD;
use super::{SetError, WorkloadPlan};
use dyno_archive::plan::{Driver, Resolved};

/// The only database that has a driver of its own.
const ORACLE: &str = "oracle";

/// Where the file says what the driver of a workload is, by the workload's name.
pub(super) struct Places(Vec<(String, Option<String>)>);

impl Places {
    /// Of these workloads.
    pub fn of(workloads: &[WorkloadPlan]) -> Self {
        let each = workloads.iter();
        Self(
            each.map(|plan| (plan.name.clone(), plan.driver_place.clone()))
                .collect(),
        )
    }

    /// Makes sure that the drivers of a run can be used.
    ///
    /// # Errors
    /// A driver does not speak to the target, or workloads that run side by side have different ones.
    pub fn check(&self, experiment: &Resolved) -> Result<(), SetError> {
        let workloads = &experiment.workloads;
        for workload in workloads.iter().filter(|workload| !workload.driver.is_default()) {
            let product = product_of(experiment, experiment.server_of(workload));
            if let Some(product) = product.filter(|product| product.key() != ORACLE) {
                let of = workload
                    .instances
                    .as_ref()
                    .map_or(&workload.name, |instances| &instances.of);
                let place = self
                    .0
                    .iter()
                    .find(|(name, _)| name == of)
                    .and_then(|(_, place)| place.as_ref());
                return Err(SetError::Invalid {
                    name: format!("{}.driver", workload.name),
                    value: workload.driver.to_string(),
                    reason: format!(
                        "{}it speaks to Oracle, and the target is {}; leave the driver out, or measure an Oracle \
                         server: --target oracle://user@host/service",
                        place.map_or_else(String::new, |place| format!("(at {place}) ")),
                        product.name()
                    ),
                });
            }
        }
        let differs = |driver: Driver| workloads.iter().any(|workload| workload.driver != driver);
        match workloads.first() {
            Some(first) if differs(first.driver) => {
                let names: Vec<_> = workloads.iter().map(|workload| workload.name.as_str()).collect();
                Err(SetError::Invalid {
                    name: WORKLOAD.to_owned(),
                    value: names.join("+"),
                    reason: "workloads that run at the same time must all have one driver; let them run one after the \
                             other, as levels of the factor `workload`"
                        .to_owned(),
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]
mod tests {
    use crate::experiment::Experiment;
    use dyno_archive::plan::{Driver, Size};
    use std::path::Path;

    const FILE: &str = "title = \"t\"\n[[workload]]\nname = \"a\"\nclients = 3\nthreads = 2\ndriver = \"oracledb\"\n\
                        script = \"select 1\"\n[[workload]]\nname = \"b\"\nscript = \"select 2\"\n";

    /// The drivers and threads of the workloads, or why there are none.
    fn resolved(set: &[(&str, &str)]) -> Result<Vec<(Driver, usize)>, String> {
        let experiment = Experiment::parse(Path::new("mine.toml"), FILE).unwrap();
        let set: Vec<_> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let resolved = experiment
            .resolve(Size::Full, &set, 2)
            .map_err(|error| error.to_string())?;
        let workloads = resolved.workloads.iter();
        Ok(workloads.map(|workload| (workload.driver, workload.threads)).collect())
    }

    #[test]
    fn a_driver_of_oracles_is_for_oracle() {
        let target = ("target", "oracle://u@h/s");
        assert_eq!(resolved(&[target, ("workload", "a")]), Ok(vec![(Driver::Oracledb, 3)]));
        let both = [(Driver::Oracledb, 3), (Driver::Oracledb, 1)];
        assert_eq!(resolved(&[target, ("driver", "oracledb")]), Ok(both.to_vec()));
        assert_eq!(
            resolved(&[("driver", "dyno")]),
            Ok(vec![(Driver::Dyno, 2), (Driver::Dyno, 1)])
        );
    }

    #[test]
    fn on_other_databases_it_is_refused_with_its_place() {
        assert_eq!(
            resolved(&[("workload", "a")]).unwrap_err(),
            "`a.driver` cannot be `oracledb`: (at mine.toml:6) it speaks to Oracle, and the target is PostgreSQL; \
             leave the driver out, or measure an Oracle server: --target oracle://user@host/service"
        );
        let error = resolved(&[("target", "mysql://u@h/d"), ("driver", "oracledb")]).unwrap_err();
        assert!(
            error.starts_with("`a.driver` cannot be `oracledb`: it speaks to Oracle"),
            "{error}"
        );
    }

    #[test]
    fn workloads_side_by_side_have_one_driver() {
        let error = resolved(&[("target", "oracle://u@h/s")]).unwrap_err();
        assert!(error.starts_with("`workload` cannot be `a+b`: workloads that run at the same time must all have one"));
    }
}

//! Who else had the machine of a load.

use crate::recording::others;
use crate::series::{Series, Window};
use crate::throughput::Throughput;
use dyno_archive::Run;
use dyno_archive::summary::{OthersBusy, Warning};
use dyno_record::Meaning;
use std::collections::HashMap;

/// Who has more than this share of the cores is who others wait for.
const MOST_CORES: f64 = 0.5;

/// Says in the warning that the machine of `run` had no time left that others had it, where most of it was theirs.
pub fn name_others(run: &Run, warnings: &mut [Warning]) {
    let busy = warnings.iter_mut().filter_map(|warning| match warning {
        Warning::LoadHostBusy { others, .. } => Some(others),
        _ => None,
    });
    for others in busy {
        *others = busy_others(run);
    }
}

/// What neither dyno nor the server used, if that was most.
fn busy_others(run: &Run) -> Option<OthersBusy> {
    let of_cores = run.record.as_ref().ok()?.host.get("cores")?.as_f64()?;
    let samples = run.host_samples(|meaning| meaning == Meaning::OtherCpuS);
    let cores = Series::rate(&samples.at_s, samples.column(Meaning::OtherCpuS)?);
    let measured = Throughput::read(run).0.measured();
    most(&cores, &others(run.processes()), measured, of_cores)
}

fn most(cores: &Series, each: &HashMap<String, Series>, measured: Window, of_cores: f64) -> Option<OthersBusy> {
    let cores = cores
        .mean_in(measured)
        .filter(|cores| *cores >= MOST_CORES * of_cores)?;
    let each = each
        .iter()
        .filter_map(|(name, cores)| Some((name, cores.mean_in(measured)?)));
    let busiest = each.max_by(|one, other| one.1.total_cmp(&other.1).then_with(|| other.0.cmp(one.0)));
    Some(OthersBusy {
        cores,
        of_cores,
        busiest: busiest.map(|(name, _)| name.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(value: f64) -> Series {
        let mut series = Series::default();
        series.push(MEASURED, value);
        series
    }

    const MEASURED: Window = Window {
        start_s: 0.0,
        end_s: 10.0,
    };

    #[test]
    fn who_has_most_of_the_machine_is_named() {
        let each = HashMap::from([("cc1plus".to_owned(), series(1.2)), ("cron".to_owned(), series(0.1))]);
        let found = most(&series(1.67), &each, MEASURED, 2.0).unwrap();
        let warning = Warning::LoadHostBusy {
            idle_percent: 0.0,
            server_too: true,
            others: Some(found),
        };
        let said = warning.to_string();
        assert!(said.contains("kept 1.7 of 2 cores"), "{said}");
        assert!(said.contains("cc1plus most of all"), "{said}");
        // Server and load had more of it than they.
        assert_eq!(most(&series(0.9), &each, MEASURED, 2.0), None);
        let unnamed = most(&series(1.67), &HashMap::new(), MEASURED, 2.0).unwrap();
        assert_eq!(unnamed.busiest, None);
    }
}

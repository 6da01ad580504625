//! The results in a few sentences.

use super::annotations::cause_words;
use super::model::Headline;
use super::recorded::Recorded;
use super::run::{state_words, steady_words};
use crate::campaign::latencies::percentile_words;
use crate::completion::{end_words, figure_words};
use crate::figures::{count, counted, one_line, percent, rate, time};
use dyno_archive::analysis::Analysis;
use dyno_archive::summary::{Completion, LONG_INTERVAL_S, Pacing, Summary, WorkloadSummary};
use indexmap::IndexMap;

/// Into so many batches the intervals of a run are put together: few enough that each is long, and neighbours hardly
/// depend on each other.
const BATCHES: usize = 20;

/// The quantile of Student's t-distribution for 95 % on both sides with `BATCHES` - 1 degrees of freedom.
const T_19: f64 = 2.093;

/// The results of a single run: a headline for each workload.
pub(super) fn of_run(recorded: &Recorded) -> Vec<Headline> {
    let Ok(summary) = &recorded.summary else {
        return vec![Headline {
            subject: recorded.name.clone(),
            figure: "no figures".to_owned(),
            interval: String::new(),
            verdict: state_words(recorded),
        }];
    };
    let steady = recorded.analysis.as_ref().is_some_and(|analysis| analysis.steady.found);
    let interval_s = recorded.run.record.as_ref().map_or(1.0, |record| record.interval_s);
    let several = summary.workloads.len() > 1;
    let common = common(recorded);
    let of = |workload: &WorkloadSummary| {
        let tps = recorded.tps.get(&workload.name).map_or(&[][..], Vec::as_slice);
        Headline {
            subject: workload.name.clone(),
            figure: figure_words(workload),
            // A time is what it is.
            interval: match workload.completion == Completion::default() {
                true => interval_words(tps, interval_s, steady),
                false => String::new(),
            },
            verdict: joined([
                latency_words(summary, workload),
                end_words(workload),
                errors_words(workload),
                if several { String::new() } else { common.clone() },
            ]),
        }
    };
    let mut headlines: Vec<Headline> = summary.workloads.iter().map(of).collect();
    headlines.extend(summary.metrics.iter().map(|(name, metric)| Headline {
        subject: crate::figures::one_line(name),
        figure: rate(*metric),
        ..Headline::default()
    }));
    // What holds for all workloads is not said of each.
    let dips = recorded.analysis.as_ref().map(|analysis| match analysis.dips_found() {
        None => "dips not looked for".to_owned(),
        Some(0) => "no dips".to_owned(),
        Some(dips) => counted(dips as u64, "dip"),
    });
    let dips_known = dips.is_some();
    let whole = Headline {
        subject: "the run as a whole".to_owned(),
        figure: dips.unwrap_or_else(|| recorded.run.state.to_string()),
        interval: String::new(),
        verdict: common,
    };
    let says = |whole: &Headline| dips_known || !whole.verdict.is_empty();
    headlines.extend(Some(whole).filter(|whole| several && says(whole)));
    headlines
}

/// Sentences in a row, those that say anything.
fn joined<const N: usize>(sentences: [String; N]) -> String {
    let said: Vec<String> = sentences.into_iter().filter(|words| !words.is_empty()).collect();
    said.join(" ")
}

/// The interval of the mean by batch means: 20 batches of neighbouring intervals, whose means are nearly independent
/// of each other where single intervals are not (A. M. Law and W. D. Kelton, "Simulation Modeling and Analysis", on
/// steady-state output). As for a steady state, intervals shorter than a second count together as one.
fn interval_words(tps: &[f64], interval_s: f64, steady: bool) -> String {
    // A little less, so that a tenth of a second goes ten times into one.
    let together = (1.0 / interval_s - 1e-6).ceil().max(1.0) as usize;
    let needed = together.saturating_mul(3 * BATCHES);
    if tps.len() < needed {
        let (which, of) = match interval_s > LONG_INTERVAL_S {
            true => (", which need not last longer than 1 s", format!(" of {interval_s} s")),
            false => ("", String::new()),
        };
        return format!(
            "no 95 % confidence interval: it needs {} intervals{which}, and this run has {}{of}",
            count(needed as u64),
            count(tps.len() as u64)
        );
    }
    if !steady {
        return "no 95 % confidence interval, because no steady state was found".to_owned();
    }
    let batch = |number: usize| &tps[number * tps.len() / BATCHES..(number + 1) * tps.len() / BATCHES];
    let mean = |batch: &[f64]| batch.iter().sum::<f64>() / batch.len() as f64;
    let means: dyno_stats::Running = (0..BATCHES).map(|number| mean(batch(number))).collect();
    let (Some(mean), Some(stddev)) = (means.mean(), means.stddev()) else {
        return String::new();
    };
    let half = T_19 * stddev / (BATCHES as f64).sqrt();
    if mean <= half {
        return "no 95 % confidence interval, because the throughput varied by more than its mean".to_owned();
    }
    let (low, high) = (rate(mean - half), rate(mean + half));
    format!(
        "95 % confidence interval {low} to {high}, from batch means of this run alone; another run may differ by more"
    )
}

fn latency_words(summary: &Summary, workload: &WorkloadSummary) -> String {
    let Some(latency) = workload.latency else {
        return "No transaction completed.".to_owned();
    };
    let of = match workload.pacing {
        Pacing::Closed => "in a closed loop",
        Pacing::Staged { closed: true, .. } => "from the scheduled instant in stages with a rate",
        Pacing::Open { .. } | Pacing::Staged { .. } => "from the scheduled instant",
    };
    let max = time(latency.max_us);
    let percentiles = percentile_words(summary, workload).map_or_else(String::new, |words| format!("{words}, "));
    format!("Latency {of}: {percentiles}at most {max}.")
}

fn errors_words(workload: &WorkloadSummary) -> String {
    match workload.errors {
        0 => String::new(),
        errors => format!(
            "{} failed ({}).",
            counted(errors, "transaction"),
            percent(workload.error_percent())
        ),
    }
}

/// What holds for the run as a whole.
fn common(recorded: &Recorded) -> String {
    let analysed = recorded.analysis.as_ref().map_or_else(String::new, analysis_words);
    joined([state_words(recorded), analysed])
}

/// Whether it was steady, and how many dips it had by which causes.
fn analysis_words(analysis: &Analysis) -> String {
    let steady = steady_words(&analysis.steady);
    let none = match analysis.no_dips_because.as_str() {
        "" => "No dips.".to_owned(),
        // It has just been said.
        because if because == analysis.steady.reason => "Dips were not looked for.".to_owned(),
        because => format!("Dips not looked for: {}.", one_line(because)),
    };
    if analysis.dips.is_empty() {
        return format!("{steady} {none}").trim_start().to_owned();
    }
    let mut causes: IndexMap<String, usize> = IndexMap::new();
    for dip in &analysis.dips {
        *causes.entry(cause_words(dip)).or_default() += 1;
    }
    causes.sort_by(|_, one, _, other| other.cmp(one));
    let causes = causes.iter().map(|(cause, number)| format!("{number} × {cause}"));
    let dips = counted(analysis.dips.len() as u64, "dip");
    format!("{steady} {dips} ({}).", causes.collect::<Vec<_>>().join(", "))
        .trim_start()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::analysis::Steady;

    #[test]
    fn no_dips_are_said_only_where_they_were_looked_for() {
        let words = |reason: &str, because: &str| {
            analysis_words(&Analysis {
                steady: Steady {
                    reason: reason.to_owned(),
                    ..Steady::default()
                },
                no_dips_because: because.to_owned(),
                ..Analysis::default()
            })
        };
        assert_eq!(words("", ""), "No dips.");
        let few = "3 intervals are too few; at least 10 are needed";
        assert_eq!(
            words("TPS rose", few),
            format!("No steady state was found: TPS rose. Dips not looked for: {few}.")
        );
        assert_eq!(
            words("it stood still", "it stood still"),
            "No steady state was found: it stood still. Dips were not looked for."
        );
    }

    #[test]
    fn an_interval_needs_many_intervals_and_a_steady_state() {
        let few = [100.0; 20];
        let words = interval_words(&few, 1.0, true);
        assert_eq!(
            words,
            "no 95 % confidence interval: it needs 60 intervals, and this run has 20"
        );
        assert_eq!(
            interval_words(&few, 30.0, true),
            "no 95 % confidence interval: it needs 60 intervals, which need not last longer than 1 s, and this run \
             has 20 of 30 s"
        );
        // A steady state cannot be found in 120 intervals of 50 ms.
        assert_eq!(
            interval_words(&[100.0; 120], 0.05, false),
            "no 95 % confidence interval: it needs 1,200 intervals, and this run has 120"
        );
        assert!(interval_words(&[100.0; 600], 0.1, false).contains("no steady state"));
        // Most of the time nothing was done.
        let rare: Vec<f64> = (0..200).map(|second| if second == 150 { 900.0 } else { 0.0 }).collect();
        let words = interval_words(&rare, 1.0, true);
        assert!(words.starts_with("no 95 % confidence interval, because"), "{words}");
        let values: Vec<f64> = (0..200).map(|second| 1_000.0 + f64::from(second * 37 % 23)).collect();
        assert!(interval_words(&values, 1.0, false).starts_with("no 95 % confidence interval"));
        let words = interval_words(&values, 1.0, true);
        assert!(words.starts_with("95 % confidence interval 1,010 to 1,011"), "{words}");
    }
}

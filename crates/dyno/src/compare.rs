//! `dyno compare`: one campaign judged against another.

use crate::cli::{CompareArguments, ComparisonFormat};
use crate::failure::Failure;
use crate::{look, pipeline, say, written};
use dyno_analysis::comparison;
use dyno_archive::{Archive, Campaign};
use dyno_report::{self as report, Checks, Limits, document, html};

/// `dyno compare`.
pub fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let archive = Archive::new(&arguments.archive.archive);
    let baseline = look::campaign(&archive, Some(&arguments.baseline))?;
    let candidate = look::campaign(&archive, Some(&arguments.campaign))?;
    let folder = |campaign: &Campaign| campaign.path.canonicalize();
    if folder(&baseline)? == folder(&candidate)? {
        return Err(format!("{} cannot be compared with itself; name two campaigns", baseline.name()).into());
    }
    let comparison = comparison::compare(&baseline, &candidate);
    let text = match arguments.format {
        ComparisonFormat::Text => report::comparison(&baseline, &candidate, &comparison),
        ComparisonFormat::Json => report::comparison_json(&comparison)?,
        ComparisonFormat::Html => html::page(&document::of_comparison(&baseline, &candidate, &comparison))?,
    };
    match &arguments.output {
        Some(file) => written::write(file, text)?,
        None => say::result(&text)?,
    }
    let limits = Limits {
        worse: arguments.fail_if_worse,
        unsure: false,
    };
    let told = pipeline::tell(&arguments.pipeline, &Checks::of_comparison(&comparison, limits));
    pipeline::both(judge(arguments, &comparison), told)
}

/// What the caller wants to be told of by the exit code.
fn judge(arguments: &CompareArguments, comparison: &comparison::Comparison) -> Result<(), Failure> {
    // A gate that saw nothing must not let anything pass.
    if !comparison.workloads().any(|(_, workload)| workload.is_compared()) {
        let (one, other) = (&comparison.baseline.name, &comparison.candidate.name);
        return Err(format!(
            "nothing could be compared: {one} and {other} have no complete runs of the same cell and workload in the \
             same kind of loop"
        )
        .into());
    }
    match arguments.fail_if_worse {
        Some(least) => gate(comparison, least),
        None => Ok(()),
    }
}

/// Fails if anything is worse by at least the share `least`.
fn gate(comparison: &comparison::Comparison, least: f64) -> Result<(), Failure> {
    if let Some(losses) = report::losses(comparison, least) {
        return Err(Failure::Gate(format!(
            "worse by at least {} %: {losses}",
            least * 100.0
        )));
    }
    let missing = comparison.baseline.unmatched.len();
    if missing > 0 {
        say::aside(&format!(
            "note: {missing} of the baseline's cells could not be compared: {} has no complete runs of them.",
            comparison.candidate.name
        ));
    }
    let unknown = comparison.verdict_counts().unknown;
    if unknown > 0 {
        say::aside(&format!(
            "note: {unknown} of {} measures cannot be judged yet, and do not fail.",
            comparison.verdict_counts().all()
        ));
    }
    Ok(())
}

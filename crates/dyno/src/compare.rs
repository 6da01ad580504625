//! `dyno compare`: one campaign, or several that are taken together, judged against another.

use crate::cli::{CompareArguments, ComparisonFormat};
use crate::failure::Failure;
use crate::{look, page, pipeline, say, written};
use dyno_analysis::comparison::{self, Pool};
use dyno_archive::Archive;
use dyno_report::{self as report, Checks, Limits, Page, document, html, markdown};

/// `dyno compare`.
pub fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let archive = Archive::new(&arguments.archive.archive);
    let sides = [&arguments.baseline, &arguments.campaign];
    let [baseline, candidate] = sides.map(|names| look::pooled(&archive, names));
    let (baseline, candidate) = (baseline?, candidate?);
    look::apart(baseline.iter().chain(&candidate))?;
    let (baseline, candidate) = (Pool::from_iter(&baseline), Pool::from_iter(&candidate));
    let comparison = comparison::compare(&baseline, &candidate);
    let output = arguments.output.as_ref().filter(|output| output.as_os_str() != "-");
    let page = match output {
        Some(_) => Page::default(),
        None => page::of_results(),
    };
    let text = match arguments.format {
        ComparisonFormat::Text => report::comparison(&baseline, &candidate, &comparison, page),
        ComparisonFormat::Md => {
            let document = document::of_comparison_in_brief(&baseline, &candidate, &comparison);
            markdown::paper(&document, |_| None)
        }
        ComparisonFormat::Json => report::comparison_json(&comparison)?,
        ComparisonFormat::Html => html::page(&document::of_comparison(&baseline, &candidate, &comparison))?,
    };
    match output {
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

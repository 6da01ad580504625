//! Everything that is known of one campaign or run.

use crate::analysis::{analysis, with_warnings};
use crate::campaign::overview;
use crate::figures::{duration, one_line};
use crate::summary::summary;
use crate::table::facts;
use dyno_analysis::analyse;
use dyno_analysis::summary::summary_of;
use dyno_archive::analysis::Analysis;
use dyno_archive::summary::Summary;
use dyno_archive::{Campaign, Run, RunRecord, RunState};
use std::time::Duration;

/// A campaign: what all its runs show together, or its only run in full.
#[must_use]
pub fn campaign(campaign: &Campaign) -> String {
    let mut text = match &campaign.record {
        Ok(record) => {
            let experiment = &record.experiment;
            let mut heading = format!("{}: {}\n", one_line(&experiment.name), one_line(&experiment.title));
            if !experiment.question.is_empty() {
                heading.push_str(&experiment.question);
                heading.push('\n');
            }
            let about = [
                ("source", experiment.source.clone()),
                (
                    "size",
                    experiment.size.map_or_else(String::new, |size| size.to_string()),
                ),
                ("began", record.started.strftime("%Y-%m-%d %H:%M:%S %:z").to_string()),
                ("command", one_line(&record.command)),
            ];
            heading + "\n" + &facts(about.into_iter().filter(|(_, value)| !value.is_empty()))
        }
        Err(error) => format!("{error}\n"),
    };
    text.push('\n');
    // One run is the whole campaign; of several what they show together comes first, and each by itself on request.
    match campaign.runs.as_slice() {
        [only] if campaign.record.as_ref().map_or(1, |record| record.runs.len()) < 2 => text.push_str(&run(only)),
        _ => {
            text.push_str(&overview(campaign));
            text.push_str(&format!(
                "\nFor the details of a run: dyno show {} RUN\n",
                campaign.name()
            ));
        }
    }
    text
}

/// A run: its facts and its summary.
#[must_use]
pub fn run(run: &Run) -> String {
    let mut text = format!("{} ({})\n\n", run.name(), run.state);
    match &run.record {
        Ok(record) => {
            let seconds = |seconds: f64| duration(Duration::try_from_secs_f64(seconds).unwrap_or_default());
            let phases = record.phases.iter().map(|phase| {
                let lasted = phase
                    .start_s
                    .zip(phase.end_s)
                    .map(|(start_s, end_s)| seconds(end_s - start_s));
                let planned = phase.planned_s.map(|planned_s| format!("of {}", seconds(planned_s)));
                let parts = [Some(phase.name.clone()), lasted, planned];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
            });
            let phases = phases.collect::<Vec<_>>().join(", ");
            let cell = record.cell.iter().map(|(factor, level)| format!("{factor} = {level}"));
            let faulty = record.failure.as_deref().filter(|_| run.state == RunState::Faulty);
            let about = [
                ("not counted", faulty.map_or_else(String::new, one_line)),
                ("cell", cell.collect::<Vec<_>>().join(", ")),
                ("target", one_line(&record.target)),
                (
                    "server",
                    record
                        .server
                        .get("version")
                        .and_then(|version| version.as_str())
                        .map_or_else(String::new, one_line),
                ),
                (
                    "locale",
                    locale(&record.server).map_or_else(String::new, |locale| one_line(&locale)),
                ),
                ("phases", phases),
                ("transport", record.transport.clone().unwrap_or_default()),
                ("clock", clock(record).unwrap_or_default()),
            ];
            text.push_str(&facts(about.into_iter().filter(|(_, value)| !value.is_empty())));
        }
        Err(error) => text.push_str(&format!("  {error}\n")),
    }
    text.push('\n');
    match summary_of(run) {
        Ok(figures) => {
            let analysed = analysis_of(run, &figures);
            text.push_str(&summary(&with_warnings(figures, analysed.as_ref())));
            if let Some(analysed) = analysed {
                text.push('\n');
                text.push_str(&analysis(&analysed));
            }
        }
        Err(error) => text.push_str(&format!("  There are no figures: {error}\n")),
    }
    text.push_str(&format!("\nAll data: {}\n", run.path.display()));
    text
}

/// The clock that times were taken with, and how long reading it takes.
/// How the measured database orders text and knows letters; earlier dynos did not record it.
pub(crate) fn locale(server: &serde_json::Value) -> Option<String> {
    let locale = server.get("locale")?;
    let of = |key: &str| locale.get(key)?.as_str();
    let mut text = format!(
        "{}, collate {}, ctype {}",
        of("encoding")?,
        of("collate")?,
        of("ctype")?
    );
    if let Some(name) = of("locale") {
        text.push_str(&format!(", {} {name}", of("provider")?));
    }
    if let Some(version) = of("version") {
        text.push_str(&format!(", version {version}"));
    }
    Some(text)
}

fn clock(record: &RunRecord) -> Option<String> {
    let source = record.host.get("clock_source")?.as_str()?;
    let read_ns = record.host.get("clock_read_ns")?.as_u64()?;
    Some(format!("{}, read in {read_ns} ns", one_line(source)))
}

/// What the recording of a run shows. Runs of earlier dynos, and those whose dyno was killed, are analysed now.
pub(crate) fn analysis_of(run: &Run, figures: &Summary) -> Option<Analysis> {
    let archived = run.record.as_ref().ok().and_then(|record| record.analysis.clone());
    let recorded = || run.intervals().is_ok_and(|mut rows| rows.next().is_some());
    archived.or_else(|| (figures.measured_s > 0.0 && recorded()).then(|| analyse(run)))
}

#[cfg(test)]
mod tests {
    use crate::fixture::write_archive;
    use dyno_archive::Archive;
    use insta::assert_snapshot;

    #[test]
    fn complete_failed_and_killed_runs() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let campaigns = Archive::new(folder.path()).campaigns().unwrap();
        let text: Vec<_> = campaigns.iter().map(super::campaign).collect();
        let text = text
            .join("\n----\n\n")
            .replace(&folder.path().display().to_string(), "archive");
        assert_snapshot!(text);
    }

    #[test]
    fn a_run_of_which_nothing_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let mut campaigns = Archive::new(folder.path()).campaigns().unwrap();
        let campaign = campaigns.remove(0);
        std::fs::write(campaign.path.join("campaign.json"), "{").unwrap();
        std::fs::write(campaign.runs[0].path.join("run.json"), "").unwrap();
        let campaign = Archive::new(folder.path()).campaigns().unwrap().remove(0);
        let text = super::campaign(&campaign).replace(&folder.path().display().to_string(), "archive");
        assert_snapshot!(text);
    }
}

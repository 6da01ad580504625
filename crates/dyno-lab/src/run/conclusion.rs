//! The end of a recording: what is said of how the load ended, and the run's last word in the archive.

use super::Progress;
use dyno_analysis::summary::summary_of;
use dyno_analysis::{analyse, name_others};
use dyno_archive::analysis::Analysis;
use dyno_archive::figures::count;
use dyno_archive::summary::{Summary, Warning, WorkloadSummary};
use dyno_archive::{Run, RunState, RunWriter};
use dyno_engine::{Ending, Outcome};
use std::path::PathBuf;

/// Says in the summary how the run ended. Gives back what ended it before its time, or parts of it, unless that was
/// asked for.
pub(crate) fn conclude(
    summary: &mut Summary,
    outcome: &Outcome,
    planned_s: Option<f64>,
    reason: Option<String>,
) -> Option<String> {
    // A failure cuts off whatever is under way; only where time was given to finish is it worth a word.
    let had_time = matches!(outcome.ended_early, None | Some(Ending::Stopped));
    if !had_time {
        let cut_off = summary.workloads.iter_mut();
        cut_off.for_each(|workload| workload.completion.longer_than_s = None);
    }
    let unfinished = outcome.unfinished.iter().zip(&outcome.waited).filter(|_| had_time);
    for (workload, (unfinished, waited)) in summary.workloads.iter_mut().zip(unfinished) {
        workload.unfinished = *unfinished;
        if *unfinished > 0 {
            let all = usize::try_from(*unfinished) == Ok(workload.clients);
            summary.warnings.push(Warning::Unfinished {
                workload: workload.name.clone(),
                count: *unfinished,
                waited_s: waited.map(|waited| waited.longest.as_secs_f64()),
                silent_s: waited.filter(|_| all).map(|waited| waited.least.as_secs_f64()),
            });
        }
    }
    if outcome.ended_early.is_none() {
        let bounded = summary.workloads.iter().filter_map(beyond_its_time);
        let bounded: Vec<_> = bounded.collect();
        summary
            .warnings
            .extend(bounded.into_iter().map(|text| Warning::Note { text }));
    }
    let ended = |warning: &Warning| matches!(warning, Warning::Aborted { .. });
    if matches!(outcome.ended_early, Some(Ending::ConnectionsLost(_))) {
        // That says it of all clients.
        summary.warnings.retain(|warning| !ended(warning));
    }
    // With clients that lost their connection a run goes on, and counts unless too much failed.
    let aborted = outcome.aborted.iter().any(|clients| *clients > 0);
    let failure = summary.warnings.iter().find(|warning| aborted && ended(warning));
    let failure = failure.map(Warning::to_string);
    let Some(ending) = outcome.ended_early.as_ref() else {
        if let Some(text) = reason
            .as_ref()
            .map(|reason| format!("This run does not count: {reason}."))
        {
            summary.warnings.insert(0, Warning::Note { text });
        }
        return reason.or(failure);
    };
    let asked_for = matches!(ending, Ending::Stopped) && reason.is_none();
    let reason = reason.unwrap_or_else(|| ending.to_string());
    summary.warnings.insert(
        0,
        Warning::EndedEarly {
            // The place in a script, drawn with a caret below it, has no room in a paragraph.
            reason: reason.lines().next().unwrap_or_default().to_owned(),
            measured_s: summary.measured_s,
            planned_s,
        },
    );
    if asked_for { failure } else { Some(reason) }
}

/// What to say of a workload whose work did not fit into its time.
fn beyond_its_time(workload: &WorkloadSummary) -> Option<String> {
    let (name, completion) = (&workload.name, workload.completion);
    let per_client = workload.transactions_per_client;
    let all = per_client.map(|each| each.saturating_mul(workload.clients as u64));
    match all.filter(|_| completion.took_s.is_none()) {
        Some(all) if workload.unfinished + completion.after_end > 0 => Some(format!(
            "\"{name}\" was not done within its time: {} of {} transactions were finished. To wait longer, set \
             measure, or the stage's lasts, and grace.",
            count(workload.transactions),
            count(all)
        )),
        None if per_client.is_none() && completion.after_end > 0 => Some(format!(
            "No transaction of \"{name}\" was finished in the time measured. Its figures are of those that were under \
             way then and were finished later: {}.",
            count(completion.after_end)
        )),
        _ => None,
    }
}

/// What the archive has of a run.
pub(crate) struct Kept {
    pub state: RunState,
    pub analysis: Option<Analysis>,
    /// Why it could not take everything, or why the run does not count.
    pub failure: Option<String>,
}

/// Writes the run's last word. A run of which the archive could not take everything is not complete; the error says
/// why.
pub(crate) fn finish(writer: RunWriter, state: RunState, summary: &mut Summary, progress: &mut dyn Progress) -> Kept {
    let stopped = |summary: &Summary| {
        summary.warnings.iter().find_map(|warning| match warning {
            Warning::ArchiveStopped { error } => Some(error.clone()),
            _ => None,
        })
    };
    let failure = stopped(summary);
    let state = if failure.is_some() { RunState::Incomplete } else { state };
    let folder = writer.path().to_owned();
    match writer.finish(state, summary.clone()) {
        Ok(mut run) => {
            name_others(&run, &mut summary.warnings);
            if let Some(kept) = run.record.as_mut().ok().and_then(|record| record.summary.as_mut()) {
                kept.warnings.clone_from(&summary.warnings);
            }
            let analysis = analyse(&run);
            if let Err(error) = run.analysed(analysis.clone()) {
                progress.note(&error.to_string());
            }
            Kept {
                state: run.state,
                analysis: Some(analysis),
                failure: failure.or_else(|| run.record.ok().and_then(|record| record.failure)),
            }
        }
        Err(error) => {
            let error = error.to_string();
            if failure.is_none() {
                progress.note(&error);
                summary.warnings.push(Warning::ArchiveStopped { error: error.clone() });
            }
            let text = unsaved(folder, summary.measured_s);
            summary.warnings.push(Warning::Note { text });
            Kept {
                state: RunState::Incomplete,
                analysis: None,
                failure: failure.or(Some(error)),
            }
        }
    }
}

/// Says of a run whose summary could not be saved what is known of it later, from the rest of its `folder`.
fn unsaved(folder: PathBuf, measured_s: f64) -> String {
    let kept_s = Run::read(folder)
        .and_then(|run| summary_of(&run).ok())
        .map_or(0.0, |summary| summary.measured_s);
    let known = match kept_s > 0.0 {
        true => format!("only {kept_s:.1} s of the {measured_s:.1} s measured"),
        false => "nothing of what was measured".to_owned(),
    };
    format!("This summary could not be saved: later, dyno list, show and export know {known}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_analysis::summary::SummaryBuilder;
    use dyno_archive::summary::WorkloadFacts;
    use dyno_engine::Waited;
    use std::time::Duration;

    fn summary() -> Summary {
        let facts = WorkloadFacts::closed("main", 8, 1);
        let mut summary = SummaryBuilder::new(&[facts], Duration::from_secs(1)).build();
        (summary.measured_s, summary.warnings) = (4.0, Vec::new());
        summary
    }

    fn outcome(ended_early: Option<Ending>, unfinished: u64) -> Outcome {
        Outcome {
            ended_early,
            unfinished: vec![unfinished],
            waited: vec![None],
            last: Vec::new(),
            aborted: vec![0],
            connections: vec![0],
            connection_time: vec![Duration::ZERO],
            measured: Duration::ZERO,
        }
    }

    /// What is said of a load that ended so, and what the caller is told failed.
    fn concluded(outcome: &Outcome, planned_s: Option<f64>, reason: Option<&str>) -> (Vec<String>, Option<String>) {
        let mut summary = summary();
        let failure = conclude(&mut summary, outcome, planned_s, reason.map(str::to_owned));
        (summary.warnings.iter().map(Warning::to_string).collect(), failure)
    }

    #[test]
    fn a_load_that_went_well_is_not_talked_about() {
        assert_eq!(concluded(&outcome(None, 0), Some(4.0), None), (vec![], None));
        // Unless it turns out that it was disturbed.
        let (said, failure) = concluded(&outcome(None, 0), Some(4.0), Some("another dyno"));
        assert_eq!(failure.as_deref(), Some("another dyno"));
        assert_eq!(said, ["This run does not count: another dyno."]);
    }

    #[test]
    fn clients_that_got_no_answer_to_the_end_are_told_of_with_how_long() {
        let waited = |unfinished| Outcome {
            waited: vec![Some(Waited {
                longest: Duration::from_millis(45_200),
                least: Duration::from_millis(33_100),
            })],
            ..outcome(None, unfinished)
        };
        let (some, _) = concluded(&waited(2), Some(4.0), None);
        assert!(
            some[0].contains("not counted; one had waited for an answer for 45.2 s. "),
            "{some:?}"
        );
        let (all, _) = concluded(&waited(8), Some(4.0), None);
        assert!(
            all[0].contains("none of its clients had got an answer for 33.1 s. "),
            "{all:?}"
        );
    }

    #[test]
    fn what_a_failure_cut_off_takes_no_known_time() {
        let longer_than_s = |ended_early: Option<Ending>| {
            let mut summary = summary();
            summary.workloads[0].completion.longer_than_s = Some(0.001);
            conclude(&mut summary, &outcome(ended_early, 8), Some(4.0), None);
            summary.workloads[0].completion.longer_than_s
        };
        assert_eq!([None, Some(Ending::Stopped)].map(longer_than_s), [Some(0.001); 2]);
        assert_eq!(longer_than_s(Some(Ending::Aborted)), None);
    }

    #[test]
    fn work_that_is_done_in_the_grace_is_not_said_to_be_late() {
        let said = |transactions_per_client: Option<u64>, took_s: Option<f64>| {
            let mut workload = summary().workloads.remove(0);
            (workload.clients, workload.transactions) = (1, 10);
            workload.transactions_per_client = transactions_per_client;
            (workload.completion.took_s, workload.completion.after_end) = (took_s, 1);
            beyond_its_time(&workload).unwrap_or_default()
        };
        assert_eq!(said(Some(10), Some(4.5)), "");
        assert!(said(Some(11), None).contains("10 of 11 transactions were finished"));
        assert!(said(None, None).starts_with("No transaction of \"main\" was finished in the time measured."));
    }

    #[test]
    fn clients_that_were_aborted_are_a_failure_although_the_load_went_on() {
        let mut summary = summary();
        summary.warnings.push(Warning::Aborted {
            workload: "main".to_owned(),
            aborted: 3,
            clients: 8,
            first_s: None,
            reason: "ERROR: division by zero".to_owned(),
        });
        let outcome = Outcome {
            aborted: vec![3],
            ..outcome(None, 0)
        };
        let failure = conclude(&mut summary, &outcome, None, None).unwrap();
        let expected = "3 of 8 clients of \"main\" ended early, the first with: ERROR: division by zero.";
        assert!(failure.starts_with(expected), "{failure}");
    }

    #[test]
    fn clients_whose_connection_was_lost_are_told_of_and_no_failure() {
        let lost = || {
            let mut summary = summary();
            summary.warnings.push(Warning::Aborted {
                workload: "main".to_owned(),
                aborted: 1,
                clients: 8,
                first_s: None,
                reason: "connection lost: a reply though nothing was asked".to_owned(),
            });
            summary
        };
        let mut one = lost();
        assert_eq!(conclude(&mut one, &outcome(None, 0), None, None), None);
        assert_eq!(one.warnings, lost().warnings);
        // When all are lost, that is said once.
        let mut all = lost();
        let ending = Ending::ConnectionsLost("terminating".to_owned());
        conclude(&mut all, &outcome(Some(ending), 0), None, None);
        assert!(matches!(all.warnings[..], [Warning::EndedEarly { .. }]), "{all:?}");
    }

    #[test]
    fn what_ended_it_comes_first_and_a_wish_is_no_failure() {
        let (warnings, failure) = concluded(&outcome(Some(Ending::Stopped), 2), Some(20.0), None);
        assert!(
            warnings[0].starts_with("The run ended after 4.0 s of 20.0 s: stopped on request."),
            "{warnings:?}"
        );
        assert_eq!((warnings.len(), failure), (2, None));

        let lost = || Some(Ending::ConnectionsLost("terminating".to_owned()));
        let (warnings, failure) = concluded(&outcome(lost(), 2), None, Some("the server ended"));
        assert!(
            warnings[0].starts_with("The run ended after 4.0 s: the server ended."),
            "{warnings:?}"
        );
        // What a failure cut off is not worth a word.
        assert_eq!((warnings.len(), failure.as_deref()), (1, Some("the server ended")));
    }
}

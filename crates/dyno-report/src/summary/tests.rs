//! Summaries as people see them.

use super::*;
use crate::fixture::{scripts, two_workloads, update};
use crate::table::WIDTH;
use dyno_archive::summary::Warning;
use insta::assert_snapshot;

#[test]
fn a_complete_run() {
    assert_snapshot!(summary(&update()));
}

#[test]
fn two_workloads_errors_and_warnings() {
    assert_snapshot!(summary(&two_workloads()));
}

#[test]
fn several_scripts_with_retries_and_a_latency_limit() {
    assert_snapshot!(summary(&scripts()));
}

#[test]
fn a_run_without_a_single_transaction() {
    let mut nothing = update();
    let workload = &mut nothing.workloads[0];
    (
        workload.transactions,
        workload.statements,
        workload.tps,
        workload.statements_per_s,
    ) = (0, 0, 0.0, 0.0);
    (workload.steadiness, workload.latency) = (None, None);
    workload.statement_latencies[0].count = 0;
    workload.statement_latencies[0].latency = None;
    nothing.warnings = Warning::of(workload);
    assert_snapshot!(summary(&nothing));
    assert!(!summary(&nothing).contains("own CPU"));
    nothing.workloads[0].errors = 3;
    assert!(summary(&nothing).contains("µs system per failed transaction"));
}

#[test]
fn nothing_is_wider_than_a_page() {
    let mut wide = two_workloads();
    for workload in &mut wide.workloads {
        workload.name = "a-workload-with-quite-a-long-name".to_owned();
        workload.statement_latencies[0].sql = "select something ".repeat(30);
        if let Some(latency) = &mut workload.latency {
            (latency.max_us, latency.p99_9_us) = (3.6e9, 3.6e9);
        }
    }
    let text = summary(&wide);
    let too_wide: Vec<_> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
    assert!(too_wide.is_empty(), "{too_wide:#?}");
    assert!(text.lines().all(|line| line == line.trim_end()));
}

#[test]
fn foreign_text_stays_on_its_line() {
    let mut odd = two_workloads();
    odd.workloads[1].errors_by_state[0].example = "first\n\u{1b}[2Jsecond".to_owned();
    let text = summary(&odd);
    assert!(!text.contains('\u{1b}'));
    assert!(text.contains("first [2Jsecond"));
}

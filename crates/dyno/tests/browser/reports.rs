//! Reports, opened from files.

use crate::browser::browser;
use crate::desk::Desk;
use crate::fixtures;
use std::path::Path;

/// Looks at a report in every way that all reports have to stand.
fn look_at(scripts: &[&str], report: &Path) {
    if let Some(browser) = browser() {
        for script in scripts {
            browser.run(script, [report]);
        }
    }
}

const ALL: [&str; 4] = ["drawing", "layout", "colours", "paper"];

#[test]
fn the_web_sources_pass_their_own_checks() {
    if let Some(browser) = browser() {
        browser.npm("check");
        browser.npm("test");
    }
}

#[test]
fn a_run() {
    let desk = Desk::new();
    fixtures::day(&desk.archive(), "4m");
    let report = desk.report("day.html", ["--run", "1"]);
    look_at(&ALL, &report);
    look_at(&["zooming"], &report);
}

#[test]
fn a_sweep() {
    let desk = Desk::new();
    fixtures::sweep(&desk.archive());
    let report = desk.report("sweep.html", [""; 0]);
    look_at(&ALL, &report);
    look_at(&["zooming"], &report);
}

#[test]
fn six_runs_on_six_sheets() {
    let desk = Desk::new();
    fixtures::beside(&desk.archive());
    let report = desk.report("beside.html", [""; 0]);
    look_at(&ALL, &report);
    look_at(&["sheets", "contents"], &report);
}

#[test]
fn a_matrix() {
    let desk = Desk::new();
    fixtures::matrix(&desk.archive(), "2026-11-20T12:00:00[UTC]", 1.0);
    look_at(&ALL, &desk.report("matrix.html", [""; 0]));
}

#[test]
fn two_campaigns_side_by_side() {
    let desk = Desk::new();
    let one = fixtures::matrix(&desk.archive(), "2026-11-20T12:00:00[UTC]", 1.0);
    let other = fixtures::matrix(&desk.archive(), "2026-11-20T14:00:00[UTC]", 1.15);
    let baseline = Path::new("--baseline");
    look_at(&ALL, &desk.report("both.html", [&*one, &*other, baseline, &*one]));
}

#[test]
fn names_that_are_attacks() {
    let desk = Desk::new();
    dyno_fixtures::hostile(&desk.archive()).unwrap();
    let report = desk.report("hostile.html", [""; 0]);
    look_at(&ALL, &report);
    look_at(&["hostile"], &report);
}

#[test]
fn eight_hours() {
    let desk = Desk::new();
    fixtures::night(&desk.archive());
    let report = desk.report("long.html", [""; 0]);
    let bytes = report.metadata().unwrap().len();
    assert!(bytes <= 3_000_000, "the report of eight hours has {bytes} bytes");
    look_at(&["drawing", "zooming"], &report);
}

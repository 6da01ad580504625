//! A campaign that goes on while browsers follow it.

use crate::browser::browser;
use crate::desk::{DYNO, Desk};
use crate::fixtures;
use dyno_archive::RunState;
use std::ffi::OsStr;
use std::thread;
use std::time::Duration;

/// How long a second of the run takes.
const SECOND: Duration = Duration::from_millis(150);

#[test]
fn a_campaign_under_way() {
    let Some(browser) = browser() else { return };
    let desk = Desk::new();
    let fixture = fixtures::begin_day(&desk.archive(), "5m");
    let campaign = fixture.path().to_owned();
    let mut made = fixture.run(&fixture.runs()[0], fixtures::day_pace).unwrap();
    for _ in 0..70 {
        assert!(made.step().unwrap());
    }
    let writer = thread::spawn(move || {
        while made.step().unwrap() {
            thread::sleep(SECOND);
        }
        made.finish(RunState::Complete).unwrap();
        // Its end is the end of the campaign.
        drop(fixture);
    });
    let archive = desk.archive();
    browser.run(
        "live",
        [OsStr::new(DYNO), archive.as_os_str(), campaign.file_name().unwrap()],
    );
    writer.join().unwrap();
}

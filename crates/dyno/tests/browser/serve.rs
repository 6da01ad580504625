//! The pages of `dyno serve` over an archive.

use crate::browser::browser;
use crate::desk::{DYNO, Desk};
use crate::fixtures;
use std::ffi::OsStr;

#[test]
fn an_archive() {
    let Some(browser) = browser() else { return };
    let desk = Desk::new();
    let archive = desk.archive();
    fixtures::sweep(&archive);
    dyno_fixtures::hostile(&archive).unwrap();
    let one = fixtures::matrix(&archive, "2026-11-20T12:00:00[UTC]", 1.0);
    let other = fixtures::matrix(&archive, "2026-11-20T14:00:00[UTC]", 1.15);
    let names = [&one, &other].map(|campaign| campaign.file_name().unwrap());
    browser.run("archive", [OsStr::new(DYNO), archive.as_os_str(), names[0], names[1]]);
}

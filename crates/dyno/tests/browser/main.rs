//! Reports and the pages of `dyno serve` in a real browser, as a person would open them.
//!
//! The archives are made up (`dyno-fixtures`); what is looked at in each page stands in `web/test/browser`, in
//! scripts that drive Chromium with playwright-core. Where there is no Chromium, or no Node with npm, nothing is
//! looked at and the tests pass, unless `DYNO_REQUIRE_BROWSER=1` says that there must be both.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod browser;
mod desk;
mod fixtures;
mod live;
mod pictures;
mod reports;
mod series;
mod serve;

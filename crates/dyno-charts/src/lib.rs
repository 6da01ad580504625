//! Charts: the scripts and the style that draw a report's figures in a browser, and the same figures as SVG without
//! one.
//!
//! The charts are written in TypeScript on ECharts, in `web/`, and bundled when this crate is built. SVG files come
//! from the same code, evaluated in QuickJS: a figure looks alike in a page and in a paper, and neither needs a
//! browser or Node when a report is made.

#![cfg(feature = "charts")]

mod svg;

pub use svg::{ChartError, svg};

/// The script of a report's page.
pub const REPORT_JS: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js"));

/// The script of the live page.
pub const LIVE_JS: &str = include_str!(concat!(env!("OUT_DIR"), "/live.js"));

/// The style of all pages.
pub const STYLE_CSS: &str = include_str!(concat!(env!("OUT_DIR"), "/style.css"));

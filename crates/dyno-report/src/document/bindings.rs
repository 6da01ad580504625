//! The types of [`super::model`] in TypeScript, for `web/`.

use std::path::Path;
use std::{env, fs};

use ts_rs::{Config, TS};

use super::model;

/// Set to write the file anew: `UPDATE=1 cargo test -p dyno-report bindings`.
const UPDATE: &str = "UPDATE";

fn declarations() -> String {
    let config = Config::new();
    let mut text = String::from(
        "// The report document, see crates/dyno-report/src/document/model.rs. This file is written from it; after \
         a change there:\n\
         // UPDATE=1 cargo test -p dyno-report bindings\n",
    );
    macro_rules! declare {
        ($($name:ident)*) => {
            $(
                text.push('\n');
                text.push_str(&model::$name::docs().unwrap_or_default());
                text.push_str("export ");
                text.push_str(&model::$name::decl(&config));
                text.push('\n');
            )*
        };
    }
    declare! {
        Document Detail Headline Caution Gravity Definition Section Part Block Table Column Value
        Figure FigureData Timeline Lane Series Role Span SpanKind Mark MarkKind HeatMap
        Percentiles Curve Sweep SweepPanel SweepLine SweepPoint Bars BarSeries Matrix MatrixCell
    }
    // ts-rs puts a space at the end of some lines.
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_types_of_web_are_those_of_the_document() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/model.ts");
    let wanted = declarations();
    if env::var_os(UPDATE).is_some() {
        fs::write(&file, &wanted).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap();
    assert!(
        found == wanted,
        "web/src/model.ts is out of date: run UPDATE=1 cargo test -p dyno-report bindings"
    );
}

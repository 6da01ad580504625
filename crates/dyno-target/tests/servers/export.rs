//! Rows into a table of a real server.

use crate::support::shared_server;
use dyno_target::postgres::export::{Kind, Rows, export};

/// Rows of two runs, of which `second` is the TPS of the second.
fn rows(second: Option<&str>) -> Rows {
    let row = |run: &str, tps: Option<&str>| {
        vec![
            Some("camp\taign".to_owned()),
            Some(run.to_owned()),
            tps.map(str::to_owned),
            Some("2026-11-21T19:40:12Z".to_owned()),
        ]
    };
    let columns = [
        ("campaign", Kind::Text),
        ("run", Kind::Text),
        ("odd \"tps\"", Kind::Number),
        ("started", Kind::Time),
    ];
    Rows {
        columns: columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec(),
        key: 2,
        rows: vec![row("one", Some("1.5")), row("two", second)],
    }
}

#[test]
fn the_same_again_replaces_and_another_form_is_left_alone() {
    let shared = shared_server("tests-export");
    let target = shared.server.connection("postgres");
    let mut client = target.connect().unwrap();
    client
        .batch_execute("drop schema if exists exported cascade; create schema exported")
        .unwrap();
    let mut stored = || -> Vec<(String, Option<f64>)> {
        let query = "select run, \"odd \"\"tps\"\"\" from exported.results order by run";
        let rows = client.query(query, &[]).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    assert_eq!(export(&target, "exported.results", &rows(None)).unwrap(), 2);
    assert_eq!(stored(), [("one".to_owned(), Some(1.5)), ("two".to_owned(), None)]);

    let mut later = rows(Some("3"));
    later.rows.remove(0);
    assert_eq!(export(&target, "exported.results", &later).unwrap(), 1);
    assert_eq!(stored(), [("one".to_owned(), Some(1.5)), ("two".to_owned(), Some(3.0))]);

    let mut other = rows(None);
    other.columns[2].1 = Kind::Text;
    let error = export(&target, "exported.results", &other).unwrap_err().to_string();
    assert!(error.contains("is double precision, not text"), "{error}");

    // What the server refuses undoes the removal as well.
    let error = export(&target, "exported.results", &rows(Some("many")))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot export into exported.results: "), "{error}");
    assert_eq!(stored(), [("one".to_owned(), Some(1.5)), ("two".to_owned(), Some(3.0))]);
}

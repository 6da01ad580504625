//! `dyno export`: what was measured, for other tools.

use crate::support::{Desk, Ended, database};

#[test]
fn runs_and_intervals_as_csv_json_and_in_a_table() {
    let (desk, database) = (Desk::new(), database("e2e_export"));
    desk.experiment("one.toml", "", "select 1;", "1s");
    desk.on(&database.target(), ["one.toml", "--repeat", "2"]).expect(0);

    let csv = desk.dyno("export").expect(0).stdout;
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert!(csv.lines().count() == 3 && header[..2] == ["campaign", "run"], "{csv}");
    assert!(header.contains(&"tps"), "{csv}");

    desk.dyno("export --format json --output runs.json").expect(0);
    let json = std::fs::read_to_string(desk.path().join("runs.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[1]["run"], "002-rep2");
    assert!(json[1]["tps"].as_f64().unwrap() > 0.0, "{json}");

    let intervals = desk.dyno("export --intervals").expect(0).stdout;
    assert!(intervals.lines().count() > 11, "{intervals}");

    for _ in 0..2 {
        let into = ["export", "--to", &database.target(), "--table", "results"];
        Ended::of(&mut desk.command(into))
            .expect(0)
            .says("Wrote 2 rows to the table results.");
    }
    assert_eq!(database.value("select count(*) from results where tps > 0"), "2");
    let into = [
        "export",
        "--intervals",
        "--to",
        &database.target(),
        "--table",
        "results",
    ];
    Ended::of(&mut desk.command(into))
        .expect(1)
        .says("the table results exists with other columns");
}

//! `dyno report`: documents of what was measured.

use crate::support::{Desk, Ended, database};
use std::fs;

#[test]
fn a_run_in_every_form() {
    let (desk, database) = (Desk::new(), database("e2e_report"));
    desk.experiment("one.toml", "", "select '<b>' as \"</script>\";", "2s");
    desk.on(&database.target(), ["one.toml"]).expect(0);
    let file = |name: &str| fs::read_to_string(desk.path().join(name)).unwrap();

    let said = desk.dyno("report").expect(0).stdout;
    let page = fs::read_to_string(desk.path().join(said.trim().trim_start_matches("The report is "))).unwrap();
    assert!(page.contains("&lt;b&gt;") && !page.contains("as \"</script>"), "{said}");
    assert!(
        page.contains("<details class=\"warnings\" id=\"cautions\">"),
        "a run of two seconds is too short to be steady"
    );

    desk.dyno("report --format json --output report.json").expect(0);
    let document: serde_json::Value = serde_json::from_str(&file("report.json")).unwrap();
    assert_eq!(document["format"], 1);
    assert!(
        document["headlines"][0]["figure"].as_str().unwrap().ends_with(" TPS"),
        "{document}"
    );

    let csv = desk.dyno("report --format csv --output -").expect(0).stdout;
    assert!(csv.starts_with("campaign,") && csv.lines().count() == 2, "{csv}");

    let paper = desk.dyno("report --format md --output - --run 1").expect(0).stdout;
    assert!(paper.starts_with("# ") && paper.contains("## Definitions"), "{paper}");
}

#[test]
fn a_campaign_leaves_its_report_however_it_ends() {
    let (desk, database) = (Desk::new(), database("e2e_report_left"));
    let page = |ended: &Ended| fs::read_to_string(desk.path().join(ended.ends_with_report())).unwrap();
    desk.experiment("one.toml", "", "select 1;", "300ms");
    let alone = desk.on(&database.target(), ["one.toml"]).expect(0);
    assert!(!page(&alone).contains("class=\"answer\""), "it compares nothing");
    let two = desk
        .on(&database.target(), ["one.toml", "--set", "clients=1,2"])
        .expect(0);
    two.shows("clients = 2 beside clients = 1 on one: not decided by one run of each; throughput ");
    desk.experiment("wrong.toml", "", "select 1 / (random() * 0)::int;", "300ms");
    let failed = desk
        .on(&database.target(), ["wrong.toml", "--set", "clients=1,2"])
        .expect(2);
    assert!(page(&failed).contains("There is no answer on wrong, because no run is complete."));
    failed.says("error: ");
}

#[test]
fn what_cannot_be_reported_is_said() {
    let desk = Desk::new();
    desk.dyno("report").expect(1).says("there is no campaign in archive");
    desk.dyno("report nothing")
        .expect(1)
        .says("there is no campaign \"nothing\"");
}

//! `dyno report`: documents of what was measured.

use crate::support::{Desk, database};
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
        page.contains("Keep in mind"),
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
fn what_cannot_be_reported_is_said() {
    let desk = Desk::new();
    desk.dyno("report").expect(1).says("there is no campaign in archive");
    desk.dyno("report nothing")
        .expect(1)
        .says("there is no campaign \"nothing\"");
}

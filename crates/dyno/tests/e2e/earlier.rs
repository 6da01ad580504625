//! Archives of an earlier dyno, one for each published experiment: every command that reads archives says of them what
//! that dyno said. Its own words are kept beside them; `tests/earlier/README.md` says how all of it was made.

use crate::support::Desk;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A campaign of an earlier dyno, on a desk of its own.
struct Earlier {
    desk: Desk,
    experiment: &'static str,
    campaign: String,
}

impl Earlier {
    fn unpack(experiment: &'static str) -> Self {
        let desk = Desk::new();
        fs::create_dir(desk.archive()).unwrap();
        let packed = kept(experiment, "tar.gz");
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&packed).arg("-C").arg(desk.archive());
        assert!(tar.status().unwrap().success(), "{}", packed.display());
        let mut folders = fs::read_dir(desk.archive()).unwrap();
        let campaign = folders.next().unwrap().unwrap().file_name().into_string().unwrap();
        assert!(folders.next().is_none(), "{} holds one campaign", packed.display());
        Self {
            desk,
            experiment,
            campaign,
        }
    }

    /// What that dyno said.
    fn said(&self, form: &str) -> String {
        fs::read_to_string(kept(self.experiment, form)).unwrap()
    }

    /// What today's says.
    #[track_caller]
    fn says(&self, words: &str) -> String {
        self.desk.dyno(words).expect(0).stdout
    }

    /// The figures at the top of the report, as a person reads them: "12,859 TPS".
    fn headlines(&self) -> Vec<(String, String)> {
        let said: Value = serde_json::from_str(&self.said("headlines.json")).unwrap();
        headlines(&said)
    }
}

fn kept(experiment: &str, form: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/earlier/{experiment}.{form}"))
}

fn headlines(headlines: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let headlines = headlines.as_array().unwrap();
    headlines
        .iter()
        .map(|headline| (text(&headline["subject"]), text(&headline["figure"])))
        .collect()
}

/// Fails unless a table has the rows and, whatever else it has, the columns of another.
#[track_caller]
fn assert_keeps(now: &str, then: &str) {
    let read = |text: &str| -> Vec<HashMap<String, String>> {
        let mut table = csv::Reader::from_reader(text.as_bytes());
        table.deserialize().map(Result::unwrap).collect()
    };
    let (now_rows, then_rows) = (read(now), read(then));
    assert!(!then_rows.is_empty());
    assert_eq!(now_rows.len(), then_rows.len(), "{now}\n{then}");
    for (row, (now, then)) in now_rows.iter().zip(&then_rows).enumerate() {
        for (column, value) in then {
            assert_eq!(now.get(column), Some(value), "row {row}, {column}");
        }
    }
}

/// Rows of the list of runs, word by word: state, TPS, p99 and folder among them. What stands beneath `added`, a column
/// that the earlier dyno did not have, is left out.
fn listed(list: &str, added: Option<&str>) -> Vec<Vec<String>> {
    let heading = list.lines().next().unwrap_or_default();
    let column = added.map(|added| {
        let from = heading.find(added).unwrap_or_else(|| panic!("no {added} in {heading}"));
        let next = heading[from..].find("  ").map(|gap| from + gap);
        let after = &heading[next.unwrap()..];
        from..next.unwrap() + after.len() - after.trim_start().len()
    });
    let rows = list.lines().filter(|line| line.trim_start().starts_with("20"));
    let words = |row: &str| {
        let letters = row.chars().enumerate();
        let kept = letters.filter(|(place, _)| column.as_ref().is_none_or(|column| !column.contains(place)));
        let kept: String = kept.map(|(_, letter)| letter).collect();
        kept.split_whitespace().map(str::to_owned).collect()
    };
    rows.map(words).collect()
}

/// Whether two words are the same; latencies had four digits before they had three.
fn is_same(now: &str, then: &str) -> bool {
    let number = |word: &str| word.replace(',', "").parse::<f64>().ok();
    let near = number(now)
        .zip(number(then))
        .is_some_and(|(now, then)| (now / then - 1.0).abs() < 0.0055);
    now == then || [now, then].iter().any(|word| word.contains('.')) && near
}

/// Whether a text shows a figure as it is, or with its number and unit in cells of their own.
fn shows(text: &str, figure: &str) -> bool {
    text.contains(figure) || figure.split_whitespace().all(|word| text.contains(word))
}

#[track_caller]
fn says_what_was_said(experiment: &'static str) {
    let earlier = Earlier::unpack(experiment);
    let campaign = &earlier.campaign;

    let list = earlier.says("list runs");
    let rows = listed(&list, Some("target"));
    assert!(!rows.is_empty(), "{list}");
    let then = listed(&earlier.said("list.txt"), None);
    assert_eq!(rows.len(), then.len(), "{list}");
    for (now, then) in rows.iter().zip(&then) {
        let same = now.len() == then.len() && now.iter().zip(then).all(|(now, then)| is_same(now, then));
        assert!(same, "{now:?} is not {then:?}");
    }

    assert_keeps(
        &earlier.says("report --format csv --output -"),
        &earlier.said("report.csv"),
    );
    assert_keeps(&earlier.says("export --format csv"), &earlier.said("export.csv"));
    assert_keeps(
        &earlier.says("export --intervals --format csv"),
        &earlier.said("intervals.csv"),
    );

    let report: Value = serde_json::from_str(&earlier.says("report --format json --output -")).unwrap();
    // What was called the highest and is not known to be has no headline any more; then there is an answer.
    let told = headlines(&report["headlines"]);
    let before = earlier.headlines();
    assert!(!before.is_empty());
    assert!(
        told.iter().all(|headline| before.contains(headline)),
        "{told:?} of {before:?}"
    );
    assert!(told == before || report["answer"].is_string(), "{told:?} of {before:?}");
    let paper = earlier.says("report --format md --output -");
    earlier.says("report --output page.html");
    let page = fs::read_to_string(earlier.desk.path().join("page.html")).unwrap();
    let shown = earlier.says(&format!("show {campaign}"));
    assert!(shown.contains(experiment), "{shown}");
    for (subject, figure) in earlier.headlines() {
        assert!(shows(&paper, &figure), "{subject}: no {figure} in\n{paper}");
        assert!(shows(&page, &figure), "{subject}: no {figure} in the page");
    }
    earlier.says(&format!("report {campaign} --run 1 --output run.html"));
    earlier.says(&format!("show {campaign} 1"));

    // A campaign beside its own copy: nothing may differ.
    let copy = earlier.desk.archive().join("copy");
    let mut cp = Command::new("cp");
    cp.arg("-r").arg(earlier.desk.archive().join(campaign)).arg(&copy);
    assert!(cp.status().unwrap().success());
    let compared = earlier.says(&format!("compare {campaign} copy --fail-if-worse 1% --format json"));
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let cells = compared["cells"].as_array().unwrap();
    let workloads: Vec<&Value> = cells
        .iter()
        .flat_map(|cell| cell["workloads"].as_array().unwrap())
        .collect();
    assert!(!workloads.is_empty(), "{compared}");
    for measure in workloads
        .iter()
        .flat_map(|workload| workload["measures"].as_array().unwrap())
    {
        assert!(measure["baseline"].as_f64() > Some(0.0), "{measure}");
        assert_eq!(measure["baseline"], measure["candidate"]);
    }
}

#[test]
fn burn_after_reading() {
    says_what_was_said("burn-after-reading");
}

#[test]
fn direct_pg() {
    says_what_was_said("direct-pg");
}

#[test]
fn os_comparison() {
    says_what_was_said("os-comparison");
}

#[test]
fn pk_insert() {
    says_what_was_said("pk-insert");
}

#[test]
fn pk_select() {
    says_what_was_said("pk-select");
}

#[test]
fn pk_unprepared() {
    says_what_was_said("pk-unprepared");
}

#[test]
fn pk_update() {
    says_what_was_said("pk-update");
}

#[test]
fn pk_update_checkpoints() {
    says_what_was_said("pk-update-checkpoints");
}

#[test]
fn polar_hot_data() {
    says_what_was_said("polar-hot-data");
}

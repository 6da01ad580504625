//! MariaDB through the same doors as PostgreSQL: a private server, loads that read and write, the archive, the report,
//! and a comparison with PostgreSQL.

use crate::support::{Desk, Home, processes_in, run_folders, wait_for};
use dyno_target::mysql::embedded::MARIADB_VERSION;

const READ: &str = "\\set id random(1, :rows)\nselect * from tbl where id = :id;";
const WRITE: &str = "\\set id random(1, :rows)\nupdate tbl set crt_time = now() where id = :id;";

/// Writes an experiment whose data every database understands.
fn experiment(desk: &Desk, name: &str, protocol: &str, script: &str) {
    let text = format!(
        "title = \"{name}\"\n[parameters]\nrows = 2000\n\
         [data]\nsetup = \"create table tbl (id int primary key, info text, crt_time timestamp)\"\n\
         fill.tbl = {{ rows = \"{{rows}}\", columns = {{ id = \"row\", info = \"'word'\" }} }}\n\
         [[workload]]\nname = \"one\"\nclients = 4\nprotocol = \"{protocol}\"\n\
         script = \'\'\'\n{script}\n\'\'\'\n[phases]\nwarmup = \"0s\"\nmeasure = \"2s\"\n"
    );
    desk.file(name, &text);
}

fn assert_no_server(home: &Home) {
    let folder = home.path().canonicalize().unwrap();
    let data = folder.join(format!("mariadb-clusters/{MARIADB_VERSION}/main/data"));
    assert!(data.is_dir(), "{}", data.display());
    wait_for("the end of the server", || processes_in(&data).is_empty());
}

/// What the server has counted at the end, and the transactions of all intervals.
fn counts(desk: &Desk, counter: &str) -> (u64, u64) {
    let runs = run_folders(&desk.archive());
    let run = runs.last().unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    let intervals = run.rows("intervals.csv");
    let transactions = intervals.iter().map(|row| number(&row["transactions"])).sum();
    (number(&run.rows("server.csv").last().unwrap()[counter]), transactions)
}

#[test]
fn loads_run_on_a_private_server_and_are_reported_and_compared() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    for (protocol, script, counter) in [
        ("prepared", READ, "Com_select"),
        ("simple", WRITE, "Com_update"),
        ("extended", WRITE, "Com_update"),
    ] {
        let name = format!("{protocol}.toml");
        experiment(&desk, &name, protocol, script);
        let words = format!("{name} --target embedded:mariadb");
        let said = desk.embedded(&home, &words).expect(0).stdout;
        assert!(said.contains("errors  none"), "{said}");
        let (counted, transactions) = counts(&desk, counter);
        assert!(transactions > 100, "{protocol}: {transactions}");
        // Beside the load's there are the few of dyno's own, and those that ended after the last interval.
        let difference = counted.abs_diff(transactions);
        assert!(
            difference < 100,
            "{protocol}: {counted} counted, {transactions} recorded"
        );
    }
    desk.embedded(&home, "prepared.toml --target embedded").expect(0);
    let mut campaigns: Vec<_> = std::fs::read_dir(desk.archive())
        .unwrap()
        .map(|campaign| campaign.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with("prepared"))
        .collect();
    campaigns.sort();
    let [mariadb, postgres] = &campaigns[..] else {
        panic!("{campaigns:?}")
    };
    desk.dyno(&format!("report {mariadb}")).expect(0);
    let compared = desk.dyno(&format!("compare {mariadb} {postgres}")).expect(0).stdout;
    assert!(compared.contains("1 run of A against 1 of B"), "{compared}");
    assert_no_server(&home);
}

#[test]
fn a_statement_that_the_server_refuses_is_shown_with_its_number() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    experiment(&desk, "missing.toml", "prepared", "select * from nosuch;");
    let words = "missing.toml --target embedded:mariadb";
    desk.embedded(&home, words)
        .expect(1)
        .says("select * from nosuch")
        .says("doesn't exist");
    assert_no_server(&home);
}

//! The workloads of sysbench 0.5, which have no peer among sysbench 1.0's tests: what they ask the server.

use crate::case::Desk;
use crate::own::Folder;
use crate::server::Mariadb;

/// Runs a command line of 0.5 on the server, and gives what is printed and what the server was asked.
fn run(server: &Mariadb, words: &str) -> (String, Vec<String>) {
    let folder = Folder::new();
    let options = server.options();
    let words: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .chain(words.split_whitespace())
        .collect();
    server.forget();
    let printed = folder.prints(&words);
    let asked = server.seen(true, None);
    (printed, asked.lines().map(str::to_owned).collect())
}

/// The lines without numbers, each as often as it comes in a row.
fn kinds(asked: &[String]) -> Vec<(String, usize)> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for line in asked {
        let mut kind = String::new();
        for character in line.strip_prefix("Query ").unwrap_or(line).chars() {
            match character {
                '0'..='9' if kind.ends_with('#') => {}
                '0'..='9' => kind.push('#'),
                other => kind.push(other),
            }
        }
        let kind = kind.replace("-#", "");
        match kinds.last_mut() {
            Some((last, times)) if *last == kind => *times += 1,
            _ => kinds.push((kind, 1)),
        }
    }
    kinds
}

fn expect(asked: &[String], expected: &[(&str, usize)]) {
    let kinds = kinds(asked);
    let kinds: Vec<(&str, usize)> = kinds.iter().map(|(kind, times)| (kind.as_str(), *times)).collect();
    assert_eq!(kinds, expected, "{asked:#?}");
}

const POINT: (&str, usize) = ("SELECT c FROM sbtest# WHERE id=#", 10);
const RANGES: [(&str, usize); 4] = [
    ("SELECT c FROM sbtest# WHERE id BETWEEN # AND #", 1),
    ("SELECT SUM(K) FROM sbtest# WHERE id BETWEEN # AND #", 1),
    ("SELECT c FROM sbtest# WHERE id BETWEEN # AND # ORDER BY c", 1),
    ("SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN # AND # ORDER BY c", 1),
];
const WRITES: [(&str, usize); 4] = [
    ("UPDATE sbtest# SET k=k+# WHERE id=#", 1),
    ("UPDATE sbtest# SET c='#' WHERE id=#", 1),
    ("DELETE FROM sbtest# WHERE id=#", 1),
    ("INSERT INTO sbtest# (id, k, c, pad) VALUES (#, #, '#', '#')", 1),
];

#[test]
fn tables_of_0_5_are_made_driven_and_dropped() {
    let server = Mariadb::start();
    server.reset(&[]);
    let (printed, asked) = run(
        &server,
        "--test=oltp --oltp-table-size=200 --oltp-tables-count=2 --rand-seed=5 prepare",
    );
    for line in [
        "Creating table 'sbtest1'...",
        "Inserting 200 records into 'sbtest2'",
        "Creating secondary indexes on 'sbtest2'...",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let asked = asked.join("\n");
    for part in [
        "CREATE TABLE sbtest1 (\nid INTEGER UNSIGNED NOT NULL AUTO_INCREMENT,\n",
        "k INTEGER UNSIGNED DEFAULT '0' NOT NULL,",
        "PRIMARY KEY (id)\n) /*! ENGINE = innodb MAX_ROWS = 1000000 */",
        "CREATE INDEX k_2 on sbtest2(k)",
    ] {
        assert!(asked.contains(part), "{part}\n{asked}");
    }
    let counted = "select concat_ws(' ', count(*), min(id), max(id), max(k) <= 200) from sbtest2";
    assert_eq!(server.seen(false, Some(counted)), "200 1 200 1");

    let drive = |words: &str| {
        let words = format!("--test=oltp --oltp-table-size=200 --rand-seed=5 --max-requests=1 {words} run");
        run(&server, &words).1
    };
    let begin = [("BEGIN", 1)];
    let commit = [("COMMIT", 1)];
    expect(&drive(""), &[&begin[..], &[POINT], &RANGES, &WRITES, &commit].concat());
    expect(
        &drive("--oltp-read-only=on --oltp-tables-count=2"),
        &[&begin[..], &[POINT], &RANGES, &commit].concat(),
    );
    expect(
        &drive("--oltp-read-only=on --oltp_skip_trx=on --oltp-range-selects=off --oltp-point-selects=3"),
        &[(POINT.0, 3)],
    );
    expect(&drive("--oltp-write-only=on --oltp-skip-trx=on"), &WRITES);
    expect(
        &drive("--oltp-write-only=on --oltp-index-updates=2 --oltp-non-index-updates=0 --oltp-delete-inserts=0"),
        &[begin[0], (WRITES[0].0, 2), commit[0]],
    );
    // A table for each event, the same for all its statements.
    for line in drive("--oltp-tables-count=2 --oltp-read-only=on --max-requests=20").chunks(16) {
        let tables = line
            .iter()
            .filter_map(|line| line.split("sbtest").nth(1)?.chars().next());
        let tables: Vec<char> = tables.collect();
        assert!(
            tables.len() == 14 && tables.iter().all(|table| *table == tables[0]),
            "{line:?}"
        );
    }

    let (printed, asked) = run(&server, "--test=oltp --oltp-tables-count=2 cleanup");
    assert!(printed.contains("Dropping table 'sbtest2'..."), "{printed}");
    expect(&asked, &[("DROP TABLE IF EXISTS sbtest#", 2)]);
}

#[test]
fn tables_of_0_5_are_made_by_all_clients() {
    let server = Mariadb::start();
    server.reset(&[]);
    let (printed, _) = run(
        &server,
        "--test=parallel_prepare --oltp-table-size=50 --oltp-tables-count=5 --num-threads=2 --max-requests=2 \
         --oltp-auto-inc=off run",
    );
    for number in 1..=5 {
        assert!(
            printed.contains(&format!("Creating table 'sbtest{number}'...")),
            "{printed}"
        );
        let counted = format!("select concat_ws(' ', count(*), min(id), max(id)) from sbtest{number}");
        let counted: &'static str = Box::leak(counted.into_boxed_str());
        assert_eq!(server.seen(false, Some(counted)), "50 1 50");
    }
    let (_, asked) = run(&server, "--test=parallel_prepare --oltp-tables-count=5 cleanup");
    expect(&asked, &[("DROP TABLE IF EXISTS sbtest#", 5)]);
}

//! What a run shows of the hosts that drove its load: what each had of it, what it did, and whether it was the limit.

use super::model::{Section, Table, Value};
use super::parts::{figure, in_full, list, section, table};
use super::recorded::Recorded;
use super::table::{number, text, value, without_empty_columns, words};
use super::throughput::Throughput;
use crate::figures::one_line;
use dyno_archive::{IntervalRow, LoadHost, LoadShare};

/// The section; without content if dyno drove the load itself.
pub(super) fn section_of(recorded: &Recorded, with_figures: bool) -> Section {
    let record = recorded.run.record.as_ref();
    let hosts = record.map_or(&[][..], |record| record.load_hosts.as_slice());
    if hosts.is_empty() {
        return section("load-hosts", "Load hosts", Vec::new());
    }
    let mut blocks: Vec<_> = table(shares(hosts)).into_iter().collect();
    blocks.extend(table(clocks(hosts)).filter(|_| hosts.iter().any(|host| host.clock.is_some())));
    blocks.extend(list(hosts.iter().flat_map(said).collect()));
    let over_time = with_figures.then(|| over_time(recorded, hosts)).flatten();
    let chapter = section(
        "load-hosts-over-time",
        "Load hosts over time",
        figure(over_time).into_iter().collect(),
    );
    Section {
        sections: Some(in_full(chapter))
            .into_iter()
            .filter(|chapter| !chapter.blocks.is_empty())
            .collect(),
        ..section("load-hosts", "Load hosts", blocks)
    }
}

/// What each had of the load, and did.
fn shares(hosts: &[LoadHost]) -> Table {
    let all: f64 = hosts.iter().filter_map(|host| host.tps).sum();
    let row = |host: &LoadHost| {
        let sum = |part: fn(&LoadShare) -> usize| -> f64 { host.shares.iter().map(part).sum::<usize>() as f64 };
        let rate: Option<f64> = own(host).map(|share| share.rate_per_s).sum();
        vec![
            words(one_line(&host.name)),
            words(one_line(&host.hostname)),
            value(host.cores as f64),
            words(workloads(host, hosts)),
            value(sum(|share| share.clients)),
            value(sum(|share| share.threads)),
            value(rate),
            value(host.tps),
            value(host.tps.filter(|_| all > 0.0).map(|tps| tps / all * 100.0)),
            value(host.errors.map(|errors| errors as f64)),
            value(host.ceiling_per_s),
            value(host.agent_cores),
            value(host.idle_percent),
            value(host.gap.as_ref().map(|gap| gap.from_s)),
        ]
    };
    without_empty_columns(Table {
        caption: "Load by host".to_owned(),
        columns: vec![
            text("load host"),
            text("machine"),
            number("cores", ""),
            text("workloads"),
            number("clients", ""),
            number("threads", ""),
            number("asked", "1/s"),
            number("mean", "TPS"),
            number("share", "%"),
            number("errors", ""),
            number("ceiling", "statements/s"),
            number("agent's CPU", "cores"),
            number("CPU idle", "%"),
            number("missing from", "s"),
        ],
        rows: hosts.iter().map(row).collect(),
    })
}

/// What a host had a part of.
fn own(host: &LoadHost) -> impl Iterator<Item = &LoadShare> {
    host.shares.iter().filter(|share| share.clients > 0)
}

/// The workloads that a host had a part of; empty if every host had one of each.
fn workloads(host: &LoadHost, hosts: &[LoadHost]) -> String {
    let has_all = |host: &LoadHost| own(host).count() == host.shares.len();
    let names: Vec<_> = own(host).map(|share| share.workload.as_str()).collect();
    match hosts.iter().all(has_all) {
        true => String::new(),
        false => one_line(&names.join(", ")),
    }
}

/// How exactly they began together, and their clocks.
fn clocks(hosts: &[LoadHost]) -> Table {
    let row = |host: &LoadHost| -> Vec<Value> {
        let clock = host.clock.as_ref();
        vec![
            words(one_line(&host.name)),
            value(host.late_us.map(f64::round)),
            value(clock.map(|clock| clock.uncertainty_us.round())),
            value(clock.map(|clock| clock.drift_us.round())),
            value(clock.and_then(|clock| clock.time_of_day_us).map(f64::round)),
        ]
    };
    without_empty_columns(Table {
        caption: "Clocks of the load hosts".to_owned(),
        columns: vec![
            text("load host"),
            number("began late by", "µs"),
            number("clock known to", "µs"),
            number("drift", "µs"),
            number("time of day ahead", "µs"),
        ],
        rows: hosts.iter().map(row).collect(),
    })
}

/// What is to be said of a host in words.
fn said(host: &LoadHost) -> Vec<String> {
    let name = one_line(&host.name);
    let limit = host.limit.as_ref();
    let limit = limit.map(|limit| format!("Load host {name} was the limit: {}.", one_line(limit)));
    let gap = host.gap.as_ref();
    let gap = gap.map(|gap| {
        let reason = one_line(&gap.reason);
        let from_s = gap.from_s;
        format!("Load host {name} is missing from {from_s:.1} s on: {reason}. Its mean is over the whole time.")
    });
    limit.into_iter().chain(gap).collect()
}

/// The throughput of each host over time.
fn over_time(recorded: &Recorded, hosts: &[LoadHost]) -> Option<super::model::Figure> {
    let mut throughput = Throughput::new(recorded.grid);
    for host in hosts {
        let several = host.shares.len() > 1;
        let has_part = |row: &IntervalRow| own(host).any(|share| share.workload == row.workload);
        for mut row in recorded.run.intervals_of_host(&host.name).filter(has_part) {
            row.workload = match several {
                true => format!("{}: {}", host.name, row.workload),
                false => host.name.clone(),
            };
            throughput.push(&row);
        }
    }
    throughput.figure("load-hosts-throughput", &recorded.annotations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Page;
    use crate::terminal;
    use dyno_archive::{ClockComparison, HostGap};

    #[test]
    fn each_host_stands_with_its_part_and_what_is_to_be_said_of_it() {
        let host = |name: &str, tps: f64| LoadHost {
            name: name.to_owned(),
            hostname: "m".to_owned(),
            cores: 4,
            shares: vec![
                LoadShare {
                    clients: 8,
                    threads: 2,
                    ..LoadShare::default()
                };
                2
            ],
            tps: Some(tps),
            errors: Some(0),
            ..LoadHost::default()
        };
        let gone = LoadHost {
            gap: Some(HostGap {
                from_s: 3.0,
                reason: "the connection was closed".to_owned(),
            }),
            limit: Some("its control group held it back".to_owned()),
            ..host("b", 10.0)
        };
        let table = shares(&[host("a", 30.0), gone.clone()]);
        let columns: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(
            columns,
            [
                "load host",
                "machine",
                "cores",
                "clients",
                "threads",
                "mean",
                "share",
                "errors",
                "missing from"
            ]
        );
        assert_eq!(table.rows[0][3..7], [16.0, 4.0, 30.0, 75.0].map(value));
        let mut reader = host("a", 30.0);
        reader.shares[0].workload = "read".to_owned();
        reader.shares[1].clients = 0;
        reader.shares[0].rate_per_s = Some(50.0);
        reader.shares[1].rate_per_s = Some(0.0);
        // What is asked for says nothing beside the TPS of a closed loop.
        let mut both = host("b", 30.0);
        (both.shares[0].workload, both.shares[1].workload) = ("read".to_owned(), "write".to_owned());
        both.shares[0].rate_per_s = Some(50.0);
        let table = shares(&[reader, both]);
        assert_eq!(
            (table.rows[0][3].clone(), table.rows[1][3].clone()),
            (words("read"), words("read, write"))
        );
        assert_eq!(
            (table.rows[0][6].clone(), table.rows[1][6].clone()),
            (value(50.0), value(None))
        );
        assert_eq!(
            said(&gone),
            [
                "Load host b was the limit: its control group held it back.",
                "Load host b is missing from 3.0 s on: the connection was closed. Its mean is over the whole \
                 time."
            ]
        );
    }

    #[test]
    fn clocks_have_one_unit_which_a_terminal_says() {
        let host = LoadHost {
            name: "a".to_owned(),
            late_us: Some(3_297.2),
            clock: Some(ClockComparison {
                time_of_day_us: Some(-64_000.0),
                drift_us: 0.7,
                uncertainty_us: 15.0,
            }),
            ..LoadHost::default()
        };
        insta::assert_snapshot!(terminal::table(&clocks(&[host]), Page::default()), @r"
        Clocks of the load hosts (µs):
          load host  began late by  clock known to  drift  time of day ahead
          a                  3,297              15      1            -64,000
        ");
    }
}

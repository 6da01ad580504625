//! Machines that are made up.

use super::*;
use dyno_record::Mark;

/// One on which nothing is to be said.
fn fine() -> Seen {
    Seen {
        host: HostFacts {
            hostname: Some("bench".to_owned()),
            kernel: Some("Linux 6.1".to_owned()),
            cpu_model: Some("Fast".to_owned()),
            cores: 8,
            memory_bytes: 32_000_000_000,
            governor: Some("performance".to_owned()),
            clock_source: Some("tsc".to_owned()),
            clock_read_ns: 25,
            transparent_huge_pages: Some("madvise".to_owned()),
            huge_pages: Some(0),
            data_filesystem: None,
        },
        limits: HostLimits {
            open_files: Some(1_000_000),
            ports: Some(28_232),
            swap_used_bytes: Some(0),
            load_average: Some(0.2),
            io_uring_disabled: Some(0),
            ..HostLimits::default()
        },
        server: Server::Elsewhere,
        clients: Some(64),
        most_clients: Some(999_900),
        too_many: None,
        no_uring: None,
    }
}

/// What is not as it should be.
fn wrong(change: impl FnOnce(&mut Seen)) -> Vec<(String, Mark)> {
    let mut seen = fine();
    change(&mut seen);
    let found = judge(&seen).into_iter().filter(|finding| finding.mark > Mark::Ok);
    found.map(|finding| (finding.subject, finding.mark)).collect()
}

fn of(subject: &str, mark: Mark) -> Vec<(String, Mark)> {
    vec![(subject.to_owned(), mark)]
}

#[test]
fn a_machine_for_measuring_has_nothing_to_be_said() {
    assert_eq!(wrong(|_| ()), []);
    assert_eq!(judge(&fine()).len(), 9);
}

#[test]
fn each_limit_is_said() {
    let uring = "io_uring cannot be used: it is forbidden here".to_owned();
    type Change = Box<dyn FnOnce(&mut Seen)>;
    let cases: [(&str, Mark, Change); 14] = [
        ("cores", Mark::Note, Box::new(|seen| seen.limits.cpu_quota = Some(1.5))),
        (
            "shared",
            Mark::Note,
            Box::new(|seen| seen.server = Server::Here { by_tcp: true }),
        ),
        (
            "busy",
            Mark::Note,
            Box::new(|seen| seen.limits.load_average = Some(5.0)),
        ),
        (
            "memory",
            Mark::Note,
            Box::new(|seen| seen.limits.memory_limit_bytes = Some(1 << 30)),
        ),
        (
            "swap",
            Mark::Note,
            Box::new(|seen| seen.limits.swap_used_bytes = Some(1 << 30)),
        ),
        ("open files", Mark::Note, Box::new(|seen| seen.most_clients = Some(900))),
        (
            "open files",
            Mark::Problem,
            Box::new(|seen| seen.too_many = Some("too many".to_owned())),
        ),
        ("ports", Mark::Note, Box::new(|seen| seen.limits.ports = Some(500))),
        ("ports", Mark::Problem, Box::new(|seen| seen.clients = Some(30_000))),
        ("io_uring", Mark::Note, Box::new(|seen| seen.no_uring = Some(uring))),
        (
            "CPU governor",
            Mark::Note,
            Box::new(|seen| seen.host.governor = Some("powersave".to_owned())),
        ),
        ("clock", Mark::Note, Box::new(|seen| seen.host.clock_read_ns = 900)),
        (
            "huge pages",
            Mark::Note,
            Box::new(|seen| {
                seen.server = Server::Unknown;
                seen.host.transparent_huge_pages = Some("always".to_owned());
            }),
        ),
        (
            "io_uring",
            Mark::Note,
            Box::new(|seen| {
                seen.no_uring = Some("io_uring cannot be used: this kernel is too old".to_owned());
                seen.host.governor = None;
            }),
        ),
    ];
    for (subject, mark, change) in cases {
        assert_eq!(wrong(change), of(subject, mark));
    }
}

#[test]
fn why_io_uring_is_not_to_be_had_decides_what_to_do() {
    let remedy = |disabled: Option<u8>, has_seccomp: bool| {
        let mut seen = fine();
        seen.no_uring = Some("io_uring cannot be used: it is forbidden here".to_owned());
        seen.limits.io_uring_disabled = disabled;
        seen.limits.has_seccomp = has_seccomp;
        let finding = io_uring(&seen).unwrap();
        (finding.remedy.unwrap(), finding.commands)
    };
    assert_eq!(remedy(Some(2), true).1, ["sysctl -w kernel.io_uring_disabled=0"]);
    assert!(remedy(Some(0), true).0.contains("seccomp profile"));
    assert!(remedy(None, false).0.contains("Linux 6.1"));
}

#[test]
fn what_only_a_server_here_is_concerned_by_is_left_out_elsewhere() {
    let subjects = |server: Server| {
        let seen = Seen { server, ..fine() };
        let found: Vec<String> = judge(&seen).into_iter().map(|finding| finding.subject).collect();
        ["shared", "ports", "huge pages"].map(|subject| found.iter().any(|found| found == subject))
    };
    assert_eq!(subjects(Server::Elsewhere), [false, true, false]);
    assert_eq!(subjects(Server::Here { by_tcp: true }), [true, true, true]);
    assert_eq!(subjects(Server::Here { by_tcp: false }), [true, false, true]);
    assert_eq!(subjects(Server::Unknown), [false, true, true]);
}

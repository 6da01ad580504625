//! Command lines as people type them, and what pgbench says of wrong ones.

use super::*;

fn parse_with(line: &str, variables: &[(&str, &str)]) -> Result<Request, OptionError> {
    let words = line.split_whitespace().map(str::to_owned).collect();
    parse(words, &|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn run(line: &str) -> Options {
    match parse_with(line, &[("PGDATABASE", "bench")]).unwrap() {
        Request::Run(options) => *options,
        other => panic!("{other:?}"),
    }
}

fn fault(line: &str) -> String {
    parse_with(line, &[("PGDATABASE", "bench")]).unwrap_err().to_string()
}

#[test]
fn defaults_are_those_of_pgbench() {
    let options = run("");
    assert_eq!(
        (options.clients, options.threads, options.transactions),
        (1, 1, Some(10))
    );
    assert_eq!(options.scripts.list[0].description, "<builtin: TPC-B (sort of)>");
    assert_eq!((options.max_tries, options.protocol), (1, Protocol::Simple));
    assert_eq!(options.connection.database, "bench");
}

#[test]
fn threads_never_outnumber_clients() {
    let options = run("-c 3 -j 8 -T 5");
    assert_eq!((options.clients, options.threads), (3, 3));
    assert_eq!((options.transactions, options.duration_s), (None, Some(5)));
}

#[test]
fn the_database_comes_from_the_nearest_place() {
    let database = |line: &str, variables: &[(&str, &str)]| match parse_with(line, variables).unwrap() {
        Request::Run(options) => options.connection.database,
        other => panic!("{other:?}"),
    };
    let both = [("PGDATABASE", "a"), ("PGUSER", "b")];
    assert_eq!(database("-U u", &both), "a");
    assert_eq!(database("-U u", &both[1..]), "b");
    assert_eq!(database("x", &both), "x");
    assert_eq!(database("-d y -n", &both), "y");
    assert_eq!(database("--dbname=y", &both), "y");
    assert_eq!(fault("x y"), "too many command-line arguments (first is \"y\")");
    assert_eq!(
        fault("--dbname=x y"),
        "too many command-line arguments (first is \"y\")"
    );
}

#[test]
fn connection_strings_win_over_options() {
    let mut connection = Connection {
        host: Some("it's".to_owned()),
        port: Some("5".to_owned()),
        user: None,
        database: "my db".to_owned(),
    };
    assert_eq!(connection.target().0, r"host='it\'s' port='5' dbname='my db'");
    connection.database = "host=b".to_owned();
    assert_eq!(connection.target().0, r"host='it\'s' port='5' host=b");
    connection.database = "postgres://c/d".to_owned();
    assert_eq!(
        connection.target(),
        (
            "postgres://c/d".to_owned(),
            vec![("PGHOST", "it's".to_owned()), ("PGPORT", "5".to_owned())]
        )
    );
}

#[test]
fn a_limit_of_less_than_a_microsecond_is_none() {
    let limit = |line: &str| match parse_with(line, &[]) {
        Ok(Request::Run(options)) => options.latency_limit_us,
        _ => panic!("{line}"),
    };
    assert_eq!((limit("-L 0.0001"), limit("-L 0.002")), (None, Some(2)));
}

#[test]
fn the_first_fault_is_told() {
    assert_eq!(fault("-c 0 -M x"), "-c/--client must be in range 1..2147483647");
    assert_eq!(fault("-M x -c 0"), "invalid query mode (-M): \"x\"");
    assert_eq!(fault("-c 1x"), "invalid value \"1x\" for option -c/--client");
    assert_eq!(fault("-j 99999999999"), "-j/--jobs must be in range 1..2147483647");
    assert_eq!(fault("-i -F 9"), "-F/--fillfactor must be in range 10..100");
    assert_eq!(fault("-R -1"), "invalid rate limit: \"-1\"");
    assert_eq!(fault("-L 0"), "invalid latency limit: \"0\"");
    assert_eq!(fault("-b se@0"), "total script weight must not be zero");
    assert_eq!(fault("-D a="), "invalid variable definition: \"a=\"");
    assert_eq!(fault("-D a-b=1"), "option: invalid variable name: \"a-b\"");
    assert_eq!(fault("--random-seed=-x"), "unrecognized random seed option \"-x\"");
    assert_eq!(fault("--max-tries=-2"), "invalid number of maximum tries: \"-2\"");
    assert_eq!(fault("-I x -i"), "unrecognized initialization step \"x\"");
    assert_eq!(fault("--report-format=8.4"), "invalid report format: \"8.4\"");
    assert_eq!(fault("--percentiles=101"), "invalid percentiles: \"101\"");
}

#[test]
fn options_must_go_together() {
    for (line, text) in [
        (
            "-t 1 -T 1",
            "specify either a number of transactions (-t) or a duration (-T), not both",
        ),
        (
            "-i -c 2",
            "some of the specified options cannot be used in initialization (-i) mode",
        ),
        (
            "-q",
            "some of the specified options cannot be used in benchmarking mode",
        ),
        (
            "--sampling-rate=0.1",
            "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
        ),
        (
            "-l --sampling-rate=0.1 --aggregate-interval=1",
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
        ),
        (
            "--aggregate-interval=1",
            "log aggregation is allowed only when actually logging transactions",
        ),
        (
            "--log-prefix=x",
            "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
        ),
        (
            "-l --aggregate-interval=5 -T 2",
            "number of seconds for aggregation (5) must not be higher than test duration (2)",
        ),
        (
            "-l --aggregate-interval=2 -T 5",
            "duration (5) must be a multiple of aggregation interval (2)",
        ),
        (
            "--progress-timestamp",
            "--progress-timestamp is allowed only under --progress",
        ),
        (
            "--max-tries=0",
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
        ),
        (
            "-i --partition-method=hash",
            "--partition-method requires greater than zero --partitions",
        ),
    ] {
        assert_eq!(fault(line), text, "{line}");
    }
    assert_eq!(run("--max-tries=0 -T 1").max_tries, 0);
}

#[test]
fn initialization_collects_its_options() {
    let line = "-i -s 20 -F 90 -n -q --foreign-keys --partitions=3 --partition-method=HASH --unlogged-tables -I dtGv";
    let Request::Initialize(options) = parse_with(line, &[]).unwrap() else {
        panic!();
    };
    let init = options.init;
    assert_eq!((init.scale, init.fillfactor, init.partitions), (20, 90, 3));
    assert_eq!(init.partition_method, Some(PartitionMethod::Hash));
    assert_eq!(init.steps, "dtGv");
    assert!(init.no_vacuum && init.quiet && init.foreign_keys && init.unlogged);
}

#[test]
fn some_requests_end_at_once() {
    assert!(matches!(parse_with("--help -c 0", &[]), Ok(Request::Help)));
    assert!(matches!(parse_with("-V", &[]), Ok(Request::Version)));
    assert!(matches!(parse_with("--report-format=15 -V", &[]), Ok(Request::Version)));
    assert!(matches!(parse_with("-n -b list -c 0", &[]), Ok(Request::ListBuiltins)));
    assert!(
        matches!(parse_with("--show-script=se", &[]), Ok(Request::ShowScript(script)) if script.name == "select-only")
    );
    // As in pgbench, these two are only known in first place.
    assert_eq!(fault("-n -V"), "invalid option -- 'V'");
}

#[test]
fn the_environment_may_give_the_seed() {
    let Ok(Request::Run(options)) = parse_with("", &[("PGBENCH_RANDOM_SEED", "7")]) else {
        panic!();
    };
    assert_eq!(options.seed, 7);
    assert!(parse_with("--help", &[("PGBENCH_RANDOM_SEED", "x")]).is_ok());
    assert!(parse_with("-n", &[("PGBENCH_RANDOM_SEED", "x")]).is_err());
}

#[test]
fn empty_words_count_as_not_given() {
    for line in ["-U  -h  -p  -d ", ""] {
        let words = line.split(' ').map(str::to_owned).collect();
        let Ok(Request::Run(options)) = super::parse(words, &|name| (name == "PGDATABASE").then(|| "bench".to_owned()))
        else {
            panic!("{line}")
        };
        assert_eq!(options.connection.target(), (String::new(), Vec::new()), "{line}");
    }
}

#[test]
fn progress_of_an_initialization_names_the_table_from_17_on() {
    for (line, names) in [
        ("-i", true),
        ("-i --report-format=17", true),
        ("-i --report-format=16", false),
    ] {
        let Ok(Request::Initialize(options)) = parse_with(line, &[("PGDATABASE", "bench")]) else {
            panic!("{line}")
        };
        assert_eq!(options.init.progress_names_table, names, "{line}");
    }
}

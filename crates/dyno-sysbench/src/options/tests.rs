//! Command lines, and what they ask for.

use super::declared::{Declared, resolve};
use super::*;

fn parsed(words: &[&str]) -> Result<Request, OptionError> {
    complaining(words).0
}

fn complaining(words: &[&str]) -> (Result<Request, OptionError>, Vec<String>) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut complaints = Vec::new();
    (parse(&words, &mut complaints), complaints)
}

fn options(words: &[&str]) -> Options {
    match parsed(words) {
        Ok(Request::Test(options)) => *options,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn refused(words: &[&str]) -> String {
    match parsed(words) {
        Err(error) => error.to_string(),
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn a_test_and_a_command_stand_anywhere() {
    for words in [
        &["oltp", "--threads=4", "run"][..],
        &["--threads=4", "oltp", "run"],
        &["oltp", "run", "--threads=4"],
        &["--test=oltp", "--num-threads=4", "run"],
        &["--num_threads=4", "run", "--test=oltp"],
    ] {
        let options = options(words);
        assert_eq!(options.test.as_deref(), Some("oltp"), "{words:?}");
        assert_eq!(options.command.as_deref(), Some("run"), "{words:?}");
        assert_eq!(options.limits.threads, 4, "{words:?}");
    }
    assert_eq!(refused(&["a", "b", "c"]), "Unrecognized command line argument: c");
    assert_eq!(refused(&["a", "-x"]), "Unrecognized command line argument: -x");
    assert_eq!(options(&["-", "run"]).test.as_deref(), Some("-"));
}

#[test]
fn older_names_are_told_to_be_old() {
    let given = options(&["--max-time=3", "--tx-rate=2", "--max-requests=5"]);
    assert_eq!(given.limits.time_s, Some(3));
    assert_eq!(given.limits.rate_per_s, Some(2.0));
    assert_eq!(given.limits.events, Some(5));
    assert_eq!(
        given.warnings,
        [
            "--max-requests is deprecated, use --events instead",
            "--max-time is deprecated, use --time instead",
            "--tx-rate is deprecated, use --rate instead"
        ]
    );
    assert!(options(&["--report-format=0.5", "--max-time=3"]).warnings.is_empty());
    // sysbench does not look at numbers that set no limit.
    let given = options(&["--max-time=0", "--threads=3", "--num-threads=1"]);
    assert_eq!((given.limits.time_s, given.limits.threads), (Some(10), 3));
    assert!(given.warnings.is_empty(), "{:?}", given.warnings);
    assert_eq!(options(&["--report-format=0.5", "--max-time=0"]).limits.time_s, None);
}

#[test]
fn versions_have_defaults_of_their_own() {
    let usual = options(&[]);
    assert_eq!((usual.limits.events, usual.limits.time_s), (None, Some(10)));
    assert_eq!(usual.settings.text("rand-type"), "special");
    let old = options(&["--report-format=0.5"]);
    assert_eq!((old.limits.events, old.limits.time_s), (Some(10_000), None));
    assert_eq!(options(&["--report-format=1.1"]).settings.text("rand-type"), "uniform");
    assert!(refused(&["--report-format=2"]).contains("give 0.5, 1.0 or 1.1"));
}

#[test]
fn a_forced_shutdown_has_a_usual_time() {
    let after = |words: &[&str]| options(words).limits.forced_shutdown_s;
    assert_eq!(after(&["--time=100"]), None);
    assert_eq!(after(&["--time=100", "--forced-shutdown"]), Some(5));
    assert_eq!(after(&["--time=1", "--forced-shutdown"]), Some(0));
    assert_eq!(after(&["--time=1", "--forced-shutdown=7"]), Some(7));
    assert_eq!(after(&["--time=0", "--forced-shutdown=7"]), None);
    assert_eq!(
        refused(&["--forced-shutdown=x"]),
        "Invalid value for --forced-shutdown: 'x'"
    );
}

#[test]
fn checkpoints_are_in_order() {
    assert_eq!(options(&["--report-checkpoints=5,3"]).telling.checkpoints_s, [3, 5]);
    assert_eq!(
        refused(&["--report-checkpoints=1,x"]),
        "Invalid value for --report-checkpoints: 'x'"
    );
}

#[test]
fn a_password_is_not_kept_or_repeated() {
    let given = options(&["oltp", "--mysql-password=s3cret", "run"]);
    assert_eq!(given.settings.text("mysql-password"), "s3cret");
    let said = refused(&["oltp", "run", "--mysql-password=s3cret", "s3cret"]);
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_file_holds_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.cnf");
    std::fs::write(
        &path,
        "# of ours\n[sysbench]\n threads = 3 \ntable_size=7\ntime\ndebug\n",
    )
    .unwrap();
    let word = format!("--config-file={}", path.display());
    let given = options(&["oltp", "run", &word, "--time=4"]);
    assert_eq!(given.limits.threads, 3);
    assert_eq!(given.limits.time_s, Some(4));
    assert!(given.telling.debug);
    assert_eq!(
        given.others,
        [Other {
            name: "table_size".to_owned(),
            value: Some("7".to_owned()),
            is_of_file: true
        }]
    );
    assert_eq!(
        complaining(&["--config-file=/nosuch"]).1,
        ["/nosuch: No such file or directory\n"]
    );
}

fn declared(name: &str, kind: Kind, default: Option<Value>) -> Declared {
    Declared {
        name: name.to_owned(),
        kind,
        default,
        about: String::new(),
    }
}

#[test]
fn a_scripts_options_are_its_own() {
    let list = [
        declared("table_size", Kind::Double, Some(Value::Double(10.0))),
        declared("flag", Kind::Bool, Some(Value::Bool(true))),
        declared("none", Kind::Text, None),
    ];
    let values = |words: &[&str]| {
        resolve(Some(&list), &options(words)).map(|all| {
            all.into_iter()
                .map(|resolved| (resolved.name, resolved.value))
                .collect::<Vec<_>>()
        })
    };
    let named = |size: f64, flag: bool| {
        Ok(vec![
            ("table_size".to_owned(), Value::Double(size)),
            ("flag".to_owned(), Value::Bool(flag)),
            ("none".to_owned(), Value::Text(String::new())),
        ])
    };
    assert_eq!(values(&[]), named(10.0, true));
    assert_eq!(values(&["--table-size=5", "--flag=off"]), named(5.0, false));
    assert_eq!(values(&["--table_size=1", "--table-size=2"]), named(2.0, true));
    let size = [declared("size", Kind::Size, Some(Value::Text("10M".to_owned())))];
    let resolved = resolve(Some(&size), &options(&[])).unwrap();
    assert_eq!(resolved[0].value, Value::Int(10 << 20));
    let refused = |word: &str| values(&[word]).unwrap_err().to_string();
    assert_eq!(refused("--flag=maybe"), "invalid option: --flag=maybe");
    assert_eq!(refused("--nosuch"), "invalid option: --nosuch");
    // It is found to be wrong at once, and said once there is a script.
    assert_eq!(refused("--debug=maybe"), "invalid option: --debug=maybe");
}

#[test]
fn a_script_that_declares_nothing_gets_everything() {
    let given = options(&["--oltp-table-size=5", "--x"]);
    let all = resolve(None, &given).unwrap();
    let named: Vec<_> = all
        .iter()
        .map(|resolved| (resolved.name.as_str(), resolved.value.to_string()))
        .collect();
    assert_eq!(named, [("oltp_table_size", "5".to_owned()), ("x", String::new())]);
}

#[test]
fn help_comes_before_everything() {
    assert!(matches!(
        parsed(&["--version", "--help"]),
        Ok(Request::Help(Version::V1_0))
    ));
    assert!(matches!(
        parsed(&["x", "--version"]),
        Ok(Request::Version(Version::V1_0))
    ));
    assert!(matches!(parsed(&["--help=off"]), Ok(Request::Test(_))));
    let text = help(Version::V1_0);
    assert!(
        text.contains("  --threads=N                     how many clients"),
        "{text}"
    );
    assert!(!text.contains("--warmup-time"), "{text}");
    assert!(help(Version::V1_1).contains("--warmup-time"));
}

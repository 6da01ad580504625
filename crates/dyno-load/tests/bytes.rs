//! A plan that has travelled as bytes is the plan that it was, and bytes of anybody do no harm.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use dyno_engine::{
    Connecting, FailurePolicy, Load, OnBrokenScript, OnError, Pacing, Phase, Preparing, Span, Stage, ThreadOptions,
    TransportChoice, Workload,
};
use dyno_load::{
    Access, Given, LoadPlan, LogPlan, LuaScript, ScriptText, Scripts, Server, Work, WorkloadPlan, from_bytes, to_bytes,
};
use dyno_lua::{Distribution, IgnoredErrors, OptionValue, PreparedStatements, RandomSettings};
use dyno_script::{Lexis, Value};
use dyno_target::{mysql, oracle, postgres};
use dyno_wire::Protocol;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::time::Duration;

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..u64::MAX, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
        Just(Duration::MAX),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    (0.0..1e9_f64, 0.0..1e9_f64).prop_map(|(from, to)| Span { from, to })
}

fn stage() -> impl Strategy<Value = Stage> {
    (duration(), option::of(span()), option::of(span())).prop_map(|(duration, clients, rate_per_s)| Stage {
        duration,
        clients,
        rate_per_s,
    })
}

/// Addresses as they are given, which name all that a server can be asked for.
fn server() -> impl Strategy<Value = Server> {
    let postgres = |address: String| {
        let info = postgres::address::ConnectionInfo::resolve(Some(&address), &|_| None).unwrap();
        let parameters = vec![("timezone".to_owned(), "PST8PDT".to_owned())];
        Server::Postgres(Box::new(info.with_parameters(parameters)))
    };
    let mysql = |address: String| {
        let info = mysql::address::ConnectionInfo::resolve(&address, &|_| None).unwrap();
        Server::Mysql(Box::new(info))
    };
    let oracle = |address: String| {
        let info = oracle::address::ConnectionInfo::resolve(&address, &|_| None).unwrap();
        Server::Oracle(Box::new(info))
    };
    let by_crate = move |address: String| match oracle(address) {
        Server::Oracle(info) => Server::OracleByCrate(info),
        other => other,
    };
    prop_oneof![
        "[a-z]{1,8}".prop_map(move |word| by_crate(format!("oracle://{word}@h/s"))),
        "[a-z]{1,8}".prop_map(move |word| {
            oracle(format!(
                "oracles://u:{word}@{word},[::1]:7/{word}:dedicated?wallet_location=/{word}"
            ))
        }),
        "[a-z]{1,8}".prop_map(move |word| postgres(format!("postgres://u:{word}@{word}:7,[::1]/{word}"))),
        Just(postgres(
            "host=/run,db hostaddr=,10.0.0.7 port=1 user=u sslmode=verify-full sslrootcert=/ca.pem sslcert=/c.pem \
             sslkey=/k.pem sslcrl=/crl.pem sslsni=0 require_auth=!password,!md5 channel_binding=require \
             requirepeer=postgres target_session_attrs=prefer-standby connect_timeout=3 options='-c jit=off'"
                .to_owned(),
        )),
        "[a-z]{1,8}".prop_map(move |word| mysql(format!("mysql://u:{word}@{word}:7/{word}?ssl-mode=verify_ca"))),
        Just(mysql("mysql://u@h/d?socket=/run/m.sock".to_owned())),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("equal to itself", |number| !number.is_nan())
            .prop_map(Value::Double),
        vec(any::<u8>(), 0..20).prop_map(|text| Value::Text(text.into())),
    ]
}

fn scripts() -> impl Strategy<Value = Scripts> {
    let script =
        (".*", vec(any::<u8>(), 0..40), 1..u64::MAX).prop_map(|(name, text, weight)| ScriptText { name, text, weight });
    let given = ("[a-z]*", value()).prop_map(|(name, value)| Given { name, value });
    let protocol = prop::sample::select(Protocol::ALL.to_vec());
    let lexis = prop::sample::select(vec![Lexis::Psql, Lexis::Mysql, Lexis::MysqlNoEscapes, Lexis::Oracle]);
    (vec(script, 1..3), lexis, vec(given, 0..3), any::<u64>(), protocol).prop_map(
        |(scripts, lexis, variables, seed, protocol)| Scripts {
            scripts,
            lexis,
            variables,
            seed,
            protocol,
        },
    )
}

fn option_value() -> impl Strategy<Value = OptionValue> {
    prop_oneof![
        any::<bool>().prop_map(OptionValue::Bool),
        (-1e9..1e9_f64).prop_map(OptionValue::Number),
        ".*".prop_map(OptionValue::Text),
        vec(".*", 0..3).prop_map(OptionValue::List),
    ]
}

fn lua() -> impl Strategy<Value = LuaScript> {
    let options = || vec(("[a-z_]*", option_value()), 0..3);
    let texts = (
        ".*",
        vec(any::<u8>(), 0..40),
        vec(("[a-z]*", vec(any::<u8>(), 0..20)), 0..2),
    );
    let ignored = prop_oneof![
        Just(IgnoredErrors::All),
        vec(any::<u32>(), 0..3).prop_map(IgnoredErrors::Numbers),
    ];
    let rest = (any::<[bool; 3]>(), ignored, any::<u64>());
    (texts, options(), options(), rest).prop_map(|((name, text, modules), options, globals, rest)| {
        let ([is_safe, prepares, has_folder], ignored, seed) = rest;
        LuaScript {
            name,
            text,
            folder: has_folder.then(|| "some/where".into()),
            files: modules.clone(),
            modules,
            options,
            globals,
            is_safe,
            prepared: match prepares {
                true => PreparedStatements::Auto,
                false => PreparedStatements::Disable,
            },
            ignored,
            random: RandomSettings {
                distribution: Distribution::Pareto,
                seed,
                ..RandomSettings::default()
            },
        }
    })
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        scripts().prop_map(Work::Scripts),
        lua().prop_map(|lua| Work::Lua(Box::new(lua))),
    ]
}

fn log() -> impl Strategy<Value = LogPlan> {
    let rates = (option::of(0.0..1.0_f64), option::of(1..1000_u64));
    (".*", rates, any::<bool>(), 0..3_usize).prop_map(
        |(prefix, (sampling_rate, aggregate_s), failures_detailed, first_phase)| LogPlan {
            prefix,
            version: "18".to_owned(),
            sampling_rate,
            aggregate_s,
            failures_detailed,
            first_phase,
        },
    )
}

fn failures() -> impl Strategy<Value = FailurePolicy> {
    (option::of(any::<u32>()), any::<[bool; 4]>()).prop_map(|(max_tries, [abort, broken, whole, report])| {
        FailurePolicy {
            max_tries,
            on_error: if abort { OnError::AbortClient } else { OnError::Count },
            on_broken_script: match broken {
                true => OnBrokenScript::AbortClient,
                false => OnBrokenScript::EndLoad,
            },
            abort_load: whole,
            report_failures: report,
        }
    })
}

fn workload() -> impl Strategy<Value = WorkloadPlan> {
    let clients = (1..1000_usize).prop_flat_map(|clients| (Just(clients), 1..=clients));
    let pacing = prop_oneof![
        Just(Pacing::Closed),
        (0.001..1e6_f64).prop_map(|rate_per_s| Pacing::Open { rate_per_s }),
    ];
    let times = (duration(), duration(), vec(stage(), 0..3), pacing);
    let limits = (option::of(any::<u64>()), option::of(duration()), any::<[bool; 5]>());
    let parts = (server(), work(), option::of(log()), failures());
    (clients, times, limits, parts).prop_map(
        |((clients, threads), (start_delay, stages_begin, stages, pacing), limits, parts)| {
            let (transactions_per_client, latency_limit, [each, reconnect, time_commands, trace, at_start]) = limits;
            let (server, work, log, failures) = parts;
            let preparing = if at_start {
                Preparing::AtStart
            } else {
                Preparing::OnFirstUse
            };
            Workload {
                threads,
                pacing,
                start_delay,
                stages_begin,
                stages,
                transactions_per_client,
                connecting: if each {
                    Connecting::EveryTransaction
                } else {
                    Connecting::Once
                },
                reconnect,
                failures,
                latency_limit,
                time_commands,
                trace,
                log,
                ..Workload::new("", clients, Access { server, preparing }, work)
            }
        },
    )
}

fn plan() -> impl Strategy<Value = LoadPlan> {
    let phases = vec(
        (".*", duration(), vec(any::<usize>(), 0..3)).prop_map(|(name, duration, until)| Phase {
            name,
            duration,
            until,
        }),
        1..4,
    );
    let transport = prop::sample::select(vec![
        TransportChoice::Auto,
        TransportChoice::Readiness,
        TransportChoice::IoUring,
    ]);
    let cpus = prop::sample::select(vec!["", "3", "0-3,6"]);
    let times = (1..u64::MAX, duration(), any::<[bool; 2]>());
    (vec(workload(), 1..4), phases, times, transport, cpus).prop_map(|(workloads, phases, times, transport, cpus)| {
        let (interval_ms, grace, [include_connecting, record_finishing]) = times;
        let named = workloads.into_iter().enumerate().map(|(number, workload)| Workload {
            name: format!("w{number}"),
            ..workload
        });
        Load {
            interval: Duration::from_millis(interval_ms),
            grace,
            include_connecting,
            record_finishing,
            threads: ThreadOptions {
                transport,
                cpus: cpus.parse().unwrap_or_default(),
            },
            ..Load::new(named.collect(), phases)
        }
    })
}

/// A plan without anything special.
fn plain() -> LoadPlan {
    let info = postgres::address::ConnectionInfo::resolve(Some("postgres://u:hunter2@h/d"), &|_| None).unwrap();
    let access = Access {
        server: Server::Postgres(Box::new(info)),
        preparing: Preparing::AtStart,
    };
    let scripts = Scripts {
        scripts: vec![ScriptText {
            name: "one".to_owned(),
            text: b"select 1;".to_vec(),
            weight: 1,
        }],
        lexis: Lexis::Psql,
        variables: vec![Given::new("token", "hunter3")],
        seed: 1,
        protocol: Protocol::Simple,
    };
    let workload = Workload::new("one", 2, access, scripts.into());
    Load::new(vec![workload], vec![Phase::new("measure", Duration::from_secs(1))])
}

proptest! {
    #[test]
    fn a_plan_comes_back_as_it_was(plan in plan()) {
        let bytes = to_bytes(&plan).unwrap();
        prop_assert_eq!(from_bytes(&bytes).unwrap(), plan);
    }

    #[test]
    fn bytes_of_anybody_are_read_or_refused(bytes in vec(any::<u8>(), 0..2000)) {
        let _ = from_bytes(&bytes);
    }

    #[test]
    fn a_damaged_plan_is_read_or_refused(plan in plan(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = to_bytes(&plan).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
            prop_assert!(from_bytes(&bytes).is_err());
        } else {
            let _ = from_bytes(&bytes);
        }
    }
}

#[test]
fn passwords_are_shown_by_nothing() {
    let plan = plain();
    let shown = format!("{plan:?} {plan:#?}");
    assert!(shown.contains("select") || shown.contains("one"), "{shown}");
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn what_cannot_be_driven_is_refused() {
    let refused = |change: &dyn Fn(&mut LoadPlan)| {
        let mut plan = plain();
        change(&mut plan);
        from_bytes(&to_bytes(&plan).unwrap()).unwrap_err().to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut LoadPlan);
    let cases: [(Change<'_>, &str); 10] = [
        (&|plan| plan.workloads.clear(), "no workload"),
        (&|plan| plan.phases.clear(), "no phase"),
        (&|plan| plan.interval = Duration::ZERO, "interval"),
        (&|plan| plan.workloads.push(plan.workloads[0].clone()), "called \"one\""),
        (&|plan| plan.workloads[0].clients = usize::MAX, "more than 1000000"),
        (&|plan| plan.workloads[0].clients = 0, "no client"),
        (&|plan| plan.workloads[0].threads = 3, "more threads"),
        (
            &|plan| plan.workloads[0].pacing = Pacing::Open { rate_per_s: f64::NAN },
            "rate",
        ),
        (
            &|plan| match &mut plan.workloads[0].program {
                Work::Scripts(scripts) => scripts.scripts.clear(),
                Work::Lua(_) => unreachable!("it is a script of pgbench's"),
            },
            "no script",
        ),
        (
            &|plan| {
                plan.workloads[0].stages = vec![Stage {
                    duration: Duration::ZERO,
                    clients: Some(Span {
                        from: 0.0,
                        to: f64::INFINITY,
                    }),
                    rate_per_s: None,
                }];
            },
            "stage",
        ),
    ];
    for (change, what) in cases {
        let text = refused(change);
        assert!(text.contains(what), "{text}");
    }
    let mut bytes = to_bytes(&plain()).unwrap();
    bytes.push(0);
    let text = from_bytes(&bytes).unwrap_err().to_string();
    assert!(text.contains("1 bytes follow"), "{text}");
}

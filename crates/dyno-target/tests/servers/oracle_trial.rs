//! The statements of a trial, on a stand-in: what both clients get, and what is told of it.

use crate::support::stand_in::{StandIn, start, start_as};
use dyno_oracle_standin::{Fault, Misbehaviour, Moment, Profile};
use dyno_target::target::{External, StopFlag, Tried, Verdict};

fn tried(stand_in: &StandIn) -> Vec<Tried> {
    let trial = stand_in.info.trial().unwrap();
    let lock = trial.reserve().unwrap();
    let mut all = Vec::new();
    trial.statements(&StopFlag::default(), &mut |tried| all.push(tried));
    drop(lock);
    trial.clean_up().unwrap();
    let shown = format!("{all:?}");
    assert!(!shown.contains("secret"), "{shown}");
    all
}

/// What of it is not as it should be.
fn amiss(all: &[Tried]) -> Vec<(&str, &str)> {
    let amiss = all.iter().filter(|tried| tried.verdict != Verdict::Good);
    amiss.map(|tried| (tried.what.as_str(), tried.found.as_str())).collect()
}

fn of<'a>(all: &'a [Tried], what: &str) -> &'a Tried {
    let found = all.iter().find(|tried| tried.what == what);
    found.unwrap_or_else(|| panic!("no {what} in {all:#?}"))
}

#[test]
fn both_clients_get_the_same_and_dynos_session_parses_once() {
    for (name, profile) in [("trial_23", Profile::V23), ("trial_19", Profile::V19)] {
        let stand_in = start_as(name, true, |options| options.profile = profile);
        let all = tried(&stand_in);
        // The stand-in knows no errors of PL/SQL's own.
        let known = "ORA-20001: an error of PL/SQL's own";
        let amiss: Vec<_> = amiss(&all).into_iter().filter(|(what, _)| *what != known).collect();
        assert_eq!(amiss, [], "{name}");
        assert!(of(&all, "select by key").found.starts_with("alike: 7 | info of row 7"));
        assert_eq!(of(&all, "1,000 rows in several fetches").found, "alike: 1000 rows");
        let hundred = &of(&all, "select by key, 100 times").details[0];
        assert!(
            hundred.contains("parses 0/") && hundred.contains("executions 100/100"),
            "{hundred}"
        );
        let updates = &of(&all, "update and commit, 100 times").details[0];
        assert!(updates.contains("commits 100/100"), "{updates}");
        assert!(updates.contains("round trips 100/"), "{updates}");
        let mut client = stand_in.info.connect().unwrap();
        assert_eq!(
            client.query_first::<u64>("select count(*) from user_tables").unwrap(),
            Some(0)
        );
        assert_eq!(stand_in.standin.complaints(), [""; 0]);
    }
}

#[test]
fn who_may_not_read_counters_is_told_what_to_grant() {
    let stand_in = start("trial_ordinary", false);
    let all = tried(&stand_in);
    let counts = of(&all, "the server's own counts");
    assert_eq!(counts.verdict, Verdict::Different);
    assert!(
        counts.found.ends_with("grant select_catalog_role to BENCH"),
        "{counts:?}"
    );
    assert_eq!(of(&all, "select by key").details, [""; 0]);
}

#[test]
fn a_session_that_is_lost_is_told_of_and_the_rest_is_tried() {
    let stand_in = start_as("trial_lost", true, |options| {
        // Of each session: only dyno's own, and the crate's, execute so much.
        options.faults = vec![Fault {
            when: Moment::Execute(250),
            what: Misbehaviour::Close,
        }];
    });
    let all = tried(&stand_in);
    let lost: Vec<_> = amiss(&all)
        .into_iter()
        .filter(|(_, found)| found.contains("lost:"))
        .collect();
    assert!(!lost.is_empty(), "{all:#?}");
    assert_eq!(of(&all, "what comes behind errors").verdict, Verdict::Good);
}

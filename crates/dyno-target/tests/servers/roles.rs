//! Several private servers of one version at once, each in a role of its own.

use crate::support::holder::wait_for;
use crate::support::{home, options};
use dyno_target::mysql::embedded::EmbeddedOptions as MariadbOptions;
use dyno_target::target::{Embedded, Instance, KillSwitch, Needs, Progress};
use std::path::PathBuf;
use std::time::Duration;

struct Quiet;

impl Progress for Quiet {
    fn note(&mut self, text: &str) {
        panic!("{text}");
    }
}

const NEEDS: Needs<'static> = Needs {
    settings: &[],
    clients: 1,
    followed: false,
};

fn up(server: &dyn Embedded, switch: &KillSwitch) -> Box<dyn Instance> {
    let mut instance = server.hold(switch, &mut Quiet).unwrap();
    instance.bring(NEEDS, false, &mut Vec::new(), &mut Quiet).unwrap();
    assert_eq!(instance.post_mortem(Duration::ZERO), None);
    instance
}

fn folder(instance: &dyn Instance) -> PathBuf {
    instance.database(None).unwrap().data_folder().unwrap().to_owned()
}

/// Brings servers in two roles up together, and ends them by the switch that both are known to.
fn two_at_once(main: &dyn Embedded) {
    let proxy = main.in_role("tests-role-proxy").unwrap();
    let replica = main.in_role("tests-role-replica-2").unwrap();
    assert_eq!(proxy.to_string(), format!("{main} as tests-role-proxy"));
    let switch = KillSwitch::default();
    let (first, second) = (up(proxy.as_ref(), &switch), up(replica.as_ref(), &switch));
    let (one, other) = (folder(first.as_ref()), folder(second.as_ref()));
    assert!(one.ends_with("tests-role-proxy/data"), "{}", one.display());
    assert!(other.ends_with("tests-role-replica-2/data"), "{}", other.display());

    switch.stop_now();
    for instance in [&first, &second] {
        wait_for("the end of the server", || {
            instance.post_mortem(Duration::ZERO).is_some()
        });
    }
    drop((first, second));
    // What was killed starts again, and is known to the switch until it ends in good order.
    let mut again = up(proxy.as_ref(), &switch);
    again.stop(&mut Quiet);
    switch.stop_now();

    let error = main.in_role("../main").unwrap_err().to_string();
    assert!(
        error.starts_with("\"../main\" cannot be the name of a server's role"),
        "{error}"
    );
}

#[test]
fn postgresql_in_two_roles() {
    two_at_once(&options("main"));
}

#[test]
fn mariadb_in_two_roles() {
    two_at_once(&MariadbOptions::new(home()));
}

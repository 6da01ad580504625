//! Servers beside the main one: as the file has them, and as many of each as there are in a cell.

use super::mention::{in_order, unknown};
use super::placeholder::substitute;
use super::set::{SERVER_NAMES, SETTINGS, TARGET, dotted};
use super::{Experiment, SetError, WorkloadPlan};
use dyno_analysis::summary::metrics;
use dyno_archive::plan::{
    Address, Driver, Foreign, FurtherServer, Instances, Question, Resolved, Size, Value, Workload,
};
use dyno_target::target::{EMBEDDED, Product, product};
use indexmap::IndexMap;

/// More servers than one machine bears.
const MOST_SERVERS: f64 = 64.0;

/// A server beside the main one, as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerPlan {
    /// Its database, settings and data: an experiment that has nothing else.
    pub place: Box<Experiment>,
    /// How many there are; `None`: one, which has the name itself.
    pub count: Option<String>,
    pub behind: Option<String>,
    pub foreign: Foreign,
    pub replica_of: Option<String>,
}

impl ServerPlan {
    /// The names of its instances, with these parameters, if it is called `name`.
    pub fn names(&self, name: &str, parameters: &IndexMap<String, Value>) -> Result<Vec<String>, SetError> {
        let Some(count) = &self.count else {
            return Ok(vec![name.to_owned()]);
        };
        let text = substitute(count, parameters);
        let number = metrics::calculate(&text, |_| None).ok();
        let number = number.filter(|number| number.fract() == 0.0 && (1.0..=MOST_SERVERS).contains(number));
        let number = number.ok_or_else(|| SetError::Invalid {
            name: format!("{name}.count"),
            value: text,
            reason: format!("expected a whole number from 1 to {MOST_SERVERS}, or an expression such as {{proxies}}"),
        })?;
        Ok((1..=number as u64).map(|place| format!("{name}-{place}")).collect())
    }

    fn resolved(
        self,
        parameters: &IndexMap<String, Value>,
        size: Size,
        cores: usize,
    ) -> Result<FurtherServer, SetError> {
        let place = Experiment {
            parameters: parameters.clone(),
            ..*self.place
        };
        let Resolved {
            target,
            path,
            locale,
            settings,
            data,
            ..
        } = place.resolved(size, cores)?;
        Ok(FurtherServer {
            target,
            path,
            locale,
            settings,
            data,
            behind: self.behind,
            foreign: self.foreign,
            replica_of: self.replica_of,
        })
    }
}

impl Experiment {
    /// Whether a workload runs once on each of as many servers as there are.
    pub(super) fn is_counted(&self, workload: &WorkloadPlan) -> bool {
        let server = workload.server.as_ref().and_then(|server| self.servers.get(server));
        server.is_some_and(|server| server.count.is_some())
    }

    /// The further server that `name` is a value of, and the value's name there.
    pub(super) fn value_of_server<'a>(&self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let (server, value) = name.split_once('.')?;
        let is_value = SERVER_NAMES.contains(&value) || dotted(value, SETTINGS).is_some();
        (is_value && self.servers.contains_key(server)).then_some((server, value))
    }

    /// Whether a factor or value of this name says which database is measured.
    pub(super) fn is_target(&self, name: &str) -> bool {
        name == TARGET || self.value_of_server(name).is_some_and(|(_, value)| value == TARGET)
    }
}

/// The further servers of a cell, and the names of the instances of each that the file has.
pub(super) type Further = (IndexMap<String, FurtherServer>, IndexMap<String, Vec<String>>);

/// The further servers with these parameters.
pub(super) fn further(
    plans: IndexMap<String, ServerPlan>,
    parameters: &IndexMap<String, Value>,
    size: Size,
    cores: usize,
) -> Result<Further, SetError> {
    let (mut servers, mut names) = Further::default();
    for (name, plan) in plans {
        let instances = plan.names(&name, parameters)?;
        let one = plan.resolved(parameters, size, cores);
        let one = one.map_err(|error| of_server(&name, error))?;
        for instance in &instances {
            if servers.insert(instance.clone(), one.clone()).is_some() {
                return Err(twice("servers", instance));
            }
        }
        names.insert(name, instances);
    }
    Ok((servers, names))
}

/// `workloads` as they run: each once on every instance of its server. With each comes whether the sum of its instances
/// means something, and among how many load hosts these go in turn, if they do.
pub(super) fn on_instances(
    workloads: Vec<(bool, Option<usize>, Workload)>,
    names: &IndexMap<String, Vec<String>>,
) -> Result<Vec<Workload>, SetError> {
    let mut all: Vec<Workload> = Vec::new();
    for (sum, in_turn, workload) in workloads {
        let servers = workload.server.as_ref().and_then(|server| names.get(server));
        let is_one = |servers: &&Vec<String>| servers.len() == 1 && workload.server.as_ref() == servers.first();
        let each = match servers.filter(|servers| !is_one(servers)) {
            None => vec![workload],
            Some(servers) => {
                let instance = |(place, server): (usize, &String)| Workload {
                    name: format!("{}-{}", workload.name, place + 1),
                    server: Some(server.clone()),
                    instances: Some(Instances {
                        of: workload.name.clone(),
                        sum,
                    }),
                    load_hosts: match in_turn {
                        Some(hosts) => place.checked_rem(hosts).into_iter().collect(),
                        None => workload.load_hosts.clone(),
                    },
                    ..workload.clone()
                };
                servers.iter().enumerate().map(instance).collect()
            }
        };
        for workload in each {
            if all.iter().any(|known| known.name == workload.name) {
                return Err(twice("workloads", &workload.name));
            }
            all.push(workload);
        }
    }
    Ok(all)
}

/// What servers are asked: of one that there is several times, each.
pub(super) fn asked<T: Clone>(
    all: impl Iterator<Item = T>,
    what: &str,
    question: impl Fn(&mut T) -> &mut Question,
    names: &IndexMap<String, Vec<String>>,
) -> Result<Vec<T>, SetError> {
    let mut each: IndexMap<String, T> = IndexMap::new();
    for mut one in all {
        let asked = question(&mut one).clone();
        let servers = asked.server.as_ref().and_then(|server| names.get(server));
        let servers = servers.filter(|servers| asked.server.as_ref() != servers.first());
        let instances = match servers {
            None => vec![(asked.name, asked.server)],
            Some(servers) => {
                let places = servers.iter().zip(1..);
                let named = places.map(|(server, place)| (format!("{}-{place}", asked.name), Some(server.clone())));
                named.collect()
            }
        };
        for (name, server) in instances {
            let mut instance = one.clone();
            (question(&mut instance).name, question(&mut instance).server) = (name.clone(), server);
            if each.insert(name.clone(), instance).is_some() {
                return Err(twice(what, &name));
            }
        }
    }
    Ok(each.into_values().collect())
}

/// Finishes what follows from several servers together, and makes sure that they can be measured at once.
pub(crate) fn checked(mut experiment: Resolved) -> Result<Resolved, SetError> {
    if experiment.servers.is_empty() {
        return Ok(experiment);
    }
    follow_primaries(&mut experiment);
    let invalid = |name: &str, value: &str, reason: String| SetError::Invalid {
        name: name.to_owned(),
        value: value.to_owned(),
        reason,
    };
    let datas = experiment.servers.values().map(|server| &server.data);
    for data in std::iter::once(&experiment.data).chain(datas) {
        if let Some(mention) = unknown(&experiment, data) {
            let asked = format!("{{{}.{}}}", mention.server, mention.field);
            let known: Vec<_> = experiment.server_names().collect();
            let reason = format!("there is no such server; there are: {}", known.join(", "));
            return Err(invalid("data", &asked, reason));
        }
    }
    if let Err(circle) = in_order(&experiment) {
        let reason = "each of these servers needs another one of them to be up first".to_owned();
        return Err(invalid("servers", &circle.join(", "), reason));
    }
    let alone = |workload: &Workload| workload.scripts.lua().is_some() || workload.driver == Driver::Oracledb;
    let mut driven = experiment.workloads.iter().filter_map(|workload| {
        let product = product_of(&experiment, experiment.server_of(workload))?;
        Some((workload, product))
    });
    if experiment.workloads.iter().any(alone)
        && let Some((first, product)) = driven.next()
        && let Some((other, another)) = driven.find(|(_, other)| other.key() != product.key())
    {
        let reason = format!(
            "one load with scripts in Lua, or with Oracle's own driver, speaks one protocol, but `{}` is for {} and \
             `{}` for {}: let them run one after the other, as levels of the factor `workload`",
            first.name,
            product.name(),
            other.name,
            another.name()
        );
        return Err(invalid("workload", &format!("{}+{}", first.name, other.name), reason));
    }
    Ok(experiment)
}

/// What database a server is; `None`: none that is built in, which is refused when the target is looked at.
pub(super) fn product_of(experiment: &Resolved, server: &str) -> Option<&'static dyn Product> {
    let target = match experiment.further(server) {
        None => &experiment.target,
        Some(further) => &further.target,
    };
    product(target.as_ref().map_or(EMBEDDED, Address::given)).ok()
}

/// A replica is a server of the kind and version that it follows.
fn follow_primaries(experiment: &mut Resolved) {
    let (main, targets) = (experiment.main_server().to_owned(), experiment.servers.clone());
    for server in experiment.servers.values_mut().filter(|server| server.target.is_none()) {
        let Some(primary) = &server.replica_of else { continue };
        server.target = match targets.get(primary) {
            Some(primary) => primary.target.clone(),
            None if *primary == main => experiment.target.clone(),
            None => None,
        };
    }
}

/// Says of which server a value cannot be.
fn of_server(server: &str, error: SetError) -> SetError {
    match error {
        SetError::Invalid { name, value, reason } => SetError::Invalid {
            name: format!("{server}.{name}"),
            value,
            reason,
        },
        error => error,
    }
}

/// Says that two have the same name.
fn twice(what: &str, name: &str) -> SetError {
    SetError::Invalid {
        name: what.to_owned(),
        value: name.to_owned(),
        reason: "two would have this name, one of them as an instance of several; rename one".to_owned(),
    }
}

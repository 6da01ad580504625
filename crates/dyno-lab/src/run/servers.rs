//! The servers that a cell is measured on: the main one, and those beside it.

use super::RunError;
use super::target::{clients, name_of, named};
use crate::experiment::mention::in_order;
use dyno_archive::plan::{FurtherServer, Path as Route, Resolved};
use dyno_engine::Stop;
use dyno_target::target::{Environment, External, Needs, Target, TargetError, product};
use std::borrow::Cow;
use std::sync::Arc;

/// A server of a cell.
pub(super) struct CellServer<'a> {
    /// What the experiment calls it.
    pub name: String,
    /// The experiment as if this were its only server.
    pub experiment: Cow<'a, Resolved>,
    /// Where it is.
    pub target: Target,
    /// What it is to the others, if it is not the main one.
    pub further: Option<&'a FurtherServer>,
    /// Whether another one is a replica of it.
    pub followed: bool,
}

impl CellServer<'_> {
    /// What the experiment asks of it, with its settings.
    pub fn needs<'s>(&self, settings: &'s [(String, String)]) -> Needs<'s> {
        Needs {
            settings,
            clients: clients(&self.experiment),
            followed: self.followed,
        }
    }

    /// Whether it is a proxy that has tables of another server.
    pub fn is_linked(&self) -> bool {
        self.further.is_some_and(|further| !further.foreign.tables.is_empty())
    }

    /// The server whose changes it follows, if it is a replica.
    pub fn primary(&self) -> Option<&str> {
        self.further?.replica_of.as_deref()
    }
}

/// All servers of a cell, the main one first.
pub(super) struct CellServers<'a> {
    pub main: CellServer<'a>,
    pub further: Vec<CellServer<'a>>,
}

impl<'a> CellServers<'a> {
    /// Understands what `experiment` calls its servers.
    pub fn of(experiment: &'a Resolved, environment: Environment<'_>, stop: &Stop) -> Result<Self, RunError> {
        let flag = stop.flag();
        let server = |name: &str| {
            let seen = experiment.seen_by(name);
            let target = named(name_of(&seen), environment, &flag)?;
            let target = match (target, experiment.further(name)) {
                // Several private servers of one version are told apart by what each is for.
                (Target::Embedded(embedded), Some(_)) => Target::Embedded(embedded.in_role(name)?),
                (target, _) => target,
            };
            let mut others = experiment.servers.values();
            Ok::<_, TargetError>(CellServer {
                name: name.to_owned(),
                further: experiment.further(name),
                followed: others.any(|other| other.replica_of.as_deref() == Some(name)),
                experiment: seen,
                target,
            })
        };
        let servers = Self {
            main: server(experiment.main_server())?,
            further: experiment
                .servers
                .keys()
                .map(|name| server(name))
                .collect::<Result<_, _>>()?,
        };
        servers.check_different()?;
        servers.check_replicas()?;
        servers.check_proxies()?;
        Ok(servers)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &CellServer<'a>> {
        std::iter::once(&self.main).chain(&self.further)
    }

    /// All of them, each behind those that it needs.
    pub fn in_order(&self, experiment: &Resolved) -> Vec<&CellServer<'a>> {
        // Circles were refused when it was planned.
        let order = in_order(experiment).unwrap_or_else(|circle| circle);
        let find = |name: &str| self.all().find(|server| server.name == name);
        order.into_iter().filter_map(find).collect()
    }

    /// Those that are not dyno's own.
    pub fn external(&self) -> impl Iterator<Item = (&CellServer<'a>, &Arc<dyn External>)> {
        self.all()
            .filter_map(|server| Some((server, server.target.external()?)))
    }

    /// The server whose changes this one follows, if it is a replica.
    pub fn primary_of(&self, server: &CellServer<'_>) -> Option<&CellServer<'a>> {
        let primary = server.primary()?;
        self.all().find(|other| other.name == primary)
    }

    /// Whether there is only one.
    pub fn is_one(&self) -> bool {
        self.further.is_empty()
    }

    /// `cause` with the name of the server that it is about, if there are several.
    pub fn about(&self, server: &CellServer<'_>, cause: RunError) -> RunError {
        match cause {
            RunError::Archive(_) | RunError::Stopped | RunError::Target(TargetError::Stopped(_)) => cause,
            _ if self.is_one() => cause,
            _ => RunError::OfServer {
                server: server.name.clone(),
                cause: Box::new(cause),
            },
        }
    }

    /// A server that is there already has the replicas that it has, and files of one kind and version are of no use to
    /// another.
    fn check_replicas(&self) -> Result<(), RunError> {
        let involved = |server: &&CellServer<'_>| server.followed || server.primary().is_some();
        if let Some((server, address)) = self.external().find(|(server, _)| involved(server)) {
            return Err(RunError::ReplicaElsewhere {
                server: server.name.clone(),
                address: address.to_string(),
            });
        }
        for replica in &self.further {
            let Some(primary) = self.primary_of(replica) else {
                continue;
            };
            if let (Target::Embedded(one), Target::Embedded(other)) = (&replica.target, &primary.target)
                && !may_be_alike(one.release(), other.release())
            {
                return Err(RunError::ReplicaUnlike {
                    replica: replica.name.clone(),
                    own: one.to_string(),
                    primary: primary.name.clone(),
                    other: other.to_string(),
                });
            }
        }
        Ok(())
    }

    /// A private server listens where its clients connect to; what reaches one of another kind needs TCP.
    fn check_proxies(&self) -> Result<(), RunError> {
        let reached = self.further.iter().filter_map(|proxy| {
            let further = proxy.further.filter(|further| !further.foreign.tables.is_empty())?;
            let remote = self
                .all()
                .find(|server| further.behind.as_ref() == Some(&server.name))?;
            Some((proxy, remote))
        });
        for (proxy, remote) in reached {
            let kind = |server: &CellServer<'_>| product(name_of(&server.experiment)).map(|product| product.key());
            let by_tcp = remote.target.external().is_some() || remote.experiment.path == Some(Route::Tcp);
            if !by_tcp && kind(proxy).ok() != kind(remote).ok() {
                let (proxy, remote) = (proxy.name.clone(), remote.name.clone());
                let section = match remote == self.main.name {
                    true => "[server]".to_owned(),
                    false => format!("[servers.{remote}]"),
                };
                return Err(RunError::ProxyOverTcp { proxy, remote, section });
            }
        }
        Ok(())
    }

    /// Two names for one server would have it measured twice, and loaded over what was just loaded.
    fn check_different(&self) -> Result<(), RunError> {
        let mut seen: Vec<(String, &str)> = Vec::new();
        for server in self.all() {
            let external = server.target.external().map(|external| external.address());
            let address = external.unwrap_or_else(|| server.target.to_string());
            if let Some((_, other)) = seen.iter().find(|(known, _)| *known == address) {
                return Err(RunError::OneServerTwice {
                    one: (*other).to_owned(),
                    other: server.name.clone(),
                    address,
                });
            }
            seen.push((address, &server.name));
        }
        Ok(())
    }
}

/// A kind of server, and its version as far as that is known.
type Release<'a> = (&'a str, Option<&'a str>);

/// Whether two servers may be of the same kind and version: 18 may be 18.6.0.
fn may_be_alike(one: Release<'_>, other: Release<'_>) -> bool {
    let within = |short: &str, long: &str| {
        long.strip_prefix(short)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let versions = one.1.zip(other.1);
    one.0 == other.0 && versions.is_none_or(|(one, other)| within(one, other) || within(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;
    use std::path::Path;

    /// What is said of a file with these servers, before any of them is there.
    fn said(servers: &str) -> String {
        let file = format!("title = \"t\"\n{servers}\n[[workload]]\nserver = \"a\"\nscript = \"select 1;\"\n");
        let experiment = Experiment::parse(Path::new("mine.toml"), &file).unwrap();
        let plan = experiment.plan(Size::Small, &[], None, 7, 2).unwrap();
        let environment = |name: &str| (name == "DYNO_HOME").then(|| "/nowhere".to_owned());
        let servers = CellServers::of(&plan.cells[0].experiment, &environment, &Stop::new());
        servers.map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_replica_is_of_the_kind_and_version_of_its_primary() {
        let with = |target: &str| said(&format!("[servers.a]\nreplica_of = \"main\"\ntarget = \"{target}\""));
        for other in ["embedded:16", "embedded:mariadb"] {
            let error = with(other);
            assert!(
                error.contains("the server a is to be a replica of main, but is "),
                "{error}"
            );
        }
        for same in ["embedded", "embedded:18"] {
            assert_eq!(with(same), "");
        }
    }

    #[test]
    fn a_proxy_reaches_a_private_server_of_another_kind_over_tcp() {
        let with = |path: &str| {
            said(&format!(
                "[server]\ntarget = \"embedded:mariadb\"\n{path}\n[servers.a]\ntarget = \"embedded\"\nbehind = \
                 \"main\"\nforeign.tables = [\"t\"]"
            ))
        };
        let error = with("");
        assert!(
            error.ends_with("over TCP only: add path = \"tcp\" to [server]"),
            "{error}"
        );
        assert_eq!(with("path = \"tcp\""), "");
    }

    #[test]
    fn names_of_this_machine_are_one_server() {
        let address = |host: &str| format!("postgres://u@{host}:5999/d");
        let with = |one: &str, other: &str| {
            said(&format!(
                "[servers.a]\ntarget = \"{}\"\n[servers.b]\ntarget = \"{}\"",
                address(one),
                address(other)
            ))
        };
        let error = with("127.0.0.1", "localhost");
        assert!(error.starts_with("the servers a and b are the same one"), "{error}");
        assert_eq!(with("127.0.0.1", "127.0.0.2"), "");
    }
}

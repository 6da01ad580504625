//! The servers that a cell is measured on: the main one, and those beside it.

use super::RunError;
use super::target::{clients, name_of, named};
use crate::experiment::mention::in_order;
use dyno_archive::plan::{FurtherServer, Resolved};
use dyno_engine::Stop;
use dyno_target::target::{Environment, External, Needs, Target, TargetError};
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

    /// A server that is there already has the replicas that it has.
    fn check_replicas(&self) -> Result<(), RunError> {
        let involved = |server: &&CellServer<'_>| server.followed || server.primary().is_some();
        match self.external().find(|(server, _)| involved(server)) {
            None => Ok(()),
            Some((server, address)) => Err(RunError::ReplicaElsewhere {
                server: server.name.clone(),
                address: address.to_string(),
            }),
        }
    }

    /// Two names for one server would have it measured twice, and loaded over what was just loaded.
    fn check_different(&self) -> Result<(), RunError> {
        let mut seen: Vec<(String, &str)> = Vec::new();
        for server in self.all() {
            let address = server.target.to_string();
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

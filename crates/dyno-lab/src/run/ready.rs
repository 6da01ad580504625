//! The servers of a run made ready: up and set, each behind those that it needs, with their data in its state, and at
//! rest.

use super::cell::Bench;
use super::progress::Told;
use super::servers::{CellServer, CellServers};
use super::steps::Steps;
use super::target::{clients, settings};
use super::{Beside, Progress, RunError, data};
use dyno_archive::Preparation;
use dyno_archive::plan::{Cache, Path as Way, PlannedRun, Resolved};
use dyno_engine::Stop;
use dyno_target::target::{
    Data, Database, Embedded, External, ForeignTables, Instance, Part, Passwords, Route, Target, Wanted, Whereabouts,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A database that a run can begin on.
pub(super) struct Ready {
    /// What the experiment calls its server.
    pub name: String,
    pub database: Box<dyn Database>,
    /// What the server is to run with.
    pub settings: Vec<(String, String)>,
    pub notes: Vec<String>,
    /// What was done to its data.
    pub preparation: Preparation,
    /// Where other servers find it.
    whereabouts: Whereabouts,
    /// Whether it only follows another one.
    pub is_replica: bool,
}

impl Ready {
    /// The database of a private server that is up.
    fn on(server: &CellServer<'_>, instance: &dyn Instance, notes: Vec<String>) -> Result<Self, RunError> {
        let by_both = [Route::Tcp, Route::Unix].map(|route| instance.database(Some(route)));
        let [tcp, unix] = by_both.map(|database| Ok::<_, RunError>(database?.reach().whereabouts()));
        Ok(Self {
            name: server.name.clone(),
            database: instance.database(route(&server.experiment))?,
            settings: instance.settings().to_vec(),
            notes,
            preparation: Preparation::default(),
            whereabouts: tcp?.or(unix?),
            is_replica: server.primary().is_some(),
        })
    }

    /// The passwords by which it is reached, also in ways that the load does not take.
    pub fn passwords(&self) -> Vec<String> {
        let mut passwords = self.database.reach().passwords();
        passwords.push(self.whereabouts.password.clone());
        passwords
    }

    /// As what is beside the main server.
    pub fn beside(&self) -> Beside<'_> {
        Beside {
            name: &self.name,
            settings: &self.settings,
            database: &*self.database,
            notes: self.notes.clone(),
            preparation: Some(self.preparation.clone()),
        }
    }
}

/// What a proxy is to have of a server that is up.
struct Remote<'a> {
    name: &'a str,
    database: &'a dyn Database,
    tables: ForeignTables,
}

impl<'a> Remote<'a> {
    /// That of `server`, if it is a proxy that is to have tables.
    fn of(server: &CellServer<'_>, up: &'a [Ready]) -> Option<Self> {
        let further = server.further.filter(|further| !further.foreign.tables.is_empty())?;
        let remote = up.iter().find(|ready| further.behind.as_ref() == Some(&ready.name))?;
        let options = further.foreign.options.iter();
        Some(Self {
            name: &remote.name,
            database: &*remote.database,
            tables: ForeignTables {
                tables: further.foreign.tables.clone(),
                options: options.map(|(name, value)| (name.clone(), value.clone())).collect(),
            },
        })
    }

    /// Makes these tables those of `proxy`, too.
    fn link(
        &self,
        proxy: &dyn Database,
        notes: &mut Vec<String>,
        (steps, progress): (&mut Steps, &mut dyn Progress),
        stop: &Stop,
    ) -> Result<(), RunError> {
        steps.begin(Part::Link(self.name), progress);
        let mut control = proxy.control(&stop.flag())?;
        notes.extend(control.link(self.database.reach().into(), &self.tables)?);
        steps.end();
        Ok(())
    }
}

/// How long a replica may take, when everything is loaded, to have it all.
const CATCH_UP: Duration = Duration::from_secs(300);

/// How long all replicas together may take for that after the load.
const CATCH_UP_AFTER: Duration = Duration::from_secs(10);

/// How the clients of a private server are to connect.
fn route(experiment: &Resolved) -> Option<Route> {
    experiment.path.map(|path| match path {
        Way::Unix => Route::Unix,
        Way::Tcp => Route::Tcp,
    })
}

/// Servers that are up, by name, as those that come up later find them.
type Known = HashMap<String, Whereabouts>;

impl Bench<'_> {
    /// Brings servers and data into the state that the experiment asks for: the main server, and those beside it in
    /// the order of `servers`.
    pub(super) fn ready_all(
        &mut self,
        planned: &PlannedRun,
        experiment: &Resolved,
        servers: &CellServers<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(Ready, Vec<Ready>), RunError> {
        let embedded = servers.all().filter(|server| server.target.external().is_none());
        let embedded: Vec<_> = embedded.map(|server| server.target.to_string()).collect();
        self.embedded.keep(&embedded, progress);
        let external: Vec<_> = servers.external().map(|(_, server)| server.to_string()).collect();
        if !external.is_empty() {
            self.external.keep(&external, progress);
        }
        let mut known = Known::new();
        let mut all: Vec<Ready> = Vec::new();
        for server in servers.in_order(experiment) {
            let ready = self.ready(planned, (servers, server), (&all, &known), progress);
            let ready = ready.map_err(|cause| servers.about(server, without_passwords(cause, &known)))?;
            self.check_stop()?;
            known.insert(ready.name.clone(), ready.whereabouts.clone());
            all.push(ready);
        }
        // What came up later may have asked something of those before it.
        for ready in all.iter_mut().filter(|ready| !servers.is_one() && !ready.is_replica) {
            // How long it took was taken when it had its data.
            rest(
                &*ready.database,
                &mut ready.notes,
                &mut Steps::default(),
                progress,
                self.stop,
            )?;
        }
        for ready in all.iter_mut().filter(|ready| ready.is_replica) {
            let Some(server) = servers.further.iter().find(|server| server.name == ready.name) else {
                continue;
            };
            let mut steps = Steps::default();
            steps.begin(Part::CatchUp, progress);
            let caught_up = self.catch_up(servers, server, CATCH_UP);
            caught_up.map_err(|cause| servers.about(server, cause))?;
            ready.preparation.steps.extend(steps.done());
        }
        let place = |ready: &Ready| servers.further.iter().position(|server| server.name == ready.name);
        all.sort_by_key(|ready| place(ready).map_or(0, |place| place + 1));
        let beside = all.split_off(1.min(all.len()));
        let main = all.pop().ok_or(RunError::NothingPlanned)?;
        Ok((main, beside))
    }

    fn ready(
        &mut self,
        planned: &PlannedRun,
        (servers, server): (&CellServers<'_>, &CellServer<'_>),
        (up, known): (&[Ready], &Known),
        progress: &mut dyn Progress,
    ) -> Result<Ready, RunError> {
        let data = data::filled(server, known)?;
        let remote = Remote::of(server, up);
        let mut steps = Steps::default();
        let ready = match &server.target {
            Target::Embedded(embedded) => match servers.primary_of(server) {
                Some(primary) => self.ready_replica(server, &**embedded, primary, (&mut steps, progress)),
                None => self.ready_embedded(server, &**embedded, &data, remote, (&mut steps, progress)),
            },
            Target::External(external) => {
                self.ready_external(server, &**external, &data, remote, (&mut steps, progress))
            }
        };
        Ok(Ready {
            preparation: self.loaded.preparation(steps, &server.target, &data, planned),
            ..ready?
        })
    }

    /// A replica, which has what its primary has.
    fn ready_replica(
        &mut self,
        server: &CellServer<'_>,
        embedded: &dyn Embedded,
        primary: &CellServer<'_>,
        (steps, progress): (&mut Steps, &mut dyn Progress),
    ) -> Result<Ready, RunError> {
        let mut notes = Vec::new();
        let settings = settings(&server.experiment);
        self.embedded.hold(embedded, progress)?;
        let names = (embedded.to_string(), primary.target.to_string());
        let Some((replica, primary)) = self.embedded.two(&names.0, &names.1) else {
            return Err(RunError::NothingPlanned);
        };
        let needs = server.needs(&settings);
        let stop = self.stop.flag();
        replica.bring_replica(primary, needs, &mut notes, &mut steps.told(progress), &stop)?;
        steps.end();
        Ready::on(server, replica, notes)
    }

    /// Waits until a replica has all that its primary has, but not for longer than `limit`; nothing for other servers.
    fn catch_up(
        &mut self,
        servers: &CellServers<'_>,
        server: &CellServer<'_>,
        limit: Duration,
    ) -> Result<(), RunError> {
        let stop = self.stop.flag();
        let primary = servers.primary_of(server).map(|primary| primary.target.to_string());
        let both = primary.and_then(|primary| self.embedded.two(&server.target.to_string(), &primary));
        both.map_or(Ok(()), |(replica, primary)| {
            Ok(replica.await_caught_up(primary, limit, &stop)?)
        })
    }

    /// Waits after the load until replicas have all that their primaries have, so that what they are asked then does
    /// not depend on how fast they are. Gives what is to be known of those that are not waited for any more, as
    /// sentences.
    pub(super) fn catch_up_after(&mut self, servers: &CellServers<'_>) -> Vec<String> {
        let begun = Instant::now();
        let mut notes = Vec::new();
        for server in servers.further.iter().filter(|server| server.primary().is_some()) {
            let left = CATCH_UP_AFTER.saturating_sub(begun.elapsed());
            if let Err(error) = self.catch_up(servers, server, left) {
                notes.push(format!(
                    "Server {}: its checks, outputs and sizes after the load may not have all that its primary has. It \
                     was waited for for {:.1} s: {error}.",
                    server.name,
                    begun.elapsed().as_secs_f64()
                ));
            }
        }
        notes
    }

    fn ready_embedded(
        &mut self,
        server: &CellServer<'_>,
        embedded: &dyn Embedded,
        data: &Data,
        remote: Option<Remote<'_>>,
        (steps, progress): (&mut Steps, &mut dyn Progress),
    ) -> Result<Ready, RunError> {
        let experiment = &*server.experiment;
        let mut notes = Vec::new();
        let all = self.all_data(data);
        let stop = self.stop.flag();
        let instance = self.embedded.hold(embedded, progress)?;
        let settings = settings(experiment);
        instance.bring(server.needs(&settings), self.several, &mut notes, &mut Told(progress))?;
        if self.stop.requested() {
            return Err(RunError::Stopped);
        }
        let wanted = Wanted {
            data,
            all: &all,
            campaign: &self.name,
        };
        instance.prepare(wanted, self.several, &mut notes, &mut steps.told(progress), &stop)?;
        steps.end();
        let database = instance.database(None)?;
        if let Some(remote) = remote {
            remote.link(&*database, &mut notes, (steps, progress), self.stop)?;
        }
        rest(&*database, &mut notes, steps, progress, self.stop)?;
        if experiment.data.cache == Cache::Cold {
            notes.push(sentence(&instance.restart_cold(&mut Told(progress))?));
        }
        let database = instance.database(route(experiment))?;
        warm(&*database, experiment, &mut notes, steps, progress, self.stop)?;
        Ok(Ready {
            database,
            ..Ready::on(server, instance, notes)?
        })
    }

    fn ready_external(
        &mut self,
        server: &CellServer<'_>,
        external: &dyn External,
        data: &Data,
        remote: Option<Remote<'_>>,
        (steps, progress): (&mut Steps, &mut dyn Progress),
    ) -> Result<Ready, RunError> {
        let experiment = &*server.experiment;
        let mut notes = Vec::new();
        let stop = self.stop.flag();
        self.reserved.ensure(external, &mut notes, self.stop, progress)?;
        let set = self
            .external
            .set(external, experiment, &mut notes, progress, self.stop)?;
        self.check_stop()?;
        // To be set, the server may have been restarted.
        self.reserved.ensure(external, &mut Vec::new(), self.stop, progress)?;
        set.server.check_connections(clients(experiment), &[], &stop)?;
        let wanted = Wanted {
            data,
            all: &self.all_data(data),
            campaign: &self.name,
        };
        let (prepared, lost) = self.reserved.during(self.stop, |stop| {
            set.server
                .prepare(wanted, &mut notes, &mut steps.told(progress), &stop.flag())
        });
        if let Some(lost) = lost {
            return Err(lost);
        }
        let database = prepared?;
        steps.end();
        self.check_stop()?;
        if let Some(remote) = remote {
            self.external.add_linked(&set.server, &experiment.name);
            remote.link(&*database, &mut notes, (steps, progress), self.stop)?;
        }
        rest(&*database, &mut notes, steps, progress, self.stop)?;
        if experiment.data.cache == Cache::Cold {
            let clause = database.control(&stop)?.empty_cache()?;
            notes.push(sentence(&clause));
        }
        warm(&*database, experiment, &mut notes, steps, progress, self.stop)?;
        Ok(Ready {
            name: server.name.clone(),
            whereabouts: database.reach().whereabouts(),
            database,
            settings: set.settings,
            notes,
            preparation: Preparation::default(),
            is_replica: false,
        })
    }

    /// The data of all cells, and `own`, in which it may stand where another server is now.
    fn all_data(&self, own: &Data) -> Vec<Data> {
        let all = self.all.iter().map(|experiment| data::of(experiment));
        all.chain([own.clone()]).collect()
    }
}

/// `cause` without the passwords of servers, which the SQL of data may have had in it.
fn without_passwords(cause: RunError, known: &Known) -> RunError {
    let text = cause.to_string();
    let hidden = Passwords::new(known.values().map(|server| server.password.clone())).hidden_in(&text);
    if hidden == text {
        cause
    } else {
        RunError::Hidden(hidden)
    }
}

/// Brings the database to rest.
fn rest(
    database: &dyn Database,
    notes: &mut Vec<String>,
    steps: &mut Steps,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    steps.begin(Part::Settle, progress);
    notes.extend(database.control(&stop.flag())?.settle()?);
    steps.end();
    Ok(())
}

/// Reads the data into the cache if the experiment asks for it.
fn warm(
    database: &dyn Database,
    experiment: &Resolved,
    notes: &mut Vec<String>,
    steps: &mut Steps,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    if experiment.data.cache == Cache::Warm {
        steps.begin(Part::Warm, progress);
        notes.push(sentence(&database.control(&stop.flag())?.warm()?));
        steps.end();
    }
    Ok(())
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_does_not_show_the_password_of_a_server() {
        let far = Whereabouts {
            password: "s3cret".to_owned(),
            ..Whereabouts::default()
        };
        let known = Known::from([("far".to_owned(), far), ("near".to_owned(), Whereabouts::default())]);
        let said = |text: &str| without_passwords(RunError::Hidden(text.to_owned()), &known).to_string();
        assert_eq!(said("near: password 's3cret'"), "near: password '***'");
        assert_eq!(said("no table"), "no table");
    }
}

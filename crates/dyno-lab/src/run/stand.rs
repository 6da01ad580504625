//! Private servers that stand without a load: for other tools, and to try statements on.

use super::embedded::EmbeddedServers;
use super::progress::Told;
use super::target::{clients, named, settings};
use super::{Emergency, Progress, RunError, data};
use dyno_archive::plan::Resolved;
use dyno_engine::Stop;
use dyno_target::target::{
    Data, Embedded, Environment, Instance, Needs, Reach, Route, Sql, State, StopFlag, Target, Wanted,
};
use std::time::Duration;

/// How often it is looked whether a server that stands is still there.
const LOOK: Duration = Duration::from_millis(200);

/// A server that is to stand.
pub struct StandRequest<'a> {
    /// Which: `embedded`, `embedded:VERSION`, `embedded:mariadb` and so on.
    pub target: &'a str,
    /// Its name, by which its data is kept apart from that of others.
    pub name: &'a str,
    /// The experiment whose settings and data it is to have.
    pub experiment: Option<&'a Resolved>,
    /// Looks up variables that folders depend on.
    pub environment: Environment<'a>,
}

/// A server that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which it is, as it was asked for.
    pub server: String,
    /// Its address with its password, as a URL that other tools take.
    pub url: String,
    /// What else is to be known, as sentences.
    pub notes: Vec<String>,
}

/// Has a server stand until `stop` is raised; `up` is told when it does. What others have done to its database is there
/// again when a server of the same name stands again with the same data.
///
/// # Errors
/// It cannot be had, it is not one of dyno's own, or it ended by itself.
pub fn stand(
    request: &StandRequest<'_>,
    up: &mut dyn FnMut(&Standing) -> Result<(), String>,
    progress: &mut dyn Progress,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<(), RunError> {
    let flag = stop.flag();
    // No server of an experiment can be called so: its name has no dot.
    let role = format!("tools.{}", request.name);
    let embedded = private(request.target, request.environment, &flag)?.in_role(&role)?;
    let settings = request.experiment.map(settings).unwrap_or_default();
    let needs = Needs {
        settings: &settings,
        clients: request.experiment.map_or(0, clients),
        followed: false,
    };
    let data = Data {
        // What a person has made of it is not to be lost when the server is stopped.
        state: State::Keep,
        linked: true,
        ..request
            .experiment
            .filter(has_data)
            .map_or_else(|| none(request.name), data::of)
    };
    let mut servers = EmbeddedServers::new(emergency);
    let mut notes = Vec::new();
    let instance = servers.hold(&*embedded, progress)?;
    make_ready(instance, needs, &data, request.name, &mut notes, progress, &flag)?;
    let standing = Standing {
        server: request.target.to_owned(),
        url: url(instance)?,
        notes,
    };
    up(&standing).map_err(RunError::Untold)?;
    while !stop.requested() {
        std::thread::sleep(LOOK);
        if let Some(why) = instance.post_mortem(Duration::ZERO) {
            return Err(RunError::Ended(why));
        }
    }
    servers.stop(progress);
    Ok(())
}

/// The private server of this name.
pub(super) fn private(
    target: &str,
    environment: Environment<'_>,
    stop: &StopFlag,
) -> Result<Box<dyn Embedded>, RunError> {
    match named(target, environment, stop)? {
        Target::Embedded(embedded) => Ok(embedded),
        Target::External(external) => Err(RunError::NotPrivate {
            target: external.to_string(),
        }),
    }
}

/// Brings a server up with data.
pub(super) fn make_ready(
    instance: &mut dyn Instance,
    needs: Needs<'_>,
    data: &Data,
    campaign: &str,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &StopFlag,
) -> Result<(), RunError> {
    instance.bring(needs, false, notes, &mut Told(progress))?;
    let wanted = Wanted {
        data,
        all: std::slice::from_ref(data),
        campaign,
    };
    Ok(instance.prepare(wanted, false, notes, &mut Told(progress), stop)?)
}

/// Its address as other tools take it.
fn url(instance: &dyn Instance) -> Result<String, RunError> {
    let [tcp, unix] = [Route::Tcp, Route::Unix].map(|route| instance.database(Some(route)));
    let (tcp, unix) = (tcp?, unix?);
    let scheme = match tcp.reach() {
        Reach::Postgres(_) => "postgres",
        Reach::Mysql(_) => "mysql",
        Reach::Oracle(_) => "oracle",
    };
    Ok(tcp.reach().whereabouts().or(unix.reach().whereabouts()).url(scheme))
}

/// Whether the experiment makes any: a server may stand with its settings alone.
fn has_data(experiment: &&Resolved) -> bool {
    let data = &experiment.data;
    let sql = [&data.setup, &data.finish];
    sql.iter().any(|sql| !sql.is_empty()) || !data.fill.is_empty() || data.prepare.is_some()
}

/// No data, but a place for some.
fn none(name: &str) -> Data {
    Data {
        experiment: name.to_owned(),
        setup: Sql::default(),
        fill: Vec::new(),
        maker: None,
        finish: Sql::default(),
        tablespaces: Vec::new(),
        definition: String::new(),
        locale: None,
        read_only: false,
        state: State::Keep,
        linked: true,
    }
}

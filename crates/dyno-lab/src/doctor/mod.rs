//! Whether a load can run, before anybody makes one: what the database lets its role do and see, and what this machine
//! does with a load. Everything is looked at and nothing changed, neither on the server nor here.

mod folders;
mod machine;
mod trial;

pub use trial::{Tally, TrialRequest, can_be_tried, is_worth_a_trial, trial};

use crate::run::pending_restores;
use dyno_engine::Stop;
use dyno_record::{Examination, Finding, Mark, Topic};
use dyno_target::embedded::home_folder;
use dyno_target::target::{
    Environment, External, PRODUCTS, Route, StopFlag, Target, TargetError, text_without_secrets,
};
use machine::Server;
use std::path::Path;

/// What to look at.
pub struct Request<'a> {
    /// The database, as it is named for a run; `None`: this machine and the private servers that there can be.
    pub target: Option<&'a str>,
    /// How many clients the load is to have, if that is known.
    pub clients: Option<usize>,
    /// The folder that gets campaigns.
    pub archive: &'a Path,
    /// Looks up variables that addresses and folders depend on.
    pub environment: Environment<'a>,
}

/// Looks at everything.
///
/// # Errors
/// The database's name cannot be understood.
pub fn examine(request: &Request<'_>, stop: &Stop) -> Result<Examination, TargetError> {
    let flag = stop.flag();
    let target = request
        .target
        .map(|target| Target::named(target, request.environment, &flag))
        .transpose()?;
    let (mut findings, server) = match &target {
        None => (private_servers(request, &flag), Server::Unknown),
        Some(Target::Embedded(embedded)) => (vec![embedded.examine(request.clients)], Server::Here { by_tcp: false }),
        Some(Target::External(server)) => examine_server(&**server, request, &flag),
    };
    findings.extend(machine::look(server, request.clients));
    findings.extend(folders::look(request, matches!(target, Some(Target::External(_)))));
    let typed: Vec<String> = request.target.map(str::to_owned).into_iter().collect();
    for finding in &mut findings {
        finding.found = text_without_secrets(&finding.found, &typed);
    }
    let target = target.map(|target| target.to_string());
    Ok(Examination::of(env!("CARGO_PKG_VERSION"), target, findings))
}

/// A server that is there already, with what earlier campaigns left to be put back on it.
fn examine_server(server: &dyn External, request: &Request<'_>, stop: &StopFlag) -> (Vec<Finding>, Server) {
    let mut findings = server.examine(request.clients, stop);
    let is_up = findings
        .iter()
        .all(|finding| finding.topic != Topic::Server || finding.mark < Mark::Problem);
    if is_up
        && let Ok(home) = home_folder(request.environment)
        && let Some(identity) = server.identity(stop)
    {
        let pending = pending_restores(&home, Some(&identity));
        findings.extend(
            pending
                .into_iter()
                .map(|pending| Finding::note(Topic::Settings, "left over", pending)),
        );
    }
    if is_up && server.trial().is_some() {
        findings.push(not_tried(server));
    }
    let by_tcp = server.routes().contains(&Route::Tcp);
    let place = match server.is_local() {
        true => Server::Here { by_tcp },
        false => Server::Elsewhere,
    };
    (findings, place)
}

/// What is said of a trial on the page.
pub const TRIAL: &str = "trial";

/// How a server that dyno could never try itself is tried.
fn not_tried(server: &dyn External) -> Finding {
    let found = "not made: it takes some minutes, does what dyno does on such a server, and writes an account of it";
    Finding::ok(Topic::Server, TRIAL, found)
        .remedy("make one, and send the account to dyno's authors, who have no such server")
        .typing([format!("dyno doctor \"{server}\" --trial")])
}

/// Every private server that there can be. One that there is not keeps nobody from taking another.
fn private_servers(request: &Request<'_>, stop: &StopFlag) -> Vec<Finding> {
    let names = PRODUCTS.iter().flat_map(|product| product.private_servers());
    let found = names.map(|name| match Target::named(name, request.environment, stop) {
        Ok(Target::Embedded(embedded)) => Finding {
            subject: (*name).to_owned(),
            ..embedded.examine(request.clients)
        },
        Ok(Target::External(server)) => Finding::note(Topic::Private, *name, format!("{server} is not private")),
        Err(error) => Finding::problem(Topic::Private, *name, error.to_string()),
    });
    found.map(|finding| finding.at_most(Mark::Note)).collect()
}

//! All samplers for a run on PostgreSQL.

use super::activity::ActivitySampler;
use super::link::quiet;
use super::log::LogSampler;
use super::rights::Survey;
use super::server::ServerSampler;
use super::statements;
use super::tables::TablesSampler;
use crate::host::{Heartbeat, HostSampler, ServerProcesses, StallWatch};
use crate::patience::SAMPLE;
use crate::postgres::address::ConnectionInfo;
use crate::postgres::scope::Scope;
use crate::sampler::Sampler;
use crate::target::SamplerSet;
use std::path::Path;

/// Makes all samplers, and connects those that read the server. Tables and statements are sampled as far as they are in
/// `scope`. One that cannot connect will try again. `log` is the server's log if
/// dyno started it; whether its format is understood is found out.
#[must_use]
pub fn sampler_set(target: &ConnectionInfo, scope: &Scope, log: Option<&Path>) -> SamplerSet {
    let mut warnings = Vec::new();
    let mut log_is_ours = false;
    let surveyed = target
        .connect_with_patience(SAMPLE)
        .map_err(|error| error.to_string())
        .and_then(|mut client| {
            let survey = quiet(&mut client).and_then(|version| Survey::take(&mut client, version));
            survey.map_err(|error| client.explain(&error))
        });
    match surveyed {
        Ok(survey) => {
            log_is_ours = survey.log_is_ours;
            warnings.extend(survey.warnings);
        }
        Err(error) => warnings.push(format!(
            "The server's counters are not sampled until it answers: {error}."
        )),
    }
    let log = log.filter(|_| log_is_ours).map(LogSampler::new);
    let processes = ServerProcesses::default();
    let heartbeat = Heartbeat::new(processes.clone());
    let mut samplers: Vec<Box<dyn Sampler>> = vec![
        // First, because it finds the server's processes.
        Box::new(ActivitySampler::new(target, heartbeat.clone(), log.is_some())),
        Box::new(StallWatch::new(heartbeat)),
        Box::new(ServerSampler::new(target, log.is_none())),
        Box::new(TablesSampler::new(target, scope)),
    ];
    if let Some(statements) = statements::sampler(target, scope, &mut warnings) {
        samplers.push(Box::new(statements));
    }
    if let Some(log) = log {
        samplers.push(Box::new(log));
    }
    samplers.push(Box::new(HostSampler::new(processes.clone())));
    SamplerSet {
        samplers,
        warnings,
        processes,
    }
}

//! All samplers for a run on MariaDB or MySQL.

use super::activity::ActivitySampler;
use super::link::OwnSessions;
use super::log::LogSampler;
use super::server::ServerSampler;
use super::statements::StatementsSampler;
use super::survey::{Lack, Survey};
use super::tables::TablesSampler;
use crate::host::{Heartbeat, HostSampler, ServerProcesses, StallWatch};
use crate::mysql::address::ConnectionInfo;
use crate::mysql::process;
use crate::sampler::Sampler;
use crate::target::SamplerSet;
use std::path::Path;

/// Makes all samplers, and connects those that read the server. One that cannot connect will try again. Tables are
/// sampled if there are `tables` of the experiment's. `log` is the server's log if dyno started it.
#[must_use]
pub fn sampler_set(info: &ConnectionInfo, tables: bool, log: Option<&Path>) -> SamplerSet {
    let mut warnings = Vec::new();
    let processes = ServerProcesses::default();
    let surveyed = info.connect_to_sample().and_then(|mut client| {
        if info.is_local() {
            process::find(&processes, &mut client);
        }
        Survey::take(&mut client)
    });
    let survey = match surveyed {
        Ok((survey, lacks)) => {
            warnings.extend(lacks.iter().map(Lack::warning));
            survey
        }
        Err(error) => {
            warnings.push(format!(
                "The server's counters are not sampled until it answers, and then no more than any role may read: \
                 {error}."
            ));
            Survey::UNKNOWN
        }
    };
    let own = OwnSessions::default();
    let heartbeat = Heartbeat::new(processes.clone());
    let mut samplers: Vec<Box<dyn Sampler>> = vec![
        Box::new(ActivitySampler::new(info, &own, survey, heartbeat.clone())),
        Box::new(StallWatch::new(heartbeat)),
        Box::new(ServerSampler::new(info, &own, survey)),
    ];
    if tables && (survey.sees_all || survey.counts) {
        samplers.push(Box::new(TablesSampler::new(info, &own, survey)));
    }
    if survey.counts {
        match StatementsSampler::new(info, &own) {
            Ok(statements) => samplers.push(Box::new(statements)),
            Err(error) => warnings.push(format!(
                "Statements are not sampled, although the server's performance schema counts them: {error}."
            )),
        }
    }
    if let Some(log) = log {
        samplers.push(Box::new(LogSampler::new(log)));
    }
    samplers.push(Box::new(HostSampler::new(processes.clone())));
    SamplerSet {
        samplers,
        warnings,
        processes,
    }
}

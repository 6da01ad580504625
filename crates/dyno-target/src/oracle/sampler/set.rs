//! All samplers for a run on Oracle.

use super::activity::ActivitySampler;
use super::server::ServerSampler;
use super::statements::StatementsSampler;
use super::tables::TablesSampler;
use crate::host::{Heartbeat, HostSampler, ServerProcesses, StallWatch};
use crate::oracle::ClientError;
use crate::oracle::address::ConnectionInfo;
use crate::oracle::database::rights_to_see;
use crate::sampler::Sampler;
use crate::target::SamplerSet;

/// What takes the rights that all of it takes; 12.1 has these columns.
const VIEWS: [&str; 2] = [
    "select count(*) from v$session where sid = 0",
    "select count(*) from v$sysstat where name = 'user commits'",
];

/// Makes all samplers, and connects those that read the server. One that cannot connect will try again. Tables are
/// sampled if there are `tables` of the experiment's.
#[must_use]
pub(in crate::oracle) fn sampler_set(info: &ConnectionInfo, tables: bool) -> SamplerSet {
    let mut warnings = Vec::new();
    let user = info.schema();
    let sees = info.connect_to_sample().and_then(|mut client| {
        let mut sees = VIEWS.iter().map(|query| client.query_first::<u64>(query));
        sees.try_for_each(|found| found.map(drop))
    });
    let sees = match sees {
        Ok(()) => true,
        Err(ClientError::Server(_)) => {
            warnings.push(format!(
                "Neither the server's counters nor what sessions wait for nor what statements cost are sampled, \
                 because this user may not read its views (v$session, v$sysstat, v$sqlstats and others); {}.",
                rights_to_see(&user)
            ));
            false
        }
        Err(error) => {
            warnings.push(format!(
                "The server's counters are not sampled until it answers: {error}."
            ));
            true
        }
    };
    let processes = ServerProcesses::default();
    let mut samplers: Vec<Box<dyn Sampler>> = Vec::new();
    if sees {
        let heartbeat = Heartbeat::new(processes.clone());
        samplers.push(Box::new(ActivitySampler::new(info, heartbeat.clone())));
        samplers.push(Box::new(StallWatch::new(heartbeat)));
        samplers.push(Box::new(ServerSampler::new(info)));
        match StatementsSampler::new(info) {
            Ok(sampler) => samplers.push(Box::new(sampler)),
            Err(error) => warnings.push(format!(
                "The server's statistics of statements are not sampled (v$sqlstats, v$sql): {error}; {}.",
                rights_to_see(&user)
            )),
        }
    }
    if tables {
        samplers.push(Box::new(TablesSampler::new(info)));
    }
    samplers.push(Box::new(HostSampler::new(processes.clone())));
    SamplerSet {
        samplers,
        warnings,
        processes,
    }
}

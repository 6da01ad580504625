//! Commands other than `run`.

use crate::fill::Loading;
use crate::message::{Level, Log, complain, print};
use crate::options::declared::Resolved;
use crate::options::{Options, of_test};
use crate::run::{Failure, servers};
use crate::script::Script;
use dyno_lua::{Environment, Filler, Function, LuaError, Settings, run_parallel};
use std::sync::Arc;

/// Commands that sysbench expects of every test.
const COMMON: [&str; 3] = ["prepare", "cleanup", "help"];

/// Executes a command, and gives the exit code.
pub fn command(name: &str, options: &Options, script: &Script, resolved: &[Resolved], log: &Arc<Log>) -> u8 {
    if name == "help"
        && !script.declared.has(Function::Help)
        && let Some(declared) = &script.options
    {
        print(&of_test(&script.name, declared));
        return 0;
    }
    let Some(declared) = script.declared.command(name) else {
        match COMMON.contains(&name) {
            true => complain(&format!(
                "'{}' test does not implement the '{name}' command.\n",
                script.name
            )),
            false => complain(&format!("Unknown command: {name}\n")),
        }
        return 1;
    };
    let is_parallel = declared.parallel && options.limits.threads > 1;
    if is_parallel && log.says(Level::Notice) {
        print("Initializing worker threads...\n\n");
    }
    match execute(name, is_parallel, options, script, resolved, log) {
        Ok(()) => 0,
        Err(failure) => failure.tell(log),
    }
}

fn execute(
    name: &str,
    is_parallel: bool,
    options: &Options,
    script: &Script,
    resolved: &[Resolved],
    log: &Arc<Log>,
) -> Result<(), Failure> {
    let loading = Loading::of(&options.settings);
    let settings = Settings {
        filler: loading.map(|loading| Arc::new(loading) as Arc<dyn Filler>),
        ..script.settings(options, resolved, log)
    };
    // What cannot be looked up matters only to a command that connects.
    let (server, unknown) = match servers(options, log) {
        Ok(servers) => (servers.for_commands(), None),
        Err(text) => (None, Some(text)),
    };
    let done = match server {
        Some(server) if is_parallel => run_parallel(&script.source, &settings, &server, name),
        server => Environment::load(&script.source, &settings, 0, server)
            .and_then(|mut environment| environment.command(name)),
    };
    done.map_err(|error| match unknown {
        Some(text) if !matches!(error, LuaError::Exit { .. }) => Failure::Other(format!("{text}\n{error}")),
        _ => Failure::Lua(error),
    })
}

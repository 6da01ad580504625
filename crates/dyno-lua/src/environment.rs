//! A script outside of a load: what it declares, its commands, and its hooks.

use crate::blocking::{Server, execute};
use crate::client::Client;
use crate::counts::Counts;
use crate::declared::{Declared, DeclaredCommand, DeclaredOption, Function, OptionKind};
use crate::error::LuaError;
use crate::mentioned::{Mentioned, mentioned};
use crate::random::Generator;
use crate::settings::{OptionValue, Settings};
use crate::source::{Source, templates, without_shebang};
use crate::state::{Common, Loaded, State, of_option, parts};
use dyno_connect::Stop;
use mlua::{ChunkMode, Function as LuaFunction, Table, Value};
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError};

/// A script in a state of its own, outside of a load. Connections that it makes block.
pub struct Environment {
    client: Client,
    declared: Declared,
    server: Option<Arc<dyn Server>>,
    stop: Stop,
}

/// What hooks of reports are told. Times and latencies are in seconds; all else is counted over the interval, or in a
/// cumulative report since the load began, or since the last cumulative report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Clients that are running.
    pub threads_running: u64,
    /// Since the load began.
    pub time_total_s: f64,
    /// The interval.
    pub time_interval_s: f64,
    /// Events.
    pub events: u64,
    /// Statements that brought a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// Other statements.
    pub other: u64,
    /// Ignored errors.
    pub errors: u64,
    /// Connections made again.
    pub reconnects: u64,
    /// The percentile of latencies that was asked for.
    pub latency_pct_s: f64,
    /// The least latency.
    pub latency_min_s: f64,
    /// The greatest.
    pub latency_max_s: f64,
    /// The mean.
    pub latency_avg_s: f64,
    /// The sum.
    pub latency_sum_s: f64,
    /// With a rate: events that wait for a client.
    pub queue_length: u64,
    /// With a rate: events under way.
    pub concurrency: u64,
}

/// No script is larger, in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// The texts of what a script consists of beside its own, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Modules, by the names under which `require` loads them.
    pub modules: Vec<(String, Vec<u8>)>,
    /// Files, by the names under which `dofile` and `loadfile` load them.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Environment {
    /// Loads the script in the state of the client `tid`. Without a server connecting fails.
    ///
    /// # Errors
    /// The script cannot be loaded.
    pub fn load(
        source: &Source,
        settings: &Settings,
        tid: usize,
        server: Option<Arc<dyn Server>>,
    ) -> Result<Self, LuaError> {
        let common = Common::new(source, settings);
        let generator = common.random.generators(1).remove(0);
        Self::of(&common, tid, generator, server)
    }

    /// The same of what several states have in common.
    pub(crate) fn of(
        common: &Arc<Common>,
        tid: usize,
        generator: Generator,
        server: Option<Arc<dyn Server>>,
    ) -> Result<Self, LuaError> {
        let state = State::new(common, tid, generator)?;
        state.load(common)?;
        let stop = common.settings.stop.clone();
        let declared = State::call(&state.place, "load", &stop, |_| {
            declared(&state).map_err(|error| {
                let (message, traceback) = parts(&error);
                LuaError::Load { message, traceback }
            })
        })?;
        Ok(Self {
            client: Client::new(state, common),
            declared,
            server,
            stop,
        })
    }

    /// From now on calls end when this asks to stop. One that begins after that has a few seconds.
    pub fn heed(&mut self, stop: &Stop) {
        self.stop = stop.clone();
    }

    /// What else the script consists of: what it has loaded so far, and what it or any of that names to load it later.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let common = &self.client.common;
        let loaded = common.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Loaded { mut modules, mut files } = loaded;
        let path = self.search_path();
        let mut texts: Vec<Vec<u8>> = modules.values().chain(files.values()).cloned().collect();
        texts.push(common.source.bytes().to_owned());
        while let Some(text) = texts.pop() {
            for mention in mentioned(&text) {
                let (of_kind, name, found) = match mention {
                    Mentioned::File(name) => {
                        let known = common.source.known_file(&name).map(<[u8]>::to_owned);
                        let found = known.or_else(|| self.script_in(Path::new(&name)));
                        (&mut files, name, found)
                    }
                    Mentioned::Module(name) => {
                        let known = common.source.module(&name).map(<[u8]>::to_owned);
                        let read = || templates(&path, &name).find_map(|file| self.script_in(&file));
                        let found = known.or_else(read);
                        (&mut modules, name, found)
                    }
                };
                if let (false, Some(text)) = (of_kind.contains_key(&name), found) {
                    texts.push(text.clone());
                    of_kind.insert(name, text);
                }
            }
        }
        Parts {
            modules: modules.into_iter().collect(),
            files: files.into_iter().collect(),
        }
    }

    /// The text of a file that nobody has loaded yet, if it is a script: what is only named is not to be waited for,
    /// and what is no script is none of the archive's business.
    fn script_in(&self, path: &Path) -> Option<Vec<u8>> {
        let found = fs::metadata(path).ok()?;
        if !found.is_file() || found.len() > MOST_BYTES {
            return None;
        }
        let text = fs::read(path).ok()?;
        let chunk = self.client.state.lua.load(without_shebang(&text));
        chunk.set_mode(ChunkMode::Text).into_function().is_ok().then_some(text)
    }

    /// Where the script looks for modules now.
    fn search_path(&self) -> String {
        let globals = self.client.state.lua.globals();
        let path = globals.get::<Table>("package").and_then(|package| package.get("path"));
        path.unwrap_or_default()
    }

    /// What the script declares.
    #[must_use]
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// What statements were counted that it has executed by itself, as in `init`.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.client.counters.add_to(&mut counts);
        counts
    }

    /// Shows a value to the option's own validating function, if it has one.
    ///
    /// # Errors
    /// It says that the value will not do.
    pub fn validate(&self, option: &str, value: &OptionValue) -> Result<(), LuaError> {
        let options = self.declared.options.iter().flatten();
        if !options
            .into_iter()
            .any(|declared| declared.name == option && declared.validated)
        {
            return Ok(());
        }
        const FUNCTION: &str = "sysbench.cmdline.read_cmdline_options";
        let state = &self.client.state;
        State::call(&state.place, FUNCTION, &self.stop, |_| {
            let validated = state.host.get::<LuaFunction>("validate").and_then(|validate| {
                let value = of_option(&state.lua, value)?;
                validate.call::<()>((option, value))
            });
            validated.map_err(|error| {
                let (message, traceback) = parts(&error);
                LuaError::Call {
                    function: FUNCTION.to_owned(),
                    message,
                    traceback,
                }
            })
        })
    }

    /// Calls a function of the script. `false`: it has none of this name.
    ///
    /// # Errors
    /// The function fails.
    pub fn call(&mut self, function: Function) -> Result<bool, LuaError> {
        match self.client.state.lua.globals().raw_get::<LuaFunction>(function.name()) {
            Ok(called) => self.run(function.name(), called, None).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Executes a command of the script.
    ///
    /// # Errors
    /// It fails, or there is no such command.
    pub fn command(&mut self, name: &str) -> Result<(), LuaError> {
        let of: LuaFunction = self.client.state.host.get("command_of").map_err(setting_up)?;
        match of.call::<Value>(name).map_err(setting_up)? {
            // sysbench calls functions that are not declared by their names.
            Value::Function(function) if self.declared.commands.iter().any(|command| command.name == name) => {
                self.run("sysbench.cmdline.call_command", function, None)
            }
            Value::Function(function) => self.run(name, function, None),
            _ => Err(LuaError::NoCommand(name.to_owned())),
        }
    }

    /// Gives the hook of this name a report. `false`: the script has none.
    fn report(&mut self, hook: &str, statistics: &Statistics) -> Result<bool, LuaError> {
        let lua = &self.client.state.lua;
        let find = || {
            let sysbench: Table = lua.globals().get("sysbench")?;
            let hooks: Table = sysbench.get("hooks")?;
            let Ok(function) = hooks.get::<LuaFunction>(hook) else {
                return Ok(None);
            };
            Ok(Some((function, table(lua, statistics)?)))
        };
        let found: mlua::Result<_> = find();
        match found.map_err(setting_up)? {
            Some((function, table)) => {
                self.run(&format!("sysbench.hooks.{hook}"), function, Some(Value::Table(table)))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Gives the script's own hook an intermediate report. `false`: it has none.
    ///
    /// # Errors
    /// The hook fails.
    pub fn report_intermediate(&mut self, statistics: &Statistics) -> Result<bool, LuaError> {
        self.report("report_intermediate", statistics)
    }

    /// Gives the script's own hook a cumulative report. `false`: it has none.
    ///
    /// # Errors
    /// The hook fails.
    pub fn report_cumulative(&mut self, statistics: &Statistics) -> Result<bool, LuaError> {
        self.report("report_cumulative", statistics)
    }

    /// Says that no more reports of the kind come that came so far: a list of them (`sysbench.report_json`) ends.
    ///
    /// # Errors
    /// The state is not as it should be.
    pub fn end_reports(&mut self) -> Result<(), LuaError> {
        let end = self.client.state.host.get::<LuaFunction>("end_reports");
        end.and_then(|end| end.call::<()>(())).map_err(setting_up)
    }

    /// What `sysbench.report_default` does: prints the front end's own report.
    ///
    /// # Errors
    /// The state cannot be changed.
    pub fn on_default_report(&mut self, print: impl Fn(&Statistics) + Send + 'static) -> Result<(), LuaError> {
        let lua = &self.client.state.lua;
        let function = lua.create_function(move |_, table: Table| {
            print(&statistics(&table));
            Ok(())
        });
        let set = function.and_then(|function| self.client.state.host.set("report_default", function));
        set.map_err(setting_up)
    }

    /// Prints the script's options, as `help` does.
    ///
    /// # Errors
    /// They cannot be shown.
    pub fn print_options(&mut self) -> Result<(), LuaError> {
        let find = || {
            let sysbench: Table = self.client.state.lua.globals().get("sysbench")?;
            sysbench
                .get::<Table>("cmdline")?
                .get::<LuaFunction>("print_test_options")
        };
        let function = find().map_err(setting_up)?;
        self.run("sysbench.cmdline.print_test_options", function, None)
    }

    fn run(&mut self, name: &str, function: LuaFunction, argument: Option<Value>) -> Result<(), LuaError> {
        let place = Arc::clone(&self.client.state.place);
        State::call(&place, name, &self.stop, |stop| {
            let begun = self.client.begin_call(name, function, argument);
            execute(&mut self.client, self.server.as_deref(), stop, begun)
        })
    }
}

fn setting_up(error: mlua::Error) -> LuaError {
    LuaError::State(parts(&error).0)
}

/// What a script declares.
fn declared(state: &State) -> mlua::Result<Declared> {
    let options: Option<Table> = state.host.get::<LuaFunction>("options")?.call(())?;
    let options = options.map(|list| list.sequence_values::<Table>().map(|option| read(&option?)).collect());
    let commands: Table = state.host.get::<LuaFunction>("commands")?.call(())?;
    let commands = commands.sequence_values::<Table>().map(|command| {
        let command = command?;
        Ok(DeclaredCommand {
            name: command.get(1)?,
            parallel: command.get(2)?,
        })
    });
    Ok(Declared {
        options: options.transpose()?,
        commands: commands.collect::<mlua::Result<_>>()?,
        functions: Function::ALL
            .into_iter()
            .filter(|function| state.defines(function.name()))
            .collect(),
    })
}

fn read(option: &Table) -> mlua::Result<DeclaredOption> {
    let kind: String = option.get(3)?;
    let default = match option.get(4)? {
        Value::Nil => None,
        Value::Boolean(value) => Some(OptionValue::Bool(value)),
        Value::Integer(value) => Some(OptionValue::Number(value as f64)),
        Value::Number(value) => Some(OptionValue::Number(value)),
        Value::String(text) => Some(OptionValue::Text(text.to_string_lossy())),
        Value::Table(list) => Some(OptionValue::List(
            list.sequence_values::<String>().collect::<mlua::Result<_>>()?,
        )),
        other => Some(OptionValue::Text(other.to_string()?)),
    };
    Ok(DeclaredOption {
        name: option.get(1)?,
        description: option.get(2)?,
        default,
        kind: match kind.as_str() {
            "bool" => OptionKind::Bool,
            "int" => OptionKind::Int,
            "double" => OptionKind::Double,
            "list" => OptionKind::List,
            _ => OptionKind::String,
        },
        validated: option.get(5)?,
    })
}

/// A number of the statistics: its name in Lua and its place.
type Field = (&'static str, fn(&mut Statistics) -> Place<'_>);

enum Place<'a> {
    Count(&'a mut u64),
    Seconds(&'a mut f64),
}

const FIELDS: [Field; 16] = [
    ("threads_running", |s| Place::Count(&mut s.threads_running)),
    ("time_total", |s| Place::Seconds(&mut s.time_total_s)),
    ("time_interval", |s| Place::Seconds(&mut s.time_interval_s)),
    ("events", |s| Place::Count(&mut s.events)),
    ("reads", |s| Place::Count(&mut s.reads)),
    ("writes", |s| Place::Count(&mut s.writes)),
    ("other", |s| Place::Count(&mut s.other)),
    ("errors", |s| Place::Count(&mut s.errors)),
    ("reconnects", |s| Place::Count(&mut s.reconnects)),
    ("latency_pct", |s| Place::Seconds(&mut s.latency_pct_s)),
    ("latency_min", |s| Place::Seconds(&mut s.latency_min_s)),
    ("latency_max", |s| Place::Seconds(&mut s.latency_max_s)),
    ("latency_avg", |s| Place::Seconds(&mut s.latency_avg_s)),
    ("latency_sum", |s| Place::Seconds(&mut s.latency_sum_s)),
    ("queue_length", |s| Place::Count(&mut s.queue_length)),
    ("concurrency", |s| Place::Count(&mut s.concurrency)),
];

fn table(lua: &mlua::Lua, statistics: &Statistics) -> mlua::Result<Table> {
    let mut statistics = *statistics;
    let table = lua.create_table()?;
    for (name, place) in FIELDS {
        match place(&mut statistics) {
            Place::Count(count) => table.set(name, *count)?,
            Place::Seconds(seconds) => table.set(name, *seconds)?,
        }
    }
    Ok(table)
}

fn statistics(table: &Table) -> Statistics {
    let mut statistics = Statistics::default();
    for (name, place) in FIELDS {
        let value: f64 = table.get(name).unwrap_or_default();
        match place(&mut statistics) {
            Place::Count(count) => *count = value as u64,
            Place::Seconds(seconds) => *seconds = value,
        }
    }
    statistics
}

//! A Lua state with sysbench's API in it.

use crate::chunks::Chunks;
use crate::error::LuaError;
use crate::operation::{CODES, FAILED};
use crate::place::Place;
use crate::random::{Generator, RandomSource};
use crate::settings::{OptionValue, Settings, Version};
use crate::source::{Source, may_look_at_rows, mentions_ffi, templates, without_shebang};
use crate::voice::Level;
use crate::watchdog::Watchdog;
use dyno_connect::Stop;
use mlua::{Function, IntoLua, LightUserData, Lua, LuaOptions, StdLib, String as Text, Table, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The parts of the API, in the order in which they are loaded, each with its name in tracebacks.
const API: [(&str, &str); 7] = [
    ("=[base]", include_str!("api/base.lua")),
    ("=[random]", include_str!("api/random.lua")),
    ("=[sql]", include_str!("api/sql.lua")),
    ("=[cmdline]", include_str!("api/cmdline.lua")),
    ("=[report]", include_str!("api/report.lua")),
    ("=[legacy]", include_str!("api/legacy.lua")),
    ("=[life]", include_str!("api/life.lua")),
];

/// A state that has loaded its script.
pub(crate) struct State {
    pub lua: Lua,
    /// What the API and the host share.
    pub host: Table,
    /// The random numbers of the client.
    pub generator: Arc<Mutex<Generator>>,
    /// Where it stands.
    pub place: Arc<Place>,
    /// Whether anything that was loaded may look into the rows of results.
    wants_rows: Arc<AtomicBool>,
}

impl Drop for State {
    fn drop(&mut self) {
        self.place.close();
    }
}

/// What is common to all states of a script.
pub(crate) struct Common {
    pub source: Source,
    pub settings: Settings,
    pub random: Arc<RandomSource>,
    /// Watches all states.
    pub watchdog: Watchdog,
    chunks: Chunks,
    /// What states have loaded so far.
    pub loaded: Mutex<Loaded>,
    /// How many modules and files they have loaded of which nobody knew.
    unknown: AtomicUsize,
}

/// Of no more modules and files than these is noted what they hold: a script may make up names without end.
const MOST_LOADED: usize = 1_000;

/// So many that nobody knew of are named; that there are more is said once.
const MOST_NAMED: usize = 10;

/// The texts of what a script has loaded, by names.
#[derive(Clone, Default)]
pub(crate) struct Loaded {
    /// By `require`.
    pub modules: BTreeMap<String, Vec<u8>>,
    /// By `dofile` and `loadfile`.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Common {
    pub fn new(source: &Source, settings: &Settings) -> Arc<Self> {
        Arc::new(Self {
            source: source.clone(),
            settings: settings.clone(),
            random: Arc::new(RandomSource::new(&settings.random)),
            watchdog: Watchdog::new(Arc::clone(&settings.voice)),
            chunks: Chunks::default(),
            loaded: Mutex::default(),
            unknown: AtomicUsize::new(0),
        })
    }

    /// A state has loaded this module.
    fn note_module(&self, name: &str, text: &[u8]) {
        if self.keep(|loaded| &mut loaded.modules, name, text) && self.source.module(name).is_none() {
            self.say_unknown(name);
        }
    }

    /// A state has loaded this file.
    fn note_file(&self, name: &str, text: &[u8]) {
        if !self.keep(|loaded| &mut loaded.files, name, text) {
            return;
        }
        match self.source.known_file(name) {
            None => self.say_unknown(name),
            Some(known) if differs(Path::new(name), known) => self.say_changed(name),
            Some(_) => {}
        }
    }

    /// Keeps what was loaded. Whether this is new.
    fn keep(&self, of: fn(&mut Loaded) -> &mut BTreeMap<String, Vec<u8>>, name: &str, text: &[u8]) -> bool {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = of(&mut loaded);
        let is_new = of_kind.len() < MOST_LOADED && !of_kind.contains_key(name);
        if is_new {
            of_kind.insert(name.to_owned(), text.to_owned());
        }
        is_new
    }

    /// Says of a part of the script that nobody knew of it, if all of them should be known.
    fn say_unknown(&self, name: &str) {
        if !self.source.is_complete() {
            return;
        }
        let script = self.source.name();
        let message = match self.unknown.fetch_add(1, Ordering::Relaxed) {
            ..MOST_NAMED => format!(
                "{script} loads {name} only while it runs, so its text is not archived, and what depends on it is not \
                 made anew when it changes: load it where the script begins, or by a name in quotes"
            ),
            MOST_NAMED => format!("{script} loads more such files, which are not archived and not named here"),
            _ => return,
        };
        self.settings.voice.say(Level::Warning, &message);
    }

    /// Says of a known file that what lies there now is not what is executed.
    fn say_changed(&self, name: &str) {
        let message = format!(
            "{} loads {name} as it was when the experiment was read, which is what is archived; what lies there now is \
             another text. If the script writes that file itself, load it by load() of what io.open() reads",
            self.source.name()
        );
        self.settings.voice.say(Level::Warning, &message);
    }
}

/// Whether there is a file that holds something else than this.
fn differs(path: &Path, text: &[u8]) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    // Only a file as long as the text is read.
    found.is_file() && (found.len() != text.len() as u64 || fs::read(path).is_ok_and(|there| there != text))
}

fn setting_up(error: mlua::Error) -> LuaError {
    LuaError::State(error.to_string())
}

impl State {
    /// A state of the client of this number, whose script is not loaded yet.
    pub fn new(common: &Arc<Common>, tid: usize, generator: Generator) -> Result<Self, LuaError> {
        // This leaves Lua's own pcall, which lets what it calls yield.
        let options = LuaOptions::new().catch_rust_panics(true);
        #[allow(
            unsafe_code,
            reason = "scripts have FFI and debug, as in sysbench; from those of others both are taken away below"
        )]
        // SAFETY: nothing is loaded that was not compiled into this program; what a script does with FFI is what its
        // user asks for.
        let lua = unsafe { Lua::unsafe_new_with(libraries(&common.settings), options) };
        let generator = Arc::new(Mutex::new(generator));
        let wants_rows = Arc::default();
        let place = common.watchdog.place(tid);
        let host = Self::set_up(&lua, common, &place, &generator, &wants_rows).map_err(setting_up)?;
        place.open(lua.current_thread().state());
        Ok(Self {
            lua,
            host,
            generator,
            place,
            wants_rows,
        })
    }

    fn set_up(
        lua: &Lua,
        common: &Arc<Common>,
        place: &Arc<Place>,
        generator: &Arc<Mutex<Generator>>,
        wants_rows: &Arc<AtomicBool>,
    ) -> mlua::Result<Table> {
        let settings = &common.settings;
        if !settings.safe {
            offer_ffi(lua)?;
        }
        // What is compiled could not be interrupted, and each state would compile the same anew.
        lua.load("jit.off(); jit.on = function() end").exec()?;
        let host = lua.create_table()?;
        host.set("mark", LightUserData(ptr::null_mut()))?;
        host.set("tid", place.number)?;
        host.set("version", settings.version.number())?;
        let level = match settings.version {
            Version::V0_5 => 5,
            Version::V1_0 => 10,
            Version::V1_1 => 11,
        };
        host.set("level", level)?;
        host.set("driver", settings.dialect.name())?;
        host.set("argv", settings.argv.as_slice())?;
        host.set("command", settings.command.as_deref())?;
        host.set("script_path", common.source.name())?;
        let name = Path::new(common.source.name());
        host.set("script_name", name.file_name().map(|name| name.display().to_string()))?;
        let op = lua.create_table()?;
        for (name, code) in CODES {
            op.set(name, code)?;
        }
        op.set("failed", FAILED)?;
        host.set("op", op)?;
        speak(lua, &host, common)?;
        draw(lua, &host, common, generator)?;
        for (name, text) in API {
            common.chunks.load(lua, name, text.as_bytes())?.call::<()>(&host)?;
        }
        let globals = lua.globals();
        let opt: Table = globals.get::<Table>("sysbench")?.get("opt")?;
        opt.set("threads", settings.threads)?;
        for (name, value) in &settings.options {
            opt.set(name.as_str(), of_option(lua, value)?)?;
        }
        for (name, value) in &settings.globals {
            globals.set(name.as_str(), of_option(lua, value)?)?;
        }
        open_files(lua, common, wants_rows)?;
        replace_exit(lua, place)?;
        if settings.safe {
            secure(lua)?;
        } else {
            // What the C library keeps back would come after what is printed later.
            lua.load("io.stdout:setvbuf('no')").exec()?;
        }
        Ok(host)
    }

    /// Does something in the script, up to its end or until this asks to stop: then it ends, and so does what it waits
    /// for by the flag that it gets.
    ///
    /// # Errors
    /// It fails, or was ended.
    pub fn call<T>(
        place: &Place,
        function: &str,
        stop: &Stop,
        work: impl FnOnce(&Stop) -> Result<T, LuaError>,
    ) -> Result<T, LuaError> {
        let stop = place.begin_call(stop);
        let done = place.during(|| work(&stop));
        place.end_call();
        done.unwrap_or_else(|end| Err(end.error(function)))
    }

    /// Loads the script.
    pub fn load(&self, common: &Arc<Common>) -> Result<(), LuaError> {
        Self::call(&self.place, "load", &common.settings.stop, |_| self.load_now(common))
    }

    fn load_now(&self, common: &Arc<Common>) -> Result<(), LuaError> {
        let source = &common.source;
        let name = format!("@{}", source.name());
        open_ffi(&self.lua, source.bytes(), common).map_err(setting_up)?;
        let loaded = common.chunks.load(&self.lua, &name, without_shebang(source.bytes()));
        let failed = |error: &mlua::Error| {
            let (message, traceback) = parts(error);
            LuaError::Load { message, traceback }
        };
        let chunk = loaded.map_err(|error| failed(&error))?;
        if may_look_at_rows(source.bytes()) {
            self.wants_rows.store(true, Ordering::Relaxed);
        }
        chunk.call::<()>(()).map_err(|error| failed(&error))?;
        let defaults: Function = self.host.get("defaults").map_err(setting_up)?;
        defaults.call::<()>(()).map_err(|error| failed(&error))?;
        // What the parser has left is for the states to come.
        self.lua.gc_collect().map_err(setting_up)
    }

    /// Gives up what loading has left behind, before the next state needs as much.
    pub fn tidy(&self) -> Result<(), LuaError> {
        self.lua.gc_collect().map_err(setting_up)
    }

    /// Whether the rows of results are kept: something that was loaded may look into them.
    pub fn wants_rows(&self) -> bool {
        self.wants_rows.load(Ordering::Relaxed)
    }

    /// Draws what sysbench draws for itself after each event, so that what scripts draw next is the same.
    pub fn draw_after_event(&self) {
        hold(&self.generator).next();
    }

    /// The same for the name that sysbench makes up for a statement of PostgreSQL.
    pub fn draw_for_name(&self) {
        hold(&self.generator).next();
        hold(&self.generator).next();
    }

    /// Whether the script defines a function of this name.
    pub fn defines(&self, name: &str) -> bool {
        self.lua.globals().raw_get::<Function>(name).is_ok()
    }
}

/// An error's message, and where it was called from.
pub(crate) fn parts(error: &mlua::Error) -> (String, String) {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::RuntimeError(message) => message.clone(),
        mlua::Error::CallbackError { cause, traceback } => {
            let (message, _) = parts(cause);
            return (message, traceback.clone());
        }
        other => other.to_string(),
    };
    let (message, traceback) = text.split_once("\nstack traceback:\n").unwrap_or((&text, ""));
    let message = match is_of_no_text(message) {
        true => NO_TEXT,
        false => message,
    };
    (message.to_owned(), traceback.to_owned())
}

/// What sysbench says of an error that is no text.
const NO_TEXT: &str = "(not a string)";

/// Whether this is what Lua shows of a value that has no text: what it is and where it lies in memory.
fn is_of_no_text(message: &str) -> bool {
    const KINDS: [&str; 5] = ["table", "function", "userdata", "thread", "cdata"];
    message.split_once(": 0x").is_some_and(|(kind, place)| {
        KINDS.contains(&kind) && !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// An option's value in Lua.
pub(crate) fn of_option(lua: &Lua, value: &OptionValue) -> mlua::Result<Value> {
    match value {
        OptionValue::Bool(value) => value.into_lua(lua),
        OptionValue::Number(value) => value.into_lua(lua),
        OptionValue::Text(value) => lua.create_string(dyno_text::encode(value)).map(Value::String),
        OptionValue::List(values) => values.as_slice().into_lua(lua),
    }
}

/// The libraries that a state begins with. FFI takes a fifth of what a state without a script takes, and few scripts
/// have a use for it: it is opened when one asks. It must not be there to be opened where it is taken away.
fn libraries(settings: &Settings) -> StdLib {
    if settings.safe {
        StdLib::ALL
    } else {
        StdLib::ALL ^ StdLib::FFI
    }
}

/// Has `require` find FFI.
fn offer_ffi(lua: &Lua) -> mlua::Result<()> {
    #[allow(unsafe_code, reason = "it is a function of C")]
    // SAFETY: that is how LuaJIT opens it itself.
    let open = unsafe { lua.create_c_function(mlua::ffi::luaopen_ffi) }?;
    let package: Table = lua.globals().get("package")?;
    package.get::<Table>("preload")?.set("ffi", open)
}

/// Opens FFI for a text that mentions it: scripts find it in the global `ffi`, as in sysbench.
fn open_ffi(lua: &Lua, text: &[u8], common: &Common) -> mlua::Result<()> {
    if common.settings.safe || !mentions_ffi(text) {
        return Ok(());
    }
    // A script may have made it an error to use a global that is not there.
    let globals = lua.globals();
    if globals.raw_get::<Value>("ffi")?.is_nil()
        && let Ok(require) = globals.raw_get::<Function>("require")
    {
        globals.raw_set("ffi", require.call::<Value>("ffi")?)?;
    }
    Ok(())
}

/// What scripts print and what is said of them.
fn speak(lua: &Lua, host: &Table, common: &Arc<Common>) -> mlua::Result<()> {
    let voice = Arc::clone(&common.settings.voice);
    let print = lua.create_function(move |_, text: Text| {
        voice.print(&text.as_bytes());
        Ok(())
    })?;
    host.set("print", print)?;
    let voice = Arc::clone(&common.settings.voice);
    let say = lua.create_function(move |_, (level, message): (Text, Text)| {
        let level = if &*level.as_bytes() == b"fatal" {
            Level::Fatal
        } else {
            Level::Warning
        };
        voice.say(level, &message.to_string_lossy());
        Ok(())
    })?;
    host.set("say", say)
}

/// A generator, which only one thread uses at a time.
fn hold(generator: &Mutex<Generator>) -> MutexGuard<'_, Generator> {
    generator.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers of Lua as C takes them for 32 bits: without what is behind the point.
fn whole(number: f64) -> u32 {
    number as i64 as u32
}

/// Random numbers.
fn draw(lua: &Lua, host: &Table, common: &Arc<Common>, generator: &Arc<Mutex<Generator>>) -> mlua::Result<()> {
    type Draw = fn(&mut Generator, &RandomSource, u32, u32) -> u32;
    let draws: [(&str, Draw); 6] = [
        ("default", |generator, source, a, b| generator.default(source, a, b)),
        ("uniform", |generator, _, a, b| generator.uniform(a, b)),
        ("gaussian", |generator, source, a, b| generator.gaussian(source, a, b)),
        ("special", |generator, source, a, b| generator.special(source, a, b)),
        ("pareto", |generator, source, a, b| generator.pareto(source, a, b)),
        ("zipfian", |generator, source, a, b| generator.zipfian(source, a, b)),
    ];
    for (name, draw) in draws {
        let (generator, source) = (Arc::clone(generator), Arc::clone(&common.random));
        let function = lua.create_function(move |_, (a, b): (f64, f64)| {
            Ok(draw(&mut hold(&generator), &source, whole(a), whole(b)))
        })?;
        host.set(name, function)?;
    }
    let source = Arc::clone(&common.random);
    let unique = lua.create_function(move |_, ()| Ok(source.unique()))?;
    host.set("unique", unique)?;
    let of = Arc::clone(generator);
    host.set(
        "uniform_double",
        lua.create_function(move |_, ()| Ok(hold(&of).unit()))?,
    )?;
    let of = Arc::clone(generator);
    let halves = lua.create_function(move |_, ()| {
        let drawn = hold(&of).next();
        Ok(((drawn >> 32) as u32, drawn as u32))
    })?;
    host.set("halves", halves)?;
    // Where the FFI is taken away from the script, it has been opened already.
    let join = "local require, opened = require, package.loaded.ffi
        local new = opened and opened.typeof('uint64_t')
        return function(high, low)
           new = new or require('ffi').typeof('uint64_t')
           return new(high) * 4294967296 + new(low)
        end";
    host.set("uint64", lua.load(join).eval::<Function>()?)?;
    let of = Arc::clone(generator);
    let text = lua.create_function(move |lua, template: Text| {
        let mut out = Vec::new();
        hold(&of).text(&template.as_bytes(), &mut out);
        lua.create_string(out)
    })?;
    host.set("string", text)?;
    let of = Arc::clone(generator);
    let varying = lua.create_function(move |lua, (least, most): (f64, f64)| {
        let mut out = Vec::new();
        hold(&of).varying_text(whole(least), whole(most), &mut out);
        lua.create_string(out)
    })?;
    host.set("varstring", varying)
}

/// `require`, `dofile` and `loadfile`: files are read here, so that it is known what they hold.
fn open_files(lua: &Lua, common: &Arc<Common>, wants_rows: &Arc<AtomicBool>) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    package.set("path", common.source.search_path())?;
    let load = {
        let (wants_rows, common) = (Arc::clone(wants_rows), Arc::clone(common));
        move |lua: &Lua, name: &str, text: &[u8]| {
            if may_look_at_rows(text) {
                wants_rows.store(true, Ordering::Relaxed);
            }
            open_ffi(lua, text, &common)?;
            common.chunks.load(lua, &format!("@{name}"), without_shebang(text))
        }
    };
    let of_files = {
        let (load, common) = (load.clone(), Arc::clone(common));
        lua.create_function(move |lua, name: Option<Text>| {
            let name = name.map(|name| name.to_string_lossy()).unwrap_or_default();
            let known = common.source.known_file(&name).map(<[u8]>::to_owned);
            match known.map_or_else(|| fs::read(&name), Ok) {
                Ok(text) => {
                    common.note_file(&name, &text);
                    match load(lua, &name, &text) {
                        Ok(function) => Ok((Some(function), None)),
                        Err(error) => Ok((None, Some(parts(&error).0))),
                    }
                }
                Err(error) => Ok((None, Some(format!("cannot open {name}: {error}")))),
            }
        })?
    };
    lua.globals().set("loadfile", of_files)?;
    let dofile = "local loadfile = loadfile
        function dofile(name)
           local chunk, why = loadfile(name)
           if not chunk then error(why, 0) end
           return chunk()
        end";
    lua.load(dofile).set_name("=[base]").exec()?;
    let common = Arc::clone(common);
    let search = lua.create_function(move |lua, name: Text| {
        let name = name.to_string_lossy();
        if let Some(text) = common.source.module(&name) {
            common.note_module(&name, text);
            return load(lua, &format!("{name}.lua"), text).map(Value::Function);
        }
        let package: Table = lua.globals().get("package")?;
        let path: String = package.get("path").unwrap_or_default();
        let mut tried = String::new();
        for file in templates(&path, &name) {
            if let Ok(text) = fs::read(&file) {
                common.note_module(&name, &text);
                return load(lua, &file.display().to_string(), &text).map(Value::Function);
            }
            tried.push_str(&format!("\n\tno file '{}'", file.display()));
        }
        lua.create_string(tried).map(Value::String)
    })?;
    let loaders: Table = package.get("loaders")?;
    loaders.raw_set(2, search)
}

/// `os.exit` would end the whole process, with all that is measured and to be put back. It ends the script instead, and
/// whoever runs that learns of the code.
fn replace_exit(lua: &Lua, place: &Arc<Place>) -> mlua::Result<()> {
    let place = Arc::downgrade(place);
    let exit = lua.create_function(move |lua, code: Value| {
        let code = match code {
            Value::Boolean(is_well) => i64::from(!is_well),
            Value::Nil => 0,
            code => {
                let kind = code.type_name();
                // Numbers may be given as text, as everywhere in Lua.
                let code = lua.coerce_number(code)?.ok_or_else(|| {
                    let message = format!("bad argument #1 to 'exit' (number expected, got {kind})");
                    mlua::Error::RuntimeError(message)
                })?;
                code as i64
            }
        };
        if let Some(place) = place.upgrade() {
            // The system keeps so much of it.
            place.exit((code & 0xff) as u8, lua.current_thread().state());
        }
        Err::<(), _>(mlua::Error::RuntimeError("os.exit".to_owned()))
    })?;
    lua.globals().get::<Table>("os")?.set("exit", exit)
}

/// Takes from a script what reaches beyond Lua.
fn secure(lua: &Lua) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in ["debug", "io", "jit", "ffi", "newproxy"] {
        globals.set(name, Value::Nil)?;
    }
    let os: Table = globals.get("os")?;
    let kept = lua.create_table()?;
    for name in ["clock", "date", "difftime", "time"] {
        kept.set(name, os.get::<Value>(name)?)?;
    }
    globals.set("os", &kept)?;
    let package: Table = globals.get("package")?;
    for name in ["loadlib", "cpath", "seeall", "searchpath"] {
        package.set(name, Value::Nil)?;
    }
    let loaders: Table = package.get("loaders")?;
    let count = loaders.raw_len();
    for place in 3..=count {
        loaders.raw_set(place, Value::Nil)?;
    }
    package.set("preload", lua.create_table()?)?;
    let loaded: Table = package.get("loaded")?;
    for name in [
        "debug",
        "io",
        "jit",
        "ffi",
        "jit.opt",
        "jit.util",
        "jit.profile",
        "string.buffer",
    ] {
        loaded.set(name, Value::Nil)?;
    }
    loaded.set("os", kept)?;
    // Bytecode is not checked when it is loaded.
    let text_only = "local load, type, byte = load, type, string.byte
        local function checked(chunk, name, mode, ...)
           if type(chunk) == 'function' then
              local pieces = {}
              for piece in chunk do
                 if piece == '' then break end
                 pieces[#pieces + 1] = piece
              end
              chunk = table.concat(pieces)
           end
           if type(chunk) == 'string' and byte(chunk) == 27 then
              return nil, 'attempt to load chunk with wrong mode'
           end
           return load(chunk, name, 't', ...)
        end
        _G.load, _G.loadstring = checked, checked
        string.dump = nil";
    lua.load(text_only).set_name("=[base]").exec()
}

//! Where a state stands: in its script, or out of it because something is asked of the server; and how it is made to
//! come back from a script that computes without end.
//!
//! Lua is interrupted by a hook, which another thread may set: Lua calls it with its next instruction. One that ends a
//! script raises an error and stays set, so a script that catches the error gets the next one with its next
//! instruction, until it has nowhere left to catch one. This works because no state compiles: compiled loops look for
//! no hook.

use crate::error::LuaError;
use dyno_connect::Stop;
use mlua::ffi;
use std::cell::RefCell;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a call may take that begins when somebody has asked to stop already: what tidies up is to have its chance.
const LATE_GRACE: Duration = Duration::from_secs(5);

/// How deep it is looked for the script's own line below a call.
const DEEPEST: i32 = 100;

/// What the hook raises. It is seen only by scripts that catch it.
const RAISED: &CStr = c"the script is to end";

/// Where the script was that was asked last: a hook cannot be told whom to tell.
static FOUND: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// Where the script was ended that this thread comes back from.
    static ENDED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Where a state stands. Only the thread that uses the state goes in and out.
#[derive(Debug)]
pub(crate) struct Place {
    /// The client's number.
    pub number: usize,
    /// Counted up on the way in and on the way out: odd means in.
    crossings: AtomicU64,
    /// Whether the script is to end: `end` says why.
    is_ending: AtomicBool,
    end: Mutex<Option<End>>,
    /// Lua's own name for the state; null when there is none (any more).
    lua: AtomicPtr<ffi::lua_State>,
    /// Held while somebody works on the state who does not use it: it stays there meanwhile.
    gate: Mutex<()>,
    /// Whether there is a call: clients of a load, of which there may be thousands, have none.
    has_call: AtomicBool,
    call: Mutex<Option<Call>>,
}

/// A call that is none of a load's.
#[derive(Debug)]
struct Call {
    begun: Instant,
    /// Whether somebody had asked to stop before it began.
    is_late: bool,
    asked: Stop,
    /// Ends what it waits for.
    stop: Stop,
}

/// Why a script was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It went on by itself for too long.
    Endless {
        /// Script and line; empty: it was in something that is not Lua.
        at: String,
        for_s: u64,
    },
    /// It called `os.exit`.
    Exit { code: u8, at: String },
}

impl End {
    /// The same as an error of this function.
    pub fn error(self, function: &str) -> LuaError {
        match self {
            Self::Endless { at, for_s } => LuaError::Ended {
                function: function.to_owned(),
                at,
                for_s,
            },
            Self::Exit { code, at } => LuaError::Exit { code, at },
        }
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// The place of the client of this number, which has no state yet.
    pub fn new(number: usize) -> Self {
        Self {
            number,
            crossings: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            end: Mutex::default(),
            lua: AtomicPtr::new(ptr::null_mut()),
            gate: Mutex::default(),
            has_call: AtomicBool::new(false),
            call: Mutex::default(),
        }
    }

    /// From now on there is a state, until [`close`](Self::close).
    pub fn open(&self, lua: *mut ffi::lua_State) {
        self.lua.store(lua, Ordering::Release);
    }

    /// The state is about to go.
    pub fn close(&self) {
        let _gate = hold(&self.gate);
        self.lua.store(ptr::null_mut(), Ordering::Release);
    }

    /// Does something in the script.
    ///
    /// # Errors
    /// The script was ended. Whatever it has brought is not to be used.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, End> {
        // It may be told to end in the very moment in which it came back by itself.
        if !self.is_ending.load(Ordering::Acquire) {
            self.cross();
            let done = work();
            self.cross();
            if !self.is_ending.load(Ordering::Acquire) {
                return Ok(done);
            }
        }
        Err(self.take_end())
    }

    /// Does something outside, while in the script.
    pub fn away<T>(&self, work: impl FnOnce() -> T) -> T {
        self.cross();
        let done = work();
        self.cross();
        done
    }

    /// Two stores at most, and no look at the clock: this comes with each statement.
    fn cross(&self) {
        let crossings = self.crossings.load(Ordering::Relaxed);
        self.crossings.store(crossings.wrapping_add(1), Ordering::Release);
    }

    /// How often it went in or out: odd means in.
    pub fn crossings(&self) -> u64 {
        self.crossings.load(Ordering::Acquire)
    }

    /// The state is as before.
    #[cold]
    fn take_end(&self) -> End {
        let _gate = hold(&self.gate);
        self.hook(None);
        self.is_ending.store(false, Ordering::Release);
        let found = ENDED_AT.with_borrow_mut(Option::take).unwrap_or_default();
        match hold(&self.end).take() {
            Some(exit @ End::Exit { .. }) => exit,
            Some(End::Endless { for_s, .. }) => End::Endless { at: found, for_s },
            None => End::Endless { at: found, for_s: 0 },
        }
    }

    /// Has Lua call this with its next instruction, or nothing any more. The gate is held, or the state's own thread
    /// asks.
    fn hook(&self, hook: Option<ffi::lua_Hook>) {
        let lua = self.lua.load(Ordering::Acquire);
        if lua.is_null() {
            return;
        }
        let mask = if hook.is_some() { ffi::LUA_MASKCOUNT } else { 0 };
        #[allow(unsafe_code, reason = "Lua can be interrupted by nothing else")]
        // SAFETY: the state lives, as it is closed only with the gate held. LuaJIT allows hooks to be set while the
        // state runs, as its own program does from a signal handler; no state compiles, so the next instruction calls
        // the hook.
        unsafe {
            ffi::lua_sethook(lua, hook, mask, i32::from(hook.is_some()));
        }
    }

    /// The script calls `os.exit`: it ends with its next instruction.
    pub fn exit(&self, code: u8, lua: *mut ffi::lua_State) {
        #[allow(unsafe_code, reason = "the line is asked from Lua itself")]
        // SAFETY: this is the state that runs, and its thread asks.
        let at = unsafe { position(lua) };
        hold(&self.end).get_or_insert(End::Exit { code, at });
        self.is_ending.store(true, Ordering::Release);
        self.hook(Some(raise));
    }

    /// Makes a script end that has been in there since this crossing, for so long. The same again sees to it that it
    /// does.
    pub fn order_end(&self, crossings: u64, for_s: u64) {
        let _gate = hold(&self.gate);
        if self.crossings() != crossings {
            return;
        }
        let at = String::new();
        hold(&self.end).get_or_insert(End::Endless { at, for_s });
        self.is_ending.store(true, Ordering::Release);
        self.hook(Some(raise));
    }

    /// Asks a script where it is, for at most so long. `None`: it does not get to say so, or is to end anyway.
    pub fn ask(&self, crossings: u64, patience: Duration) -> Option<String> {
        let found = || hold(&FOUND).take();
        found();
        {
            let _gate = hold(&self.gate);
            if self.is_ending.load(Ordering::Acquire) {
                return None;
            }
            self.hook(Some(tell));
        }
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if let Some(found) = found() {
                return Some(found);
            }
            if self.crossings() != crossings {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// A call begins that ends when this asks to stop, or soon after if that has asked already. Gives what ends what
    /// the call waits for.
    pub fn begin_call(&self, asked: &Stop) -> Stop {
        let is_late = asked.requested();
        let stop = if is_late { Stop::new() } else { asked.within() };
        *hold(&self.call) = Some(Call {
            begun: Instant::now(),
            is_late,
            asked: asked.clone(),
            stop: stop.clone(),
        });
        self.has_call.store(true, Ordering::Release);
        stop
    }

    /// The call is over.
    pub fn end_call(&self) {
        self.has_call.store(false, Ordering::Release);
        *hold(&self.call) = None;
    }

    /// Whether the call under way is to end; then it waits for nothing any more. `None`: there is none.
    pub fn call_is_over(&self) -> Option<bool> {
        if !self.has_call.load(Ordering::Acquire) {
            return None;
        }
        let call = hold(&self.call);
        let call = call.as_ref()?;
        let is_over = match call.is_late {
            true => call.begun.elapsed() >= LATE_GRACE,
            false => call.asked.requested(),
        };
        if is_over {
            call.stop.request();
        }
        Some(is_over)
    }
}

/// Where the script is: the innermost line that is not of the API.
#[allow(unsafe_code, reason = "Lua is asked in its own words")]
unsafe fn position(lua: *mut ffi::lua_State) -> String {
    let mut innermost = None;
    for level in 0..DEEPEST {
        // SAFETY: the state is the caller's; Lua fills in the record, and the names in it end in a zero.
        let (is_file, at) = unsafe {
            let mut about: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getstack(lua, level, &raw mut about) == 0 {
                break;
            }
            ffi::lua_getinfo(lua, c"Sl".as_ptr(), &raw mut about);
            if about.currentline < 0 || about.source.is_null() {
                continue;
            }
            let name = CStr::from_ptr(about.short_src.as_ptr()).to_string_lossy();
            let is_file = CStr::from_ptr(about.source).to_bytes().starts_with(b"@");
            (is_file, format!("{name}:{}", about.currentline))
        };
        if is_file {
            return at;
        }
        innermost.get_or_insert(at);
    }
    innermost.unwrap_or_default()
}

/// A hook: notes where the script is, and takes itself away.
#[allow(unsafe_code, reason = "Lua calls it")]
unsafe extern "C-unwind" fn tell(lua: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: Lua gives the state that runs.
    let at = unsafe {
        ffi::lua_sethook(lua, None, 0, 0);
        position(lua)
    };
    *hold(&FOUND) = Some(at);
}

/// A hook: ends the script.
#[allow(unsafe_code, reason = "Lua calls it")]
unsafe extern "C-unwind" fn raise(lua: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // Where it catches the error it is no longer where it was.
    if ENDED_AT.with_borrow(Option::is_none) {
        // SAFETY: Lua gives the state that runs.
        let at = unsafe { position(lua) };
        ENDED_AT.set(Some(at));
    }
    // SAFETY: nothing is left here that would have to be dropped, and the stack has room for what a hook pushes.
    unsafe {
        ffi::lua_pushstring(lua, RAISED.as_ptr());
        ffi::lua_error(lua);
    }
}

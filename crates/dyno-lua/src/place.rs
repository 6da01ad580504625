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
use std::cell::Cell;
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

/// How many threads have been in a script.
static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The thread's own number; none has the number 0.
    static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed) + 1;
    /// The place of the script that this thread is in: a hook is told its state alone. Null: it is in none.
    static CURRENT: Cell<*const Place> = const { Cell::new(ptr::null()) };
}

/// Makes a place the thread's current one, as long as this lasts.
struct Current {
    before: *const Place,
}

impl Current {
    fn set(place: &Place) -> Self {
        Self {
            before: CURRENT.replace(ptr::from_ref(place)),
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Does something with the place of the script that this thread is in.
fn with_current<T>(work: impl FnOnce(&Place) -> T) -> Option<T> {
    #[allow(unsafe_code, reason = "a hook is given nothing of ours")]
    // SAFETY: `during` borrows the place as long as it is the current one.
    let place = unsafe { CURRENT.get().as_ref() };
    place.map(work)
}

/// Where a state stands. Only the thread that uses the state goes in and out.
#[derive(Debug)]
pub(crate) struct Place {
    /// The client's number.
    pub number: usize,
    /// Counted up on the way in and on the way out: odd means in.
    crossings: AtomicU64,
    /// The number of the thread that was in last; 0: none yet.
    thread: AtomicU64,
    /// Whether a hook of ours may be set: then the state's thread has to look what became of it.
    is_hooked: AtomicBool,
    /// Whether our hook is set now. Changed with the gate held.
    is_set: AtomicBool,
    /// Whether the script is to end: `end` says why. Changed with the gate held.
    is_ending: AtomicBool,
    /// Whether the hook has raised an error since somebody looked.
    has_raised: AtomicBool,
    end: Mutex<Option<End>>,
    /// Where the script was when the hook ended it; `None`: the hook was not called (yet).
    ended_at: Mutex<Option<String>>,
    /// Where the script was that was asked.
    found: Mutex<Option<String>>,
    /// Lua's own name for the state; null when there is none (any more).
    lua: AtomicPtr<ffi::lua_State>,
    /// Held while a hook is set or removed, so that one thread at a time does, and the state stays there meanwhile.
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
        /// Script and line; empty: nothing is known of either.
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
            thread: AtomicU64::new(0),
            is_hooked: AtomicBool::new(false),
            is_set: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            has_raised: AtomicBool::new(false),
            end: Mutex::default(),
            ended_at: Mutex::default(),
            found: Mutex::default(),
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
        // Since it came back the last time somebody may have set a hook who did not see that in time.
        if let Some(end) = self.settled() {
            return Err(end);
        }
        let current = Current::set(self);
        self.thread.store(THREAD.with(|number| *number), Ordering::Relaxed);
        self.cross();
        let done = work();
        self.cross();
        drop(current);
        self.settled().map_or(Ok(done), Err)
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

    /// Which thread was in last, by a number of ours; 0: none yet.
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// How often it went in or out: odd means in.
    pub fn crossings(&self) -> u64 {
        self.crossings.load(Ordering::Acquire)
    }

    /// Whether the script was ended, and why. This comes with each statement, too.
    fn settled(&self) -> Option<End> {
        match self.is_hooked.load(Ordering::Acquire) {
            true => self.settle(),
            false => None,
        }
    }

    /// The state is as before. What came back by itself, in the very moment in which it was told to end, was not ended:
    /// what it has brought is as good as ever.
    #[cold]
    fn settle(&self) -> Option<End> {
        let _gate = hold(&self.gate);
        self.unset();
        self.is_hooked.store(false, Ordering::Release);
        self.is_ending.store(false, Ordering::Release);
        self.has_raised.store(false, Ordering::Release);
        let at = hold(&self.ended_at).take();
        match (hold(&self.end).take(), at) {
            (Some(exit @ End::Exit { .. }), _) => Some(exit),
            (Some(End::Endless { for_s, .. }), Some(at)) => Some(End::Endless { at, for_s }),
            (None, Some(at)) => Some(End::Endless { at, for_s: 0 }),
            (_, None) => None,
        }
    }

    /// Has Lua call the hook with its next instruction, if it is not about to anyway. The gate is held.
    fn set(&self) {
        if !self.is_set.swap(true, Ordering::AcqRel) {
            self.is_hooked.store(true, Ordering::Release);
            self.hook(true);
        }
    }

    /// Has Lua call nothing any more. The gate is held.
    fn unset(&self) {
        self.is_set.store(false, Ordering::Release);
        self.hook(false);
    }

    fn hook(&self, sets: bool) {
        let lua = self.lua.load(Ordering::Acquire);
        if lua.is_null() {
            return;
        }
        let (hook, mask): (Option<ffi::lua_Hook>, _) = match sets {
            true => (Some(called), ffi::LUA_MASKCOUNT),
            false => (None, 0),
        };
        #[allow(unsafe_code, reason = "Lua can be interrupted by nothing else")]
        // SAFETY: the state lives, as it is closed only with the gate held, which also keeps our threads from setting
        // hooks at the same time: LuaJIT would mix up the tables of instructions that it fills for each. It allows
        // hooks to be set while the state runs, as its own program does from a signal handler; no state compiles, so
        // the next instruction calls the hook. Another thread sets none while one may be called: it would write the
        // byte in which LuaJIT notes that a hook is under way. Three things are left that no lock of ours covers, as
        // they happen within Lua: a script that sets a hook of its own (`debug.sethook`), a finalizer that begins, and
        // a script that comes back from what is not Lua while `insist` repairs. Either may lose what the other writes,
        // in a window of a few instructions. Then the hook is not called, or the table is not the hook's, but all of
        // that is data of Lua's own that stays in bounds: the script merely goes on, until `insist` sets the hook
        // anew. Only if it is the note of a hook under way that stays for ever does it go on as what is not Lua does.
        unsafe {
            ffi::lua_sethook(lua, hook, mask, i32::from(sets));
        }
    }

    /// Has the script end with its next instruction. The gate is held.
    fn raise_from_now(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.set();
    }

    /// The script calls `os.exit`: it ends with its next instruction.
    pub fn exit(&self, code: u8, lua: *mut ffi::lua_State) {
        #[allow(unsafe_code, reason = "the line is asked from Lua itself")]
        // SAFETY: this is the state that runs, and its thread asks.
        let at = unsafe { position(lua) };
        let _gate = hold(&self.gate);
        hold(&self.end).get_or_insert(End::Exit { code, at });
        self.raise_from_now();
    }

    /// Makes a script end that has been in there since this crossing, for so long.
    pub fn order_end(&self, crossings: u64, for_s: u64) {
        let _gate = hold(&self.gate);
        if self.crossings() != crossings {
            return;
        }
        let at = String::new();
        hold(&self.end).get_or_insert(End::Endless { at, for_s });
        self.raise_from_now();
    }

    /// Sees to it that a script does end that is to end and has been in there since this crossing.
    pub fn insist(&self, crossings: u64) {
        if !self.is_ending.load(Ordering::Acquire) || self.has_raised.swap(false, Ordering::AcqRel) {
            return;
        }
        let _gate = hold(&self.gate);
        if self.is_ending.load(Ordering::Acquire) && self.crossings() == crossings {
            // Where a hook is set already, LuaJIT leaves its table of instructions as it is, right or wrong.
            self.unset();
            self.set();
        }
    }

    /// Asks a script where it is that has been in there since this crossing, for at most so long. `None`: it does not
    /// get to say so, or is to end anyway.
    pub fn ask(&self, crossings: u64, patience: Duration) -> Option<String> {
        {
            let _gate = hold(&self.gate);
            if self.is_ending.load(Ordering::Acquire) || self.crossings() != crossings {
                return None;
            }
            *hold(&self.found) = None;
            self.set();
        }
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if let Some(found) = hold(&self.found).take() {
                return Some(found);
            }
            if self.crossings() != crossings {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// The hook is called. Gives whether the script is to end.
    fn called(&self, lua: *mut ffi::lua_State) -> bool {
        let _gate = hold(&self.gate);
        #[allow(unsafe_code, reason = "the line is asked from Lua itself")]
        // SAFETY: this is the state that runs, and its thread asks.
        let at = || unsafe { position(lua) };
        if self.is_ending.load(Ordering::Acquire) {
            self.has_raised.store(true, Ordering::Release);
            // Where it catches the error it is no longer where it was.
            hold(&self.ended_at).get_or_insert_with(at);
            return true;
        }
        self.unset();
        *hold(&self.found) = Some(at());
        false
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

/// The hook: ends the script if it is to end, else notes where it is, and takes itself away.
#[allow(unsafe_code, reason = "Lua calls it")]
unsafe extern "C-unwind" fn called(lua: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    if with_current(|place| place.called(lua)) == Some(true) {
        // SAFETY: nothing is left here that would have to be dropped, and the stack has room for what a hook pushes.
        unsafe {
            ffi::lua_pushstring(lua, RAISED.as_ptr());
            ffi::lua_error(lua);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::Lua;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    /// How long something may take that has to happen.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A state that does not compile, and its place. `exit(code)` is `os.exit`.
    fn state(place: &Arc<Place>) -> Lua {
        let lua = Lua::new();
        let of = Arc::clone(place);
        let exit = lua.create_function(move |lua, code: u8| {
            of.exit(code, lua.current_thread().state());
            Err::<(), _>(mlua::Error::RuntimeError("os.exit".to_owned()))
        });
        lua.globals().set("exit", exit.unwrap()).unwrap();
        lua.load("jit.off()").exec().unwrap();
        place.open(lua.current_thread().state());
        lua
    }

    /// Asks whoever is in there where it is, as long as anybody listens.
    fn ask_on(place: &Place) -> Option<String> {
        let crossings = place.crossings();
        match crossings % 2 {
            1 => place.ask(crossings, Duration::from_millis(20)),
            _ => None,
        }
    }

    #[test]
    fn each_answers_for_itself() {
        let answers: Vec<_> = ["one", "two"]
            .map(|name| {
                let place = Arc::new(Place::new(0));
                let of = Arc::clone(&place);
                let script = thread::spawn(move || {
                    let lua = state(&of);
                    let ended = of.during(|| lua.load("while true do end").set_name(format!("@{name}")).exec());
                    of.close();
                    ended
                });
                let asking = thread::spawn(move || {
                    let begun = Instant::now();
                    let mut answers = Vec::new();
                    while answers.len() < 100 && begun.elapsed() < PATIENCE {
                        answers.extend(ask_on(&place));
                    }
                    place.order_end(place.crossings(), 0);
                    answers
                });
                (name, script, asking)
            })
            .into_iter()
            .map(|(name, script, asking)| (name, asking.join().unwrap(), script.join().unwrap().unwrap_err()))
            .collect();
        for (name, answers, end) in answers {
            let at = format!("{name}:1");
            assert_eq!(answers, vec![at.as_str(); 100]);
            assert_eq!(end, End::Endless { at, for_s: 0 });
        }
    }

    #[test]
    fn who_is_asked_while_it_leaves_leaves() {
        const TIMES: usize = 2_000;
        let place = Arc::new(Place::new(0));
        let of = Arc::clone(&place);
        let (done, result) = channel();
        thread::spawn(move || {
            let lua = state(&of);
            for _ in 0..TIMES {
                let script = lua.load("for i = 1, 300 do end pcall(exit, 7) while true do end");
                let end = of.during(|| script.exec()).unwrap_err();
                assert!(matches!(end, End::Exit { code: 7, .. }), "{end:?}");
            }
            of.close();
            done.send(()).unwrap();
        });
        let begun = Instant::now();
        while result.try_recv().is_err() {
            assert!(begun.elapsed() < PATIENCE, "it goes on after os.exit");
            let crossings = place.crossings();
            let _ = place.ask(crossings, Duration::ZERO);
        }
    }

    #[test]
    fn what_comes_back_by_itself_is_not_ended() {
        let place = Arc::new(Place::new(0));
        let lua = state(&place);
        // It is told to end when nothing of Lua is left to be done.
        let brought = place.during(|| {
            let sum: i64 = lua.load("return 1 + 1").eval().unwrap();
            place.order_end(place.crossings(), 3);
            sum
        });
        assert_eq!(brought, Ok(2));
        // And when there is something left.
        let ended = place.during(|| {
            place.order_end(place.crossings(), 3);
            lua.load("return 1 + 1").set_name("@s.lua").eval::<i64>()
        });
        let at = "s.lua:1".to_owned();
        assert_eq!(ended.unwrap_err(), End::Endless { at, for_s: 3 });
        // Nothing of it stays.
        let sum = place.during(|| lua.load("return 1 + 1").eval::<i64>().unwrap());
        assert_eq!(sum, Ok(2));
        place.close();
    }
}

//! Notices scripts that keep their thread: while one computes without end, or waits for something that is not the
//! server, no other client of the thread goes on.
//!
//! A client says when it enters its script and when it leaves it, by counting: two stores, and no look at the clock. A
//! thread beside the load looks now and then whether a count stays the same. What has stayed for a second is asked
//! where it is, by a hook that Lua calls with its next instruction.

use crate::client::Client;
use crate::voice::{Level, Voice};
use mlua::ffi;
use std::ffi::CStr;
use std::os::raw::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked.
const STEP: Duration = Duration::from_millis(100);

/// What stays in a script for so many looks is noticed.
const PATIENCE: u32 = 10;

/// Where scripts are that were asked: the hook cannot be told whom to tell.
static FOUND: Mutex<Option<String>> = Mutex::new(None);

/// Where a client stands. It alone writes.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Counted up on the way in and on the way out: odd means in.
    crossings: AtomicU64,
    client: AtomicUsize,
    lua: AtomicPtr<ffi::lua_State>,
}

/// Lasts while a client is in its script.
pub(crate) struct Watch(Arc<Place>);

impl Place {
    /// A client enters its script.
    pub fn enter(self: Arc<Self>, number: usize, client: Option<&Client>) -> Watch {
        if self.lua.load(Ordering::Relaxed).is_null() {
            self.client.store(number, Ordering::Relaxed);
            let lua = client.and_then(Client::raw);
            self.lua.store(lua.unwrap_or(ptr::null_mut()), Ordering::Release);
        }
        self.cross();
        Watch(self)
    }

    fn cross(&self) {
        let crossings = self.crossings.load(Ordering::Relaxed);
        self.crossings.store(crossings.wrapping_add(1), Ordering::Release);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.cross();
    }
}

/// Watches the clients of a load as long as it lasts.
pub(crate) struct Watchdog {
    places: Arc<Mutex<Vec<Weak<Place>>>>,
    ended: Arc<AtomicBool>,
}

impl Watchdog {
    pub fn new(voice: Arc<dyn Voice>) -> Self {
        let watchdog = Self {
            places: Arc::default(),
            ended: Arc::default(),
        };
        let (places, ended) = (Arc::clone(&watchdog.places), Arc::clone(&watchdog.ended));
        // Without it nobody is told, but the load goes on.
        let _ = thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watch(&places, &ended, &*voice));
        watchdog
    }

    /// The place of a new client.
    pub fn place(&self) -> Arc<Place> {
        let place = Arc::new(Place::default());
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.push(Arc::downgrade(&place));
        place
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

fn watch(places: &Mutex<Vec<Weak<Place>>>, ended: &AtomicBool, voice: &dyn Voice) {
    // The count of each place when it was looked at last, and for how many looks it has been the same.
    let mut seen: Vec<(u64, u32)> = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(STEP);
        let places = places.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.resize(places.len(), (0, 0));
        for (place, (last, looks)) in places.iter().zip(&mut seen) {
            let Some(place) = place.upgrade() else { continue };
            let crossings = place.crossings.load(Ordering::Acquire);
            if crossings % 2 == 0 || crossings != *last {
                (*last, *looks) = (crossings, 0);
                continue;
            }
            *looks += 1;
            if *looks == PATIENCE {
                let client = place.client.load(Ordering::Relaxed);
                let at = match ask(&place, crossings) {
                    Some(at) => format!("in {at}"),
                    None => "in a call that does not come back".to_owned(),
                };
                voice.say(
                    Level::Warning,
                    &format!(
                        "the script of thread {client} has not asked the server for anything for 1 s: it is {at}. \
                         Others that share its thread wait meanwhile"
                    ),
                );
            }
        }
    }
}

/// Asks a script where it is. `None`: it does not get to say so.
fn ask(place: &Place, crossings: u64) -> Option<String> {
    let lua = place.lua.load(Ordering::Acquire);
    if lua.is_null() {
        return None;
    }
    let found = || FOUND.lock().unwrap_or_else(PoisonError::into_inner).take();
    found();
    #[allow(unsafe_code, reason = "Lua can be interrupted by nothing else")]
    // SAFETY: the state lives, as its client is in it. LuaJIT allows hooks to be set while the state runs, as its own
    // program does from a signal handler; states of a load do not compile, so the next instruction calls the hook.
    unsafe {
        ffi::lua_sethook(lua, Some(tell), ffi::LUA_MASKCOUNT, 1);
    }
    let until = Instant::now() + STEP;
    while Instant::now() < until {
        if let Some(found) = found() {
            return Some(found);
        }
        if place.crossings.load(Ordering::Acquire) != crossings {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

/// The hook: notes where the script is, and takes itself away.
#[allow(unsafe_code, reason = "Lua calls it")]
unsafe extern "C-unwind" fn tell(lua: *mut ffi::lua_State, about: *mut ffi::lua_Debug) {
    // SAFETY: Lua gives its state and a record that `lua_getinfo` fills in; the source's name in that ends in a zero.
    let at = unsafe {
        ffi::lua_sethook(lua, None, 0, 0 as c_int);
        ffi::lua_getinfo(lua, c"Sl".as_ptr(), about);
        let name = CStr::from_ptr((*about).short_src.as_ptr());
        format!("{}:{}", name.to_string_lossy(), (*about).currentline)
    };
    *FOUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
}

//! `dyno run --live`: the live page, served by this dyno for as long as the campaign lasts.

use crate::failure::Failure;
use crate::say;
use dyno_serve::{Options, ServeError, Server, Stopper, USUAL_PORT};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How nice the server is to everything else on this machine; 19 is the most.
const NICENESS: i32 = 10;
/// For how long viewers are waited for at the end, until they have seen it.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server on a thread of its own.
pub struct LivePage {
    stopper: Stopper,
    thread: JoinHandle<()>,
}

impl LivePage {
    /// Serves `archive` to this machine, says where, and opens a browser if there is a display.
    pub fn open(archive: &Path) -> Result<Self, Failure> {
        let at = |port: u16| {
            Server::bind(Options {
                archive: archive.to_owned(),
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
                token: None,
            })
        };
        let server = match at(USUAL_PORT) {
            Err(ServeError::InUse(_)) => at(0)?,
            served => served?,
        };
        let url = format!("http://{}/live", server.address());
        let stopper = server.stopper();
        let thread = std::thread::Builder::new().name("live".to_owned()).spawn(move || {
            // On Linux this is of the thread alone, and of those that it starts. The load and what is measured of it
            // come first.
            let _ = rustix::process::nice(NICENESS);
            if let Err(error) = server.run() {
                say::aside(&format!("note: the live page is no longer available: {error}"));
            }
        })?;
        say::aside(&format!("Watch at {url}"));
        if ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some())
        {
            // Without a browser there is still the address.
            let _ = open::that_detached(&url);
        }
        Ok(Self { stopper, thread })
    }

    /// Ends it, when those who watch have seen the end of the campaign.
    pub fn close(self) {
        let begun = Instant::now();
        while self.stopper.viewers() > 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.stopper.stop();
        // It says itself what went wrong.
        let _ = self.thread.join();
    }
}

//! A sampler's connection to the server: opened anew when it was lost, and kept from disturbing anybody.

use crate::patience::SAMPLE;
use crate::postgres::Client;
use crate::postgres::address::ConnectionInfo;
use crate::postgres::facts::server_version;
use crate::sampler::SampleError;

/// What the samplers' connections call themselves.
pub(super) const APPLICATION_NAME: &str = "dyno sampler";

/// Never waits long for a lock, never computes long, whatever is going on in the server.
const SESSION: &str =
    "set application_name = 'dyno sampler'; set statement_timeout = '10s'; set lock_timeout = '500ms'";

/// Prepares what is to be done on a new connection, whose server has this version.
type SetUp<S> = dyn FnMut(&mut Client, u32) -> Result<S, postgres::Error> + Send;

/// A connection with what was prepared on it.
pub(super) struct Link<S> {
    info: ConnectionInfo,
    set_up: Box<SetUp<S>>,
    open: Option<(Client, S)>,
}

impl<S> Link<S> {
    /// Tries to connect at once, so that this is done when the load begins; if it fails, the first use will say so.
    /// `set_up` is told the server's version.
    pub(super) fn new(
        info: &ConnectionInfo,
        set_up: impl FnMut(&mut Client, u32) -> Result<S, postgres::Error> + Send + 'static,
    ) -> Self {
        let mut link = Self {
            info: info.clone(),
            set_up: Box::new(set_up),
            open: None,
        };
        link.open = Self::open(&link.info, link.set_up.as_mut()).ok();
        link
    }

    /// Does something on the connection, which is opened if need be.
    pub(super) fn with<R>(
        &mut self,
        work: impl FnOnce(&mut Client, &mut S) -> Result<R, postgres::Error>,
    ) -> Result<R, SampleError> {
        let (client, state) = match &mut self.open {
            Some(open) => open,
            none => none.insert(Self::open(&self.info, self.set_up.as_mut())?),
        };
        let error = match work(client, state) {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        let said = SampleError(client.explain(&error));
        // What the server refuses it may do another time; anything else is a connection that cannot be trusted any
        // more.
        if error.as_db_error().is_none() || client.is_closed() {
            self.open = None;
        }
        Err(said)
    }

    fn open(info: &ConnectionInfo, set_up: &mut SetUp<S>) -> Result<(Client, S), SampleError> {
        let client = info.connect_with_patience(SAMPLE);
        let mut client = client.map_err(|error| SampleError(error.to_string()))?;
        let state = quiet(&mut client).and_then(|version| set_up(&mut client, version));
        let state = state.map_err(|error| SampleError(client.explain(&error)))?;
        Ok((client, state))
    }
}

/// Makes a session fit for sampling, and tells the server's version.
pub(super) fn quiet(client: &mut Client) -> Result<u32, postgres::Error> {
    client.batch_execute(SESSION)?;
    let version = server_version(client)?;
    if version >= 110_000 {
        // A wide query of a view with a wrong estimate may look worth compiling.
        client.batch_execute("set jit = off")?;
    }
    Ok(version)
}

//! `dyno serve`: the archive in a browser, until somebody ends it.

use crate::cli::ServeArguments;
use crate::failure::Failure;
use crate::say;
use dyno_engine::heeded;
use dyno_serve::{Options, Server, Token};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// `dyno serve`.
pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let archive = &arguments.archive.archive;
    let server = Server::bind(Options {
        archive: archive.clone(),
        listen: arguments.listen,
        token: arguments.token.clone().map(Token::new).transpose()?,
    })?;
    let stopper = server.stopper();
    let mut signals = Signals::new(heeded([SIGINT, SIGTERM, SIGHUP]))?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            stopper.stop();
        }
    })?;
    let key = arguments.token.as_ref().map_or("", |_| " (with ?token=, once)");
    say::aside(&format!(
        "{} is at http://{}/{key}; Ctrl-C ends it.",
        archive.display(),
        server.address()
    ));
    Ok(server.run()?)
}

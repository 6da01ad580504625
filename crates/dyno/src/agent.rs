//! `dyno agent`: a part of a load for another dyno, over the standard input and output, or a connection that it makes.

use crate::cli::AgentArguments;
use crate::failure::Failure;
use dyno_fleet::agent::serve;
use dyno_fleet::dial::{INVITATION, Invitation, NoInvitation};
use dyno_target::host::be_called_agent;
use std::fs::File;
use std::io::{Read, stdin, stdout};
use std::os::fd::AsFd;

/// Serves until the other dyno has no more to do, or is gone.
pub fn agent(arguments: &AgentArguments) -> Result<(), Failure> {
    be_called_agent();
    // Without what the standard library puts between: frames are written whole.
    let mut input = File::from(stdin().as_fd().try_clone_to_owned()?);
    // Nothing that is left to do is worth anything without whom it is done for.
    let abandon = || std::process::exit(1);
    if !arguments.dial_in {
        let output = File::from(stdout().as_fd().try_clone_to_owned()?);
        return Ok(serve(input, output, abandon)?);
    }
    let invitation: Invitation = std::env::var(INVITATION).map_err(|_| NoInvitation)?.parse()?;
    let channel = invitation.accept()?;
    // Who has started it holds its standard input open as long as it is to run.
    std::thread::Builder::new().name("starter".to_owned()).spawn(move || {
        while matches!(input.read(&mut [0; 64]), Ok(1..)) {}
        abandon();
    })?;
    Ok(serve(channel.output, channel.input, abandon)?)
}

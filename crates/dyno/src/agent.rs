//! `dyno agent`: a part of a load for another dyno, over the standard input and output.

use crate::failure::Failure;
use dyno_fleet::agent::serve;
use std::fs::File;
use std::io::{stdin, stdout};
use std::os::fd::AsFd;

/// Serves until the other dyno has no more to do, or is gone.
pub fn agent() -> Result<(), Failure> {
    // Without what the standard library puts between: frames are written whole.
    let input = File::from(stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(stdout().as_fd().try_clone_to_owned()?);
    // Nothing that is left to do is worth anything without whom it is done for.
    let abandon = || std::process::exit(1);
    Ok(serve(input, output, abandon)?)
}

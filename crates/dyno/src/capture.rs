//! `dyno capture`: what a server executes, as an experiment file to begin with.

use crate::cli::CaptureArguments;
use crate::failure::Failure;
use crate::{interrupt, say, written};
use dyno_engine::Stop;
use dyno_lab::run::Emergency;
use dyno_target::target::without_secrets;

/// `dyno capture`.
pub fn capture(arguments: &CaptureArguments) -> Result<(), Failure> {
    let output = &arguments.output;
    if output.is_file() {
        return Err(format!(
            "{} is there already; give another --output, or remove it",
            output.display()
        )
        .into());
    }
    let environment = |name: &str| std::env::var(name).ok();
    let stop = Stop::new();
    interrupt::handle_unmeasured(&stop, &Emergency::default())?;
    say::aside(&format!(
        "Watching what {} executes for {}; Ctrl-C ends it earlier",
        without_secrets(&arguments.target),
        dyno_report::duration(arguments.lasts)
    ));
    let most = usize::from(arguments.most);
    let captured = dyno_lab::capture::capture(&arguments.target, arguments.lasts, most, &environment, &stop)?;
    written::write(output, &captured.text)?;
    if captured.uncounted > 0 {
        say::aside(&format!(
            "{} executions are missing, those of all databases together: they were of statements that clients had \
             prepared, which this server does not count",
            captured.uncounted
        ));
    }
    let left_out = match captured.left_out {
        0 => String::new(),
        number => format!(" ({number} others are left out)"),
    };
    say::result(&format!(
        "Wrote {}: {} statements{left_out}, {:.1} executions per second. Look through it, then: dyno check {}",
        output.display(),
        captured.statements,
        captured.per_s,
        output.display()
    ))
}

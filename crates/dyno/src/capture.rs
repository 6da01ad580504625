//! `dyno capture`: what a server executes, as an experiment file to begin with.

use crate::cli::CaptureArguments;
use crate::failure::Failure;
use crate::{interrupt, new, say, written};
use dyno_archive::figures::counted;
use dyno_engine::Stop;
use dyno_lab::run::Emergency;
use dyno_target::target::without_secrets;

/// `dyno capture`.
pub fn capture(arguments: &CaptureArguments) -> Result<(), Failure> {
    let output = &arguments.output;
    // Not only after all is watched.
    if output.symlink_metadata().is_ok() {
        return Err(format!(
            "{} is there already; give another --output, or remove it",
            output.display()
        )
        .into());
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(format!(
            "there is no folder {}; make it, or give another --output",
            folder.display()
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
    let beside = new::schema_beside(output)?;
    let left_out = match captured.left_out {
        0 => String::new(),
        number => format!(" ({number} others are left out)"),
    };
    let changes = match captured.changes {
        0 => String::new(),
        number => format!(
            "\n{number} of them change data: measure with them where that does no harm, not where they are from."
        ),
    };
    let file = output.display();
    say::result(&format!(
        "Wrote {file}{beside}: {}{left_out}, {:.1} executions per second.{changes}\nLook through it, then: \
         dyno check {file} --target URL",
        counted(captured.statements as u64, "statement"),
        captured.per_s,
    ))
}

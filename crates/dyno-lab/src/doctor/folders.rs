//! dyno's own folders, and what it knows of this machine.

use super::Request;
use dyno_archive::check_writable;
use dyno_ceiling::{Store, this_machine};
use dyno_record::{Finding, Mark, Topic};
use dyno_target::embedded::home_folder;
use dyno_target::host::free_bytes;
use dyno_target::target::room_for_data;
use nix::unistd::{AccessFlags, access};
use std::path::Path;

/// With less room than this the archive soon takes no more runs.
const LITTLE: u64 = 1_000_000_000;

/// Looks at them. A server that is there already (`external`) keeps its data elsewhere.
pub(super) fn look(request: &Request<'_>, external: bool) -> Vec<Finding> {
    let needed = if external { Mark::Note } else { Mark::Problem };
    let mut findings = vec![archive(request.archive)];
    match home_folder(request.environment) {
        Ok(home) => {
            findings.push(home_of(&home, external).at_most(needed));
            findings.push(ceiling(&home));
        }
        Err(error) => findings.push(Finding::problem(Topic::Dyno, "home", error.to_string()).at_most(needed)),
    }
    findings
}

fn archive(folder: &Path) -> Finding {
    const SUBJECT: &str = "archive";
    if let Err(error) = check_writable(folder) {
        return Finding::problem(Topic::Dyno, SUBJECT, error.to_string()).remedy("name another folder with --archive");
    }
    let place = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let found = format!("runs are kept in {}", place.display());
    match free_bytes(existing(folder)) {
        Ok(bytes @ ..LITTLE) => {
            let found = format!("{found}, where only {:.2} GB are free", bytes as f64 / 1e9);
            Finding::note(Topic::Dyno, SUBJECT, found).remedy("free some space, or name another folder with --archive")
        }
        Ok(bytes) => Finding::ok(
            Topic::Dyno,
            SUBJECT,
            format!("{found}; {:.1} GB are free", bytes as f64 / 1e9),
        ),
        Err(error) => Finding::note(Topic::Dyno, SUBJECT, error.to_string()),
    }
}

fn home_of(folder: &Path, external: bool) -> Finding {
    const SUBJECT: &str = "home";
    let above = existing(folder);
    let is_writable = above.is_dir() && access(above, AccessFlags::W_OK | AccessFlags::X_OK).is_ok();
    if !is_writable {
        let found = format!(
            "{} cannot be written: private servers, loaded data and what is to be put back on others cannot be kept",
            folder.display()
        );
        return Finding::problem(Topic::Dyno, SUBJECT, found).remedy("name another folder in DYNO_HOME");
    }
    match free_bytes(above) {
        Ok(_) if external => Finding::ok(Topic::Dyno, SUBJECT, folder.display().to_string()),
        Ok(bytes) => room_for_data(Topic::Dyno, SUBJECT, folder, bytes),
        Err(error) => Finding::note(Topic::Dyno, SUBJECT, error.to_string()),
    }
}

/// The nearest folder above, or this one, that is there.
fn existing(folder: &Path) -> &Path {
    let found = folder.ancestors().find(|path| path.exists());
    found.unwrap_or(Path::new("."))
}

fn ceiling(home: &Path) -> Finding {
    const SUBJECT: &str = "ceiling";
    match Store::in_home(home).read(&this_machine()) {
        Ok(Some(ceiling)) => {
            let most = ceiling.points.iter().map(|point| point.tps).fold(0.0, f64::max);
            let found = format!("measured: at most {most:.0} transactions/s, against a server that answers at once");
            Finding::ok(Topic::Dyno, SUBJECT, found)
        }
        Ok(None) => {
            let found = "not measured on this machine: a run that is limited by dyno itself cannot say so";
            Finding::note(Topic::Dyno, SUBJECT, found)
                .remedy("measure it")
                .typing(["dyno ceiling"])
        }
        Err(error) => Finding::note(Topic::Dyno, SUBJECT, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_not_there_are_made_in_one_that_is() {
        let desk = tempfile::tempdir().unwrap();
        let below = desk.path().join("a/b");
        assert_eq!(existing(&below), desk.path());
        assert_eq!(archive(&below).mark.min(Mark::Note), archive(&below).mark);
        let file = desk.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(home_of(&file.join("home"), false).mark, Mark::Problem);
        assert_eq!(archive(&file.join("archive")).mark, Mark::Problem);
        assert_eq!(ceiling(&below).mark, Mark::Note);
        // Neither was made.
        assert!(!below.exists());
    }
}

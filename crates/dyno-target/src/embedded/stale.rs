//! A server that an earlier process left on a data folder: found by its pid file, known by its program and its
//! working folder, stopped.

use super::product::Product;
use super::{EmbeddedError, Progress};
use rustix::process::{Pid, Signal};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a shutdown in good order may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a signal is sent again: a server that is still starting may not heed it.
const AGAIN: Duration = Duration::from_secs(1);

/// How long the children of a server may outlive it before they are killed.
const CHILDREN_LIMIT: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(20);

/// Whose process an id is.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    /// A server on this data folder or one of its children: all of them work in it.
    Ours,
    /// A process that has nothing to do with it, or somebody's who looks at the data: a shell, a pager.
    Other,
    /// None, or one that we may not look at and that so is not ours.
    Nobody,
}

fn owner(product: &Product, pid: Pid, data: &Path) -> Owner {
    let link = |name: &str| fs::read_link(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
    match (link("cwd"), link("exe")) {
        (Ok(folder), Ok(program)) if folder == data && is_server(product, &program) => Owner::Ours,
        (Ok(_), Ok(_)) => Owner::Other,
        _ => Owner::Nobody,
    }
}

/// Whether a process that executes this file is a server's. Which folder the file is in does not matter: the same
/// release may have been installed elsewhere, or anew, and then Linux writes " (deleted)" after the name.
fn is_server(product: &Product, program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(" (deleted)").unwrap_or(&name) == product.server
}

/// Stops the server of a stale pid file. The caller holds the cluster's lock. A pid file without a process is
/// left to the server that starts next, which knows what to do with it.
pub(crate) fn stop(product: &Product, data: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), EmbeddedError> {
    let file = data.join(product.pid_file);
    let Some(pid) = read_pid(&file)? else {
        return Ok(());
    };
    match owner(product, pid, data) {
        Owner::Nobody => {
            await_children(product, data);
            return Ok(());
        }
        Owner::Other => {
            // The id was given to another process since (after a restart of the machine or container). PostgreSQL
            // cannot tell and would refuse to start.
            return fs::remove_file(&file).map_err(EmbeddedError::file("remove", &file));
        }
        Owner::Ours => {}
    }
    let number = pid.as_raw_nonzero().get().cast_unsigned();
    progress(Progress::StoppingStale { pid: number });
    for (signal, limit) in product.measures(PATIENCE) {
        let started = Instant::now();
        let mut sent = 0;
        while started.elapsed() < limit {
            if started.elapsed() >= AGAIN * sent {
                // If the signal cannot be sent the process is still there at the end of the wait, and that is told.
                let _ = rustix::process::kill_process(pid, signal);
                sent += 1;
            }
            if owner(product, pid, data) != Owner::Ours {
                await_children(product, data);
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
    }
    Err(EmbeddedError::Stale {
        pid: number,
        data: data.to_owned(),
    })
}

/// Waits until a server that has ended has no children left on its data folder. A server that was killed leaves its
/// children to notice, which they do within moments; one that does not is killed.
pub(crate) fn await_children(product: &Product, data: &Path) {
    let started = Instant::now();
    loop {
        let children = processes_in(product, data);
        let elapsed = started.elapsed();
        if children.is_empty() || elapsed > 2 * CHILDREN_LIMIT {
            return;
        }
        if elapsed > CHILDREN_LIMIT {
            for pid in children {
                // It may be ending this instant, which is as good.
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(POLL);
    }
}

/// Has all processes of a server go on that somebody has stopped: what is stopped cannot end in good order.
pub(crate) fn wake(product: &Product, data: &Path) {
    for pid in processes_in(product, data) {
        // It may be ending this instant, which is as good.
        let _ = rustix::process::kill_process(pid, Signal::CONT);
    }
}

/// All processes of a server on this data folder.
pub(super) fn processes_in(product: &Product, data: &Path) -> Vec<Pid> {
    let Ok(items) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    items
        .filter_map(|item| Pid::from_raw(item.ok()?.file_name().to_str()?.parse().ok()?))
        .filter(|pid| owner(product, *pid, data) == Owner::Ours)
        .collect()
}

/// The process id in a pid file's first line, if there is one.
fn read_pid(file: &Path) -> Result<Option<Pid>, EmbeddedError> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(EmbeddedError::file("read", file)(error)),
    };
    let number = text.lines().next().and_then(|line| line.trim().parse::<i32>().ok());
    Ok(number.filter(|number| *number > 0).and_then(Pid::from_raw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::embedded::POSTGRESQL;
    use std::process::{Child, Command};

    /// A process that sleeps in a folder, by a program called like this.
    fn sleeper(program: &str, folder: &Path) -> Child {
        let found = Command::new("sh").args(["-c", "command -v sleep"]).output().unwrap();
        let sleep = fs::canonicalize(String::from_utf8(found.stdout).unwrap().trim()).unwrap();
        let programs = tempfile::tempdir().unwrap();
        let program = programs.path().canonicalize().unwrap().join(program);
        fs::copy(sleep, &program).unwrap();
        // It heeds signals though the tests may run as a background job, and goes by its own name, for where one
        // program is many.
        let mut command = Command::new("env");
        let shell = ["--default-signal=INT,QUIT", "bash", "-c", "exec -a sleep \"$0\" 1000"];
        let process = command.args(shell).arg(&program).current_dir(folder).spawn().unwrap();
        while fs::read_link(format!("/proc/{}/exe", process.id())).ok().as_ref() != Some(&program) {
            std::thread::yield_now();
        }
        process
    }

    fn end(mut process: Child) {
        process.kill().unwrap();
        process.wait().unwrap();
    }

    #[test]
    fn ends_children_that_stay() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().canonicalize().unwrap();
        let mut child = sleeper(POSTGRESQL.server, &data);
        await_children(&POSTGRESQL, &data);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn neither_waits_for_nor_ends_a_shell_in_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().canonicalize().unwrap();
        let mut shell = sleeper("sleep", &data);
        assert_eq!(processes_in(&POSTGRESQL, &data), []);
        await_children(&POSTGRESQL, &data);
        assert_eq!(shell.try_wait().unwrap(), None);
        end(shell);
    }

    #[test]
    fn knows_the_program_of_a_server() {
        assert!(is_server(&POSTGRESQL, Path::new("/opt/18/bin/postgres")));
        assert!(is_server(&POSTGRESQL, Path::new("/opt/18/bin/postgres (deleted)")));
        assert!(!is_server(&POSTGRESQL, Path::new("/usr/bin/less")));
        assert!(!is_server(&POSTGRESQL, Path::new("/opt/postgres/dyno")));
    }

    #[test]
    fn stops_ours_and_leaves_others() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().canonicalize().unwrap();
        let mut told = Vec::new();
        stop(&POSTGRESQL, &data, &mut |step| told.push(step)).unwrap();

        for mut other in [sleeper(POSTGRESQL.server, Path::new("/")), sleeper("sleep", &data)] {
            fs::write(data.join(POSTGRESQL.pid_file), format!("{}\n", other.id())).unwrap();
            stop(&POSTGRESQL, &data, &mut |step| told.push(step)).unwrap();
            assert!(!data.join(POSTGRESQL.pid_file).exists());
            assert_eq!(other.try_wait().unwrap(), None);
            end(other);
        }
        assert_eq!(told, vec![]);

        let mut ours = sleeper(POSTGRESQL.server, &data);
        fs::write(data.join(POSTGRESQL.pid_file), format!("{}\n", ours.id())).unwrap();
        stop(&POSTGRESQL, &data, &mut |step| told.push(step)).unwrap();
        assert_eq!(told, vec![Progress::StoppingStale { pid: ours.id() }]);
        assert!(!ours.wait().unwrap().success());
    }
}

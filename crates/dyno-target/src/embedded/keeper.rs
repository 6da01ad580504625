//! A child process that ends when we do, however we end.
//!
//! Linux can send a child a signal when its parent goes (`PR_SET_PDEATHSIG`), but "parent" there is the *thread*
//! that started it. So each process gets a thread of its own, which starts it and stays until it has ended.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

/// Has the child of `command` receive a signal when the thread that spawns it ends: the one that shuts its server down.
#[allow(unsafe_code)]
pub(crate) fn end_with_us(command: &mut Command, signal: Signal) {
    let parent = Pid::from_raw(std::process::id().cast_signed());
    let bind = move || {
        #[cfg(any(target_os = "linux", target_os = "freebsd"))]
        rustix::process::set_parent_process_death_signal(Some(signal))?;
        // macOS has no such thing: there a server may outlive us, until the next dyno finds it.
        #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
        let _ = signal;
        // The parent may have gone before the signal was asked for.
        if rustix::process::getppid() == parent {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec the closure makes two system calls (prctl, getppid) and neither allocates nor
    // locks. It runs after the change of user, which would clear the setting.
    unsafe { command.pre_exec(bind) };
}

/// What the keeper's thread and everybody else know about the process.
#[derive(Debug)]
struct Shared {
    pid: Pid,
    status: Mutex<Option<ExitStatus>>,
    ended: Condvar,
}

impl Shared {
    fn status(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A kept process; clones speak of the same one.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    shared: Arc<Shared>,
}

impl Process {
    /// Starts a process and its keeper. If we go, the process is sent `signal`.
    pub(crate) fn spawn(mut command: Command, signal: Signal) -> io::Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(1);
        std::thread::Builder::new()
            .name("server-keeper".to_owned())
            .spawn(move || {
                end_with_us(&mut command, signal);
                let mut child = match command.spawn() {
                    Ok(child) => child,
                    Err(error) => {
                        // The receiver waits below.
                        let _ = sender.send(Err(error));
                        return;
                    }
                };
                let Some(pid) = Pid::from_raw(child.id().cast_signed()) else {
                    return;
                };
                let shared = Arc::new(Shared {
                    pid,
                    status: Mutex::new(None),
                    ended: Condvar::new(),
                });
                let _ = sender.send(Ok(Arc::clone(&shared)));
                // Waits without reaping, so that the id stays taken while somebody may still send a signal to it.
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
                let mut status = shared.status();
                *status = Some(child.wait().unwrap_or_default());
                shared.ended.notify_all();
            })?;
        let shared = receiver.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { shared })
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.shared.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// How the process ended, if it has.
    pub(crate) fn exit_status(&self) -> Option<ExitStatus> {
        *self.shared.status()
    }

    /// Sends a signal, unless the process has ended. One that was stopped goes on, as it would not hear of it else.
    pub(crate) fn signal(&self, signal: Signal) {
        let status = self.shared.status();
        if status.is_none() {
            for signal in [signal, Signal::CONT] {
                // It may be ending this instant, which is as good.
                let _ = rustix::process::kill_process(self.shared.pid, signal);
            }
        }
    }

    /// Sends one signal after the other until the process has ended.
    pub(crate) fn end(&self, measures: impl Iterator<Item = (Signal, Duration)>) {
        for (signal, limit) in measures {
            self.signal(signal);
            if self.wait(limit).is_some() {
                return;
            }
        }
    }

    /// Waits until the process has ended or the time is over.
    pub(crate) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let (status, _) = self
            .shared
            .ended
            .wait_timeout_while(self.shared.status(), limit, |status| status.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        *status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_and_reaps() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let process = Process::spawn(command, Signal::INT).unwrap();
        assert_eq!(process.exit_status(), None);
        process.signal(Signal::KILL);
        assert!(process.wait(Duration::from_secs(60)).is_some());
        assert!(process.exit_status().is_some());
        process.signal(Signal::KILL);
        assert!(!std::path::Path::new(&format!("/proc/{}", process.pid())).exists());
    }

    #[test]
    fn one_that_was_stopped_hears_of_its_end() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let process = Process::spawn(command, Signal::INT).unwrap();
        rustix::process::kill_process(process.shared.pid, Signal::STOP).unwrap();
        process.signal(Signal::TERM);
        assert!(process.wait(Duration::from_secs(60)).is_some());
    }

    #[test]
    fn reports_a_missing_program() {
        assert!(Process::spawn(Command::new("/no/such/program"), Signal::INT).is_err());
    }
}

//! Clients of programs that look after themselves: what they do before the load and after it, and their connections.
//!
//! The first connection of a client has the client's number, so that nothing is to be worked out for programs whose
//! clients have one each; the second ones come behind all of these, and so on.

use super::failure::lost_error;
use super::state::{Loss, Waiting};
use super::{Clients, LONGEST_WAIT_NS};
use crate::backend::{Backend, Driver, Wait};
use crate::outcome::Ending;
use crate::program::{MOST_CONNECTIONS, Misuse, ProgramError, Resume, Scripted};
use std::cmp::Reverse;
use std::io;
use std::time::Duration;

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// The number of the connection that a client uses, among those of the thread.
    #[inline]
    pub(super) fn line(&self, index: usize) -> usize {
        match P::INDEPENDENT {
            true => self.line_of(index, self.clients[index].rare.connection),
            false => index,
        }
    }

    fn line_of(&self, index: usize, connection: usize) -> usize {
        connection * self.clients.len() + index
    }

    /// Whose connection this is.
    #[inline]
    pub(super) fn owner_of(&self, line: usize) -> usize {
        match P::INDEPENDENT {
            true => line % self.clients.len(),
            false => line,
        }
    }

    /// Lets all clients do what comes before their first transaction, and waits until they have.
    pub(super) fn enter_all(&mut self) {
        self.each(|clients, index, now_ns| clients.step_beside(index, Resume::Enter, now_ns));
    }

    /// Lets those that have ended well do what comes after their last transaction.
    pub(super) fn leave_all(&mut self) {
        self.each(|clients, index, now_ns| {
            match clients.clients[index].waiting {
                Waiting::Turn | Waiting::Finished => clients.step_beside(index, Resume::Leave, now_ns),
                // It has been given up, and is not in a state to do anything.
                _ => clients.ready += 1,
            }
        });
    }

    /// Lets a client do what is no transaction.
    fn step_beside(&mut self, index: usize, resume: Resume<'_>, now_ns: u64) {
        self.clients[index].rare.is_beside = true;
        self.step(index, resume, now_ns);
    }

    /// Lets all clients do something up to [`Action::Ready`](crate::Action::Ready), or until somebody asks to stop.
    fn each(&mut self, begin: impl Fn(&mut Self, usize, u64)) {
        self.ready = 0;
        // What was given up before says nothing about this.
        self.drain_until_ns = u64::MAX;
        let abandoned = self.abandoned;
        for index in 0..self.clients.len() {
            let now_ns = self.clock.now_ns();
            begin(self, index, now_ns);
            if self.ending.is_some() {
                return;
            }
            // The others are no better, and each of them would take as long.
            if self.abandoned > abandoned {
                return;
            }
            // Not all of them at once: the first are to be answered while the last begin.
            self.send();
        }
        while self.ready < self.clients.len() && self.ending.is_none() {
            if self.stop.requested() {
                return self.give_up(Ending::Stopped);
            }
            if self.is_given_up() {
                return;
            }
            self.connect_due();
            self.wake_due(self.clock.now_ns());
            self.send();
            let wait = self.brief_wait();
            if let Err(error) = B::poll(self, wait) {
                self.give_up(Ending::System(error));
            }
            self.send();
        }
    }

    /// How long the loop may wait while no load is on.
    fn brief_wait(&self) -> Wait {
        let wake_ns = self.sleeping.peek().map_or(u64::MAX, |Reverse((wake_ns, _))| *wake_ns);
        let due_ns = if self.connecting.is_empty() { wake_ns } else { 0 };
        Wait {
            due: Duration::from_nanos(due_ns.saturating_sub(self.clock.now_ns())),
            duty: Duration::from_nanos(LONGEST_WAIT_NS),
        }
    }

    /// A client has done what comes before or after its transactions.
    pub(super) fn ready(&mut self, index: usize) {
        let client = &mut self.clients[index];
        client.waiting = Waiting::Turn;
        client.rare.is_beside = false;
        self.ready += 1;
    }

    /// A client was made to come back, and has nothing more to do. That comes of the end of the load, which this thread
    /// may not have seen yet: it was held up. So nothing begins from now on, and what is under way has a short grace.
    /// Otherwise each of its other clients would be made to come back in its turn, which takes as long as the first.
    #[cold]
    pub(super) fn abandon(&mut self, index: usize) {
        let now_ns = self.clock.now_ns();
        self.roll(now_ns);
        if !self.over {
            self.end_early(now_ns);
        }
        self.drain_from(now_ns, true);
        let client = &mut self.clients[index];
        client.waiting = Waiting::Never;
        self.summary.unfinished += u64::from(!client.rare.is_beside);
        self.working = self.working.saturating_sub(1);
        self.abandoned += 1;
        self.ready += 1;
    }

    /// Whether a client was made to come back, and the grace of the others is over: they stay where they are. Asked
    /// between the replies of one look at the connections, too, which may be those of all clients.
    pub(super) fn is_given_up(&self) -> bool {
        self.abandoned > 0 && self.clock.now_ns() >= self.drain_until_ns
    }

    /// A client wants a connection.
    #[cold]
    pub(super) fn join(&mut self, index: usize, connection: usize) {
        if connection >= MOST_CONNECTIONS {
            return self.broken(index, ProgramError::new(Misuse::Connection(connection)));
        }
        let client = &mut self.clients[index];
        client.rare.joining = connection;
        client.waiting = Waiting::Joining;
        self.connecting.push_back(index);
    }

    /// A client takes leave of the server on one of its connections.
    #[cold]
    pub(super) fn leave(&mut self, index: usize, connection: usize) {
        let line = self.line_of(index, connection);
        self.backend.hang_up(line);
    }

    /// A connection is gone. A client that does not use it now will be told when it does.
    #[cold]
    pub(super) fn miss(&mut self, line: usize, cause: &io::Error) {
        let index = self.owner_of(line);
        let asks = matches!(self.clients[index].waiting, Waiting::Reply(_) | Waiting::Definition);
        if !asks || self.line(index) != line {
            return;
        }
        // The server's last words, if any, say more than the closed socket.
        let error = self.backend.error(line).filter(|error| error.fatal).cloned();
        let client = &mut self.clients[index];
        client.rare.loss = Some(Loss {
            error,
            cause: cause.to_string(),
        });
        client.waiting = Waiting::Missing;
        // It is told in its turn: what it does next is not to mix with what is being sent.
        self.connecting.push_back(index);
    }

    /// Gives a client the connection that it waits for, or tells it that the one it uses is gone.
    #[cold]
    pub(super) fn serve(&mut self, index: usize) {
        if self.is_given_up() {
            return;
        }
        if let Some(Loss { error, cause }) = self.clients[index].rare.loss.take() {
            let error = lost_error(error, &cause);
            let now_ns = self.clock.now_ns();
            self.step(index, Resume::Failed(&error), now_ns);
            return self.send();
        }
        let line = self.line_of(index, self.clients[index].rare.joining);
        // Connecting blocks: what the others have to say is not to wait for it.
        self.backend.flush();
        let begin_ns = self.clock.now_ns();
        let connected = self.connect(index, line, u64::MAX);
        let now_ns = self.clock.now_ns();
        self.summary.connection_time_ns += now_ns - begin_ns;
        self.roll(now_ns);
        match connected {
            Ok(()) => self.step(index, Resume::Done, now_ns),
            Err(error) => self.step(index, Resume::Failed(&error.into_server_error()), now_ns),
        }
        self.send();
    }
}

//! What clients do, told step by step to who asked for it ([`crate::Workload::trace`]), in the order in which
//! pgbench tells it.
//!
//! A statement that the server is to know first is sent together with what makes it known, unlike in pgbench. It is
//! told in pgbench's order all the same: what was sent second when the server has accepted the first.

use super::Clients;
use super::state::{Asked, Waiting};
use crate::backend::{Backend, Driver};
use crate::client_event::{ClientEvent, Trace};
use crate::program::{Action, ProgramError, Scripted};
use dyno_wire::{Preparation, Reply};

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// Tells what a client does.
    #[cold]
    pub(super) fn trace(&self, index: usize, trace: Trace) {
        self.event_and_wait(ClientEvent::Traced {
            workload: self.number,
            client: self.clients[index].rare.number,
            trace,
        });
    }

    /// A client has decided on its script.
    #[cold]
    pub(super) fn trace_script(&self, index: usize) {
        let script = self.workload.program.script(&self.clients[index].program);
        self.trace(index, Trace::Script(script));
    }

    /// A client is about to do this, or has failed to.
    #[cold]
    pub(super) fn trace_action(&self, index: usize, action: &Result<Action, ProgramError>) {
        let client = &self.clients[index];
        let program = &self.workload.program;
        match action {
            Ok(Action::Execute { statement, .. }) if client.piping => {
                self.trace_sending(index, Asked::new(*statement, false, false));
            }
            Ok(Action::Execute { statement, .. }) if !self.backend.knows(index, *statement) => {
                self.trace(index, Trace::Preparing(*statement));
            }
            Ok(Action::Execute { statement, .. }) => self.trace_executing(index, Asked::new(*statement, false, false)),
            Ok(Action::Query { statement, .. }) => self.trace_executing(index, Asked::new(*statement, true, false)),
            Ok(Action::Prepare { statement, .. }) => self.trace(index, Trace::Preparing(*statement)),
            Ok(Action::End | Action::Fail) => {}
            Ok(_) | Err(_) => self.trace(
                index,
                Trace::Meta {
                    script: program.script(&client.program),
                    command: program.command(&client.program),
                },
            ),
        }
        if let Ok(Action::EndPipeline) = action {
            self.trace(index, Trace::Receiving);
        }
    }

    /// A client has used this output of a command of the operating system.
    #[cold]
    pub(super) fn trace_output(&self, index: usize, output: &[u8]) {
        let client = &self.clients[index];
        let program = &self.workload.program;
        self.trace(
            index,
            Trace::ShellOutput {
                script: program.script(&client.program),
                command: program.command(&client.program),
                output: dyno_text::decode(output).into_owned(),
            },
        );
    }

    /// A client has got a reply.
    #[cold]
    pub(super) fn trace_reply(&self, index: usize, reply: Reply) {
        let client = &self.clients[index];
        match client.waiting {
            Waiting::Reply(asked) => {
                // What was refused is tried again, and told then.
                match reply.preparation {
                    Preparation::Refused => return,
                    Preparation::None => {}
                    Preparation::Accepted => self.trace_executing(index, asked),
                }
                self.trace(index, Trace::Receiving);
            }
            Waiting::Rollback => self.trace(index, Trace::Receiving),
            Waiting::Pipeline => {
                // Each result by itself, then the end of the part; after an error it is not looked for.
                for _ in 0..reply.completed + 1 {
                    self.trace(index, Trace::Receiving);
                }
                if !reply.failed && client.rare.failure.is_none() {
                    self.trace(index, Trace::PipelineEnding(client.rare.outstanding));
                }
            }
            _ => {}
        }
    }

    /// A client sends a statement and then waits for its reply.
    pub(super) fn trace_executing(&self, index: usize, asked: Asked) {
        self.trace_sending(index, asked);
        self.trace(index, Trace::Receiving);
    }

    fn trace_sending(&self, index: usize, asked: Asked) {
        let statement = asked.statement();
        let known = !asked.as_text && !self.workload.driver.sends_text(statement);
        self.trace(
            index,
            if known {
                Trace::SendingPrepared(statement)
            } else {
                Trace::Sending(self.text(index, statement))
            },
        );
    }
}

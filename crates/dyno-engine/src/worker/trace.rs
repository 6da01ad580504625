//! What clients do, told step by step to who asked for it ([`crate::Workload::trace`]), in the order in which pgbench tells it.
//!
//! A statement that the server is to know first is sent together with what makes it known, unlike in pgbench. It is told in pgbench's order all the
//! same: what was sent second when the server has accepted the first.

use super::Clients;
use super::client::Waiting;
use crate::program::{Action, Program, ProgramError};
use crate::remark::{Remark, Trace};
use dyno_wire::{Protocol, Reply, Session};

impl<S: Session, P: Program> Clients<'_, S, P> {
    /// Tells what a client does.
    #[cold]
    pub(super) fn trace(&self, index: usize, trace: Trace) {
        self.remark_and_wait(Remark::Traced {
            workload: self.number,
            client: self.clients[index].number,
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
            Ok(Action::Execute(statement) | Action::Capture(statement)) => {
                if client.piping {
                    self.trace_sending(index, *statement);
                } else if client.prepared[*statement] {
                    self.trace_executing(index, *statement);
                } else {
                    self.trace(index, Trace::Preparing(*statement));
                }
            }
            Ok(Action::End) => {}
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
    pub(super) fn trace_shell(&self, index: usize, output: &[u8]) {
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
            Waiting::Reply(statement) | Waiting::Results(statement) => {
                // What was refused is tried again, and told then.
                if client.introduced && reply.failed && reply.accepted == 0 {
                    return;
                }
                if client.introduced {
                    self.trace_executing(index, statement);
                }
                self.trace(index, Trace::Receiving);
            }
            Waiting::Rollback => self.trace(index, Trace::Receiving),
            Waiting::Pipeline => {
                // Each result by itself, then the end of the part; after an error it is not looked for.
                for _ in 0..reply.completed + 1 {
                    self.trace(index, Trace::Receiving);
                }
                if !reply.failed && client.failure.is_none() {
                    self.trace(index, Trace::PipelineEnding(client.outstanding));
                }
            }
            _ => {}
        }
    }

    /// A client sends a statement and then waits for its reply.
    pub(super) fn trace_executing(&self, index: usize, statement: usize) {
        self.trace_sending(index, statement);
        self.trace(index, Trace::Receiving);
    }

    fn trace_sending(&self, index: usize, statement: usize) {
        let program = &self.workload.program;
        let trace = match self.workload.protocol {
            Protocol::Prepared => Trace::SendingPrepared(statement),
            Protocol::Extended => Trace::Sending(program.parameterized(statement).to_owned()),
            Protocol::Simple => {
                let mut text = Vec::new();
                program.write_text(&self.clients[index].program, statement, &mut text);
                Trace::Sending(dyno_text::decode(&text).into_owned())
            }
        };
        self.trace(index, trace);
    }
}

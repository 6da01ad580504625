//! A client's place in its script, and how it goes on from there.

use std::time::Duration;

use crate::command::{Command, Condition};
use crate::diagnostic::EvaluationError;
use crate::fault::Fault;
use crate::random::Random;
use crate::script::Script;
use crate::variables::Variables;

/// A client's place in its script. The default is the script's begin; a transaction that is tried again starts from
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    next: u32,
    command: u32,
    /// Whether all conditions so far of the `\if` in question were false, so that the `\elif` that comes next is
    /// looked at.
    undecided: bool,
    pipeline: bool,
}

impl Cursor {
    /// The command that was executed last, as index into [`Script::commands`].
    pub fn command(&self) -> usize {
        self.command as usize
    }

    #[inline]
    fn stand_at(&mut self, index: u32) {
        self.command = index;
        self.next = index + 1;
    }

    /// Whether the client is between `\startpipeline` and `\endpipeline`.
    pub fn in_pipeline(&self) -> bool {
        self.pipeline
    }
}

/// What a client is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send the statement of this index, counted among the statements of the script. In a pipeline do not wait for
    /// its reply.
    Statement(usize),
    /// Wait this long.
    Sleep(Duration),
    /// Run the command line that [`Script::shell_line`] gives, then tell [`Script::shell_done`].
    Shell,
    /// Begin a pipeline.
    StartPipeline,
    /// Send a Sync, and go on.
    SyncPipeline,
    /// Send a Sync and wait for all replies.
    EndPipeline,
    /// Nothing: a meta command was executed. Only given to who asked for each.
    Meta,
    /// Nothing: the transaction is complete.
    End,
}

impl Script {
    /// Goes on to the next thing that the caller must do, executing the meta commands on the way. With `each` it
    /// also returns after every one of these, for who wants to know how long they take.
    ///
    /// What the function `debug` was given on the way is in [`Variables::debugged`] afterwards.
    ///
    /// # Errors
    ///
    /// When an expression has no value: an undefined variable, a wrong type, an overflow, a division by zero, a
    /// range or a parameter that a random function refuses; when a variable cannot be called as the script wants;
    /// and when pipelines are begun and ended out of order, hold a `\gset` or `\aset`, or are open at the script's
    /// end. pgbench ends the client then.
    #[inline]
    pub fn next(
        &self,
        cursor: &mut Cursor,
        variables: &mut Variables,
        random: &mut Random,
        each: bool,
    ) -> Result<Step, EvaluationError> {
        variables.forget_debugged();
        let mut index = cursor.next;
        loop {
            let Some(command) = self.commands().get(index as usize) else {
                (cursor.command, cursor.next) = (index, index);
                return self.end(cursor);
            };
            match command {
                Command::Statement(statement) if !cursor.pipeline => {
                    cursor.stand_at(index);
                    return Ok(Step::Statement(statement.index()));
                }
                Command::Set(set) | Command::SetRandom(set) => {
                    variables.executing(index);
                    if let Err(fault) = set.assign(variables, random) {
                        cursor.stand_at(index);
                        return Err(self.fault(cursor, fault, variables));
                    }
                    if each {
                        cursor.stand_at(index);
                        return Ok(Step::Meta);
                    }
                    index += 1;
                }
                other => {
                    cursor.stand_at(index);
                    variables.executing(index);
                    if let Some(step) = self.control(other, cursor, variables, random)? {
                        return Ok(step);
                    }
                    if each {
                        return Ok(Step::Meta);
                    }
                    index = cursor.next;
                }
            }
        }
    }

    /// Executes what is neither a plain statement nor an assignment. Gives what the caller must do, if anything.
    fn control(
        &self,
        command: &Command,
        cursor: &mut Cursor,
        variables: &mut Variables,
        random: &mut Random,
    ) -> Result<Option<Step>, EvaluationError> {
        let step = match command {
            Command::Statement(statement) => {
                // In a pipeline: results come only at its end.
                if let Some(capture) = statement.capture() {
                    let name = capture.kind.name();
                    let failure = self.failure(cursor, &format!("\\{name} is not allowed in pipeline mode"));
                    return Err(failure.called(name));
                }
                Step::Statement(statement.index())
            }
            Command::Sleep(sleep) => {
                let duration = sleep.duration(variables);
                Step::Sleep(duration.map_err(|fault| self.fault(cursor, fault, variables))?)
            }
            Command::If(condition) => {
                self.branch(condition, cursor, variables, random)
                    .map_err(|fault| self.fault(cursor, fault, variables))?;
                return Ok(None);
            }
            Command::Elif(condition) => {
                if std::mem::take(&mut cursor.undecided) {
                    self.branch(condition, cursor, variables, random)
                        .map_err(|fault| self.fault(cursor, fault, variables))?;
                } else {
                    cursor.next = condition.end as u32;
                }
                return Ok(None);
            }
            Command::Else(otherwise) => {
                cursor.next = otherwise.end as u32;
                return Ok(None);
            }
            Command::EndIf(_) | Command::Set(_) | Command::SetRandom(_) => return Ok(None),
            Command::Shell(_) | Command::SetShell(_) => Step::Shell,
            Command::StartPipeline(_) if cursor.pipeline => {
                return Err(self.failure(cursor, "already in pipeline mode"));
            }
            Command::StartPipeline(_) => {
                cursor.pipeline = true;
                Step::StartPipeline
            }
            Command::SyncPipeline(_) | Command::EndPipeline(_) if !cursor.pipeline => {
                return Err(self.failure(cursor, "not in pipeline mode"));
            }
            Command::SyncPipeline(_) => Step::SyncPipeline,
            Command::EndPipeline(_) => {
                cursor.pipeline = false;
                Step::EndPipeline
            }
        };
        Ok(Some(step))
    }

    /// Evaluates a condition and goes where it says.
    fn branch(
        &self,
        condition: &Condition,
        cursor: &mut Cursor,
        variables: &mut Variables,
        random: &mut Random,
    ) -> Result<(), Fault> {
        if !condition.expression.evaluate(variables, random)?.is_true() {
            let undecided = matches!(self.commands().get(condition.otherwise), Some(Command::Elif(_)));
            cursor.undecided = undecided;
            // An \else or \endif that ends a branch not taken is passed over.
            cursor.next = condition.otherwise as u32 + u32::from(!undecided);
        }
        Ok(())
    }

    #[inline]
    fn end(&self, cursor: &Cursor) -> Result<Step, EvaluationError> {
        if cursor.pipeline {
            Err(self.failure(cursor, "end of script reached with pipeline open"))
        } else {
            Ok(Step::End)
        }
    }
}

//! Which `\if`, `\elif`, `\else` and `\endif` belong together, found once so that a client only jumps.

use crate::command::Command;

/// A condition without its counterpart.
pub(crate) struct Unmatched {
    /// The index of the command.
    pub(crate) command: usize,
    pub(crate) message: &'static str,
    /// The number that pgbench gives the place, from 1.
    pub(crate) number: usize,
}

/// An `\if` without its `\endif` yet.
struct Open {
    begin: usize,
    /// The condition whose branch is open; none after `\else`.
    condition: Option<usize>,
    /// All of its commands but the `\if`.
    others: Vec<usize>,
}

/// Tells every condition where to go on.
pub(crate) fn resolve(commands: &mut [Command]) -> Result<(), Unmatched> {
    let mut open: Vec<Open> = Vec::new();
    for index in 0..commands.len() {
        let unmatched = |message| Unmatched {
            command: index,
            message,
            number: index + 1,
        };
        match &commands[index] {
            Command::If(_) => open.push(Open {
                begin: index,
                condition: Some(index),
                others: Vec::new(),
            }),
            Command::Elif(_) => {
                let inner = open
                    .last_mut()
                    .ok_or_else(|| unmatched("\\elif without matching \\if"))?;
                let before = inner.condition.replace(index);
                let before = before.ok_or_else(|| unmatched("\\elif after \\else"))?;
                inner.others.push(index);
                close(commands, before, index);
            }
            Command::Else(_) => {
                let inner = open
                    .last_mut()
                    .ok_or_else(|| unmatched("\\else without matching \\if"))?;
                let before = inner.condition.take();
                let before = before.ok_or_else(|| unmatched("\\else after \\else"))?;
                inner.others.push(index);
                close(commands, before, index);
            }
            Command::EndIf(_) => {
                let inner = open.pop().ok_or_else(|| unmatched("\\endif without matching \\if"))?;
                if let Some(before) = inner.condition {
                    close(commands, before, index);
                }
                for other in inner.others {
                    match &mut commands[other] {
                        Command::Elif(condition) => condition.end = index + 1,
                        Command::Else(otherwise) => otherwise.end = index + 1,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    match open.last() {
        None => Ok(()),
        Some(open) => Err(Unmatched {
            command: open.begin,
            message: "\\if without matching \\endif",
            number: commands.len() + 1,
        }),
    }
}

/// The branch of a condition ends at `end`.
fn close(commands: &mut [Command], condition: usize, end: usize) {
    if let Command::If(condition) | Command::Elif(condition) = &mut commands[condition] {
        condition.otherwise = end;
    }
}

//! What a script says of itself.

use crate::settings::OptionValue;

/// A function that a script may define for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Before a run, once.
    Init,
    /// The command of this name.
    Prepare,
    /// The command of this name.
    Cleanup,
    /// The command of this name.
    Help,
    /// Before a client's first event.
    ThreadInit,
    /// All events of a client.
    ThreadRun,
    /// One event.
    Event,
    /// After a client's last event.
    ThreadDone,
    /// After a run, once.
    Done,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Init,
        Self::Prepare,
        Self::Cleanup,
        Self::Help,
        Self::ThreadInit,
        Self::ThreadRun,
        Self::Event,
        Self::ThreadDone,
        Self::Done,
    ];

    /// Its name in Lua.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Prepare => "prepare",
            Self::Cleanup => "cleanup",
            Self::Help => "help",
            Self::ThreadInit => "thread_init",
            Self::ThreadRun => "thread_run",
            Self::Event => "event",
            Self::ThreadDone => "thread_done",
            Self::Done => "done",
        }
    }
}

/// What kind of values an option has, which decides how the command line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// On or off.
    Bool,
    /// A whole number, which may end in K, M, G or T.
    Int,
    /// A number.
    Double,
    /// A text.
    String,
    /// Several texts, separated by commas.
    List,
}

/// An option that a script declares in `sysbench.cmdline.options`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredOption {
    /// Its name, as in the script: with underscores.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its value unless another is given; `None`: none (`nil`).
    pub default: Option<OptionValue>,
    /// The kind that the script says, or else that of the default.
    pub kind: OptionKind,
    /// Whether values are to be shown to [`Environment::validate`](crate::Environment::validate).
    pub validated: bool,
}

/// A command that a script declares in `sysbench.cmdline.commands`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredCommand {
    /// Its name.
    pub name: String,
    /// Whether each client executes it (`sysbench.cmdline.PARALLEL_COMMAND`).
    pub parallel: bool,
}

/// What a script says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// Its options, by name; `None`: it declares none, so any option that is given becomes a global.
    pub options: Option<Vec<DeclaredOption>>,
    /// Its commands, by name.
    pub commands: Vec<DeclaredCommand>,
    /// The functions that it defines.
    pub functions: Vec<Function>,
}

impl Declared {
    /// Whether the script itself defines a function.
    #[must_use]
    pub fn has(&self, function: Function) -> bool {
        self.functions.contains(&function)
    }

    /// The command of this name: one that is declared, or a function `prepare`, `cleanup` or `help`.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<DeclaredCommand> {
        let declared = self.commands.iter().find(|command| command.name == name).cloned();
        let plain = || {
            let of_the_name = |function: &&Function| function.name() == name;
            let functions = [Function::Prepare, Function::Cleanup, Function::Help];
            let function = functions.iter().find(of_the_name)?;
            self.has(*function).then(|| DeclaredCommand {
                name: name.to_owned(),
                parallel: false,
            })
        };
        declared.or_else(plain)
    }
}

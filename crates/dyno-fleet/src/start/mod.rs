//! How agents come to be: as processes of this machine, on other machines by ssh, or on the nodes of a Ray cluster.
//! What they do is the same.

mod process;
mod ray;
mod ssh;

use dyno_engine::Stop;
use process::Process;
pub use ray::{Cluster, Ray, RayError, check_ray};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What names this machine among load hosts.
pub const LOCAL: &str = "local";

/// What names a node of a Ray cluster among them.
pub const RAY: &str = "ray";

/// A host to drive a load from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What it is called: letters, digits, `-`, `_` and `.`, unique among the hosts.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

/// Where a host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A process of this machine.
    Local,
    /// Whatever ssh reaches by this name.
    Ssh(String),
    /// Some node of a Ray cluster.
    Ray,
}

impl Place {
    /// The word for it in a list of hosts.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Local => LOCAL,
            Self::Ssh(word) => word,
            Self::Ray => RAY,
        }
    }
}

/// What stands for an agent where its controller is.
pub(crate) trait Stands: Send {
    /// The last lines that it has written of itself.
    fn said(&self) -> String;
    /// Ends it now.
    fn kill(&mut self);
}

/// An agent that was started: what it hears and says, and what stands for it here.
pub struct Channel {
    /// What it hears.
    pub input: Box<dyn Write + Send>,
    /// What it says.
    pub output: Box<dyn Read + Send>,
    /// What stands for it here, if something does.
    pub(crate) stands: Option<Box<dyn Stands>>,
}

impl Channel {
    /// The streams of an agent that no process here stands for.
    #[must_use]
    pub fn new(input: impl Write + Send + 'static, output: impl Read + Send + 'static) -> Self {
        Self {
            input: Box::new(input),
            output: Box::new(output),
            stands: None,
        }
    }
}

/// An agent that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It was asked to end before all were started.
    #[error("stopped on request")]
    Stopped,
    /// Ray does not start it.
    #[error(transparent)]
    Ray(#[from] Arc<RayError>),
    /// It was not said which Ray cluster.
    #[error("it is to be a node of a Ray cluster: name the cluster, for example ray = \"http://head:8265\"")]
    NoRay,
    /// The program of this dyno cannot be used.
    #[error("cannot start an agent with {}: {cause}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// ssh cannot be started.
    #[error("cannot start ssh: {0}. Install OpenSSH's client, or use --local-agents")]
    NoSsh(std::io::Error),
    /// ssh has failed.
    #[error("ssh to {host} failed while {doing}: {said}. Try: ssh {host} true")]
    Ssh {
        /// The host.
        host: String,
        /// What was to be done.
        doing: &'static str,
        /// What it said.
        said: String,
    },
    /// ssh has reached the host, where something failed.
    #[error(
        "{doing} failed on {host}: {said}. It takes a shell there, and a folder ~/.cache (or $XDG_CACHE_HOME) that can \
         be written to"
    )]
    There {
        /// The host.
        host: String,
        /// What was to be done.
        doing: &'static str,
        /// What was said there.
        said: String,
    },
    /// What comes from the host begins with something else.
    #[error(
        "the shell of {host} prints text before what it executes ({said}): take it out of its start-up files for \
         shells that are not interactive (scp and rsync fail there as well)"
    )]
    Greeting {
        /// The host.
        host: String,
        /// The text.
        said: String,
    },
    /// Another kind of machine.
    #[error(
        "{host} is {theirs}, this machine {ours}: dyno copies its own program there, which needs the same system and \
         processor"
    )]
    OtherMachine {
        /// The host.
        host: String,
        /// What it is.
        theirs: String,
        /// What this one is.
        ours: String,
    },
}

/// A word that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{word:?} names no load host: give `local`, `ray`, or what ssh is given, such as user@host, without blanks and \
     options"
)]
pub struct HostError {
    word: String,
}

/// The hosts of these words: [`LOCAL`], [`RAY`], or what ssh is given.
///
/// # Errors
/// One of them names none.
pub fn hosts<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Vec<Host>, HostError> {
    let mut seen = HashMap::<String, usize>::new();
    let mut hosts = Vec::new();
    let words: Vec<_> = words.into_iter().collect();
    for word in &words {
        let is_odd = |character: char| character.is_whitespace() || character.is_control();
        if word.is_empty() || word.starts_with('-') || word.chars().any(is_odd) {
            return Err(HostError {
                word: word.chars().take(80).collect(),
            });
        }
        let place = match *word {
            LOCAL => Place::Local,
            RAY => Place::Ray,
            other => Place::Ssh(other.to_owned()),
        };
        let name = plain(word);
        let several = words.iter().filter(|other| plain(other) == name).count() > 1;
        let name = match several {
            false => name,
            true => loop {
                let times = seen.entry(name.clone()).or_default();
                *times += 1;
                let numbered = format!("{name}-{times}");
                // Another host may be called so.
                if !words.iter().any(|other| plain(other) == numbered) {
                    break numbered;
                }
            },
        };
        hosts.push(Host { name, place });
    }
    Ok(hosts)
}

/// A word that can name a folder: what follows the user, with anything else than letters, digits, `-`, `_` and `.`
/// replaced.
fn plain(word: &str) -> String {
    let host = word.rsplit_once('@').map_or(word, |(_, host)| host);
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let name: String = host
        .chars()
        .map(|character| if allowed(character) { character } else { '_' })
        .collect();
    match name.trim_start_matches('.') {
        "" => "host".to_owned(),
        name => name.to_owned(),
    }
}

/// Waits for an agent.
pub(crate) type Starting<'a> = Box<dyn FnOnce() -> Result<Channel, StartError> + Send + 'a>;

/// Starts an agent on each host, with the program `dyno`: for each what waits for it. Nodes of a Ray cluster are begun
/// with at once, the others when they are waited for. A raised `stop` ends the waiting.
pub(crate) fn start<'a>(
    hosts: &'a [Host],
    dyno: &'a Path,
    ray: Option<&Ray>,
    stop: &Stop,
) -> Result<Vec<(&'a Host, Starting<'a>)>, (&'a Host, StartError)> {
    let nodes: Vec<&Host> = hosts.iter().filter(|host| host.place == Place::Ray).collect();
    let coming = match (nodes.as_slice(), ray) {
        ([], _) => Vec::new(),
        ([first, ..], None) => return Err((first, StartError::NoRay)),
        ([first, ..], Some(ray)) => ray
            .start(nodes.len(), dyno, stop)
            .map_err(|error| (*first, StartError::Ray(error)))?,
    };
    // It is the same for all hosts, and takes a while.
    let hash = match hosts.iter().find(|host| matches!(host.place, Place::Ssh(_))) {
        Some(first) => Some(ssh::hash(dyno).map_err(|error| (first, error))?),
        None => None,
    };
    let mut coming = coming.into_iter();
    let each = hosts.iter().map(move |host| {
        let node = (host.place == Place::Ray).then(|| coming.next()).flatten();
        let (hash, stop) = (hash.clone(), stop.clone());
        let starting: Starting<'a> = Box::new(move || match (&host.place, node, hash) {
            (_, Some(node), _) => node.wait(),
            (Place::Ssh(word), None, Some(hash)) => ssh::start(word, dyno, &hash, &stop),
            _ => {
                let mut command = Command::new(dyno);
                command.arg("agent");
                Process::spawn(command).map_err(|cause| StartError::Program {
                    program: dyno.to_owned(),
                    cause,
                })
            }
        });
        (host, starting)
    });
    Ok(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_have_names_of_their_own() {
        let names = |words: &[&str]| {
            let hosts = hosts(words.iter().copied()).unwrap();
            hosts.into_iter().map(|host| host.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["local", "local", "local"]), ["local-1", "local-2", "local-3"]);
        assert_eq!(
            names(&["local", "me@b", "you@b", "c.example"]),
            ["local", "b-1", "b-2", "c.example"]
        );
        assert_eq!(names(&["ssh://me@b:22/x", "../.."]), ["b_22_x", "_.."]);
    }

    #[test]
    fn options_of_ssh_are_no_hosts() {
        for word in ["", "-oProxyCommand=x", "a b", "a\nb"] {
            assert!(hosts([word]).is_err(), "{word:?}");
        }
    }

    proptest! {
        #[test]
        fn any_word_names_a_folder_or_nothing(word in "\\PC*") {
            if let Ok(hosts) = hosts([word.as_str()]) {
                let name = &hosts[0].name;
                prop_assert!(!name.is_empty() && !name.starts_with('.') && !name.contains('/'), "{name}");
            }
        }
    }
}

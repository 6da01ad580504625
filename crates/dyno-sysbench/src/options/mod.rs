//! The command line: what may be given, what it means, and what is wrong with it.
//!
//! It is read in two steps, because a script says only once it is loaded which options it has. The first step takes the
//! general options, and keeps every other one as it was written; the second one ([`declared`]) finds the script's among
//! those, and complains of the rest.

mod check;
mod config;
pub mod declared;
mod error;
mod help;
mod settings;
mod table;
mod value;

pub use error::OptionError;
pub use help::{help, of_test};
pub use settings::Settings;
pub use value::{Kind, Value};

use crate::message::Level;
use crate::version::Version;
use dyno_target::target::text_without_secrets;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The folder of `--archive` without a value.
const ARCHIVE: &str = "archive";

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// `--help`, with the texts of this version.
    Help(Version),
    /// `--version`.
    Version(Version),
    /// A test, with or without a command for it.
    Test(Box<Options>),
}

/// What is said of `--test`.
const DEPRECATED_TEST: &str = "WARNING: the --test option is deprecated. You can pass a script name or path on the \
                               command line without any options.\n";

/// Everything that was said, as far as it can be understood without the script.
#[derive(Debug)]
pub struct Options {
    /// The words behind the program's name, as they were typed: scripts may look at them.
    pub words: Vec<String>,
    /// `--report-format`: whose texts and defaults hold.
    pub format: Version,
    /// The name of the test: a script, or a workload of dyno's own. Without one a script is read from standard input.
    pub test: Option<String>,
    /// What the test is to do.
    pub command: Option<String>,
    /// The general options.
    pub settings: Settings,
    /// Options that are not general ones, in order: for the script.
    pub others: Vec<Other>,
    /// What a run is to be like.
    pub limits: Limits,
    /// What is told of it.
    pub telling: Telling,
    /// Said before anything else.
    pub warnings: Vec<String>,
    /// `--safe-lua`.
    pub safe_lua: bool,
    /// `--archive`: the folder of campaigns that the run is kept in.
    pub archive: Option<PathBuf>,
}

/// An option that is not a general one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its name as it was written, without `--`.
    pub name: String,
    /// What is behind `=`, if there is one.
    pub value: Option<String>,
    /// Whether it is a line of a configuration file, which may be for several tests.
    pub is_of_file: bool,
}

/// How much is done, how fast, and by how many.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Clients; sysbench calls them threads.
    pub threads: usize,
    /// Events of all clients together.
    pub events: Option<u64>,
    /// Seconds.
    pub time_s: Option<u64>,
    /// Seconds before anything is counted.
    pub warmup_s: u64,
    /// Seconds after the time limit at which events under way are given up.
    pub forced_shutdown_s: Option<u64>,
    /// Events per second.
    pub rate_per_s: Option<f64>,
    /// Seconds that all clients together have to get ready.
    pub init_timeout_s: u64,
}

/// What is told of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Telling {
    /// The least important messages that are shown.
    pub most: Level,
    /// `--debug`.
    pub debug: bool,
    /// `--validate`.
    pub validate: bool,
    /// Seconds between intermediate reports.
    pub interval_s: Option<u64>,
    /// Seconds after the start at which there is a full report; ascending.
    pub checkpoints_s: Vec<u64>,
    /// The percentile of latencies, 1 to 100.
    pub percentile: Option<u8>,
    /// Whether the histogram is printed.
    pub histogram: bool,
    /// The seed of random numbers.
    pub seed: Option<u64>,
}

/// Understands the words behind the program's name. What is to be said on standard error before anything else goes to
/// `complaints`.
///
/// # Errors
/// [`OptionError`], without secrets.
pub fn parse(words: &[String], complaints: &mut Vec<String>) -> Result<Request, OptionError> {
    parse_words(words, complaints).map_err(|error| error.map_text(|text| text_without_secrets(&text, words)))
}

fn parse_words(words: &[String], complaints: &mut Vec<String>) -> Result<Request, OptionError> {
    let mut settings = Settings::default();
    let mut others = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let Some(option) = word.strip_prefix("--") else {
            // A test and its command.
            if names.len() > 1 {
                return Err(OptionError::Unrecognized(word.clone()));
            }
            if word.starts_with('-') && word != "-" {
                return Err(OptionError::Unrecognized(word.clone()));
            }
            names.push(word.clone());
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if name == "test" {
            // sysbench takes no notice of the option without a value.
            if let Some(value) = value {
                complaints.push(DEPRECATED_TEST.to_owned());
                if !value.is_empty() {
                    names.insert(0, value.to_owned());
                }
                if names.len() > 2 {
                    return Err(OptionError::Unrecognized(names.pop().unwrap_or_default()));
                }
            }
            continue;
        }
        if name == "config-file" || name == "config_file" {
            config::read(value.unwrap_or_default(), &mut settings, &mut others, complaints)?;
        }
        if !settings.take(name, value)? {
            others.push(Other {
                name: name.to_owned(),
                value: value.map(str::to_owned),
                is_of_file: false,
            });
        }
    }
    let format = settings.format()?;
    if settings.is_on("help") {
        return Ok(Request::Help(format));
    }
    if settings.is_on("version") {
        return Ok(Request::Version(format));
    }
    if settings.is_on("debug") {
        settings.say_all();
    }
    settings.fill(format);
    let mut warnings = settings.resolve_aliases(format);
    let telling = check::telling(&settings)?;
    let limits = check::limits(&settings)?;
    check::random(&settings)?;
    if settings.int("events") == 0 && settings.int("time") == 0 {
        warnings.push("Both event and time limits are disabled, running an endless test".to_owned());
    }
    let mut names = names.into_iter();
    Ok(Request::Test(Box::new(Options {
        words: words.to_vec(),
        format,
        test: names.next(),
        command: names.next(),
        safe_lua: settings.is_on("safe-lua"),
        archive: settings.is_given("archive").then(|| match settings.text("archive") {
            "" => PathBuf::from(ARCHIVE),
            folder => PathBuf::from(std::ffi::OsString::from_vec(dyno_text::encode(folder).into_owned())),
        }),
        settings,
        others,
        limits,
        telling,
        warnings,
    })))
}

#[cfg(test)]
mod tests;

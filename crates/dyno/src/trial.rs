//! `dyno doctor --trial`: the page, then a trial, all of it in one file that holds no secrets.

use crate::cli::DoctorArguments;
use crate::doctor::PAGE;
use crate::failure::Failure;
use crate::{interrupt, say};
use dyno_engine::Stop;
use dyno_lab::doctor::{Request, TRIAL, Tally, TrialRequest, can_be_tried, examine, is_worth_a_trial, trial as make};
use dyno_lab::run::Emergency;
use dyno_report as report;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What an account begins with.
const PREFACE: &str = "An account of a trial of an Oracle server, for dyno's authors. It holds no password; look \
                       through it before you send it on: it names the server and its user.\n";

/// An account, told as it is written.
struct Account {
    path: PathBuf,
    file: File,
    /// Why it cannot be written any more.
    unwritten: Option<io::Error>,
}

impl Account {
    fn begin(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path);
        let file = file.map_err(|error| Failure::SetUp(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            unwritten: None,
        })
    }

    /// Tells and writes a text. What is written stays whatever becomes of us.
    fn tell(&mut self, text: &str) {
        // Nobody may be there to be told; the file is what counts.
        let _ = say::result(text);
        if let Err(error) = writeln!(self.file, "{text}").and_then(|()| self.file.flush()) {
            self.unwritten.get_or_insert(error);
        }
    }
}

/// Looks at a server and tries it.
pub fn trial(arguments: &DoctorArguments, request: &Request<'_>) -> Result<(), Failure> {
    let Some(target) = request.target else {
        return Err(Failure::SetUp(
            "a trial needs a database: dyno doctor TARGET --trial".to_owned(),
        ));
    };
    let stop = Stop::new();
    interrupt::handle_trial(&stop)?;
    let trial = TrialRequest {
        target,
        set: &arguments.set,
        environment: request.environment,
    };
    can_be_tried(&trial, &stop)?;
    let mut examination = examine(request, &stop)?;
    // It is about to be made.
    examination.findings.retain(|finding| finding.subject != TRIAL);
    let time = jiff::Zoned::now().strftime("%FT%H-%M-%S").to_string();
    let usual = || PathBuf::from(format!("dyno-trial-{time}.txt"));
    let mut account = Account::begin(&arguments.output.clone().unwrap_or_else(usual))?;
    account.tell(PREFACE);
    account.tell(&format!(
        "{time}\n\n{}",
        report::examination(&examination, PAGE).trim_end()
    ));
    if !is_worth_a_trial(&examination) {
        account.tell("\nNo trial was made: what is a problem with the server above has to be solved first.");
        return ended(account, None);
    }
    let tally = make(&trial, &stop, &Emergency::default(), &mut |line| account.tell(line))?;
    ended(account, Some(tally))
}

fn ended(mut account: Account, tally: Option<Tally>) -> Result<(), Failure> {
    if let Some(tally) = tally {
        let Tally {
            good,
            different,
            failed,
        } = tally;
        account.tell(&format!(
            "\n{good} things are as they should be, {different} differ from that, {failed} failed."
        ));
    }
    if let Some(error) = account.unwritten {
        let path = account.path.display();
        return Err(Failure::SetUp(format!(
            "cannot write {path} to its end: {error}; what is missing stands above"
        )));
    }
    say::result(&format!(
        "\nAll of this is in {}, without passwords. Please send it to dyno's authors.",
        account.path.display()
    ))?;
    match tally.is_some_and(|tally| tally.is_good()) {
        true => Ok(()),
        false => Err(Failure::Said),
    }
}

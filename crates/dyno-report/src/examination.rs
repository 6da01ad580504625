//! What an examination found, on one page of text.

use crate::table::{INDENT, WIDTH, paragraph_within};
use dyno_record::{Examination, Finding, Mark, Topic};

/// A page that is narrower breaks its lines so often that nobody could read it.
const NARROWEST: usize = 50;

/// A line for each finding, by topic, with what to do and what to type. What is to be typed stands as it is, however
/// long; everything else is at most `columns` wide, and never wider than a page.
#[must_use]
pub fn examination(examination: &Examination, columns: usize) -> String {
    let width = columns.clamp(NARROWEST, WIDTH);
    let subjects = examination.findings.iter().map(|finding| &finding.subject);
    let subject = subjects.map(|subject| subject.chars().count()).max().unwrap_or(0);
    let mut page = paragraph_within(
        "",
        &match &examination.target {
            Some(target) => format!("dyno {} looked at {target}", examination.dyno_version),
            None => format!("dyno {} looked at this machine", examination.dyno_version),
        },
        width,
    );
    let mut topic = None;
    for finding in &examination.findings {
        if topic.replace(finding.topic) != Some(finding.topic) {
            page.push_str(&format!("\n{}\n", title(finding.topic)));
        }
        page.push_str(&line(finding, subject, width));
    }
    page.push('\n');
    page.push_str(&paragraph_within("", &verdict(examination), width));
    page
}

fn title(topic: Topic) -> &'static str {
    match topic {
        Topic::Server => "Server",
        Topic::Rights => "Rights and counters",
        Topic::Settings => "Settings",
        Topic::Private => "Private servers",
        Topic::Machine => "This machine",
        Topic::Dyno => "dyno",
    }
}

/// A finding. The remedy begins on a line of its own, so that whoever looks for what to do finds it.
fn line(finding: &Finding, subject: usize, width: usize) -> String {
    let first = format!("{INDENT}{:<7}  {:<subject$}  ", finding.mark, finding.subject);
    let indent = " ".repeat(first.chars().count());
    let mut line = paragraph_within(&first, &finding.found, width);
    if let Some(remedy) = &finding.remedy {
        let end = if finding.commands.is_empty() { "." } else { ":" };
        line.push_str(&paragraph_within(
            &format!("{indent}To do: "),
            &format!("{remedy}{end}"),
            width,
        ));
    }
    for command in &finding.commands {
        line.push_str(&format!("{indent}  {command}\n"));
    }
    line
}

fn verdict(examination: &Examination) -> String {
    let counted = |mark: Mark| match examination.count(mark) {
        1 => format!("1 {mark}"),
        number => format!("{number} {mark}s"),
    };
    match (examination.can_run, examination.count(Mark::Note)) {
        (false, _) => format!(
            "No load can run as things are: there is {}, and what to do about it stands above.",
            counted(Mark::Problem)
        ),
        (true, 0) => "A load can run, and its results will lack nothing.".to_owned(),
        (true, _) => format!(
            "A load can run; {} above say what its results will lack, or what to keep in mind.",
            counted(Mark::Note)
        ),
    }
}

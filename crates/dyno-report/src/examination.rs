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

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Vec<Finding> {
        vec![
            Finding::ok(
                Topic::Server,
                "server",
                "Product 18.6, over TCP at 10.0.0.7:5432, on another machine",
            ),
            Finding::ok(Topic::Machine, "cores", "8 (Fast)"),
        ]
    }

    fn page(target: Option<&str>, findings: Vec<Finding>, columns: usize) -> String {
        let seen = Examination::of("0.1.0", target.map(str::to_owned), findings);
        examination(&seen, columns)
    }

    #[test]
    fn everything_that_is_missing_is_said_with_what_to_do() {
        let mut findings = fine();
        findings.push(
            Finding::problem(
                Topic::Rights,
                "data",
                "this role may not create schemas in the database bench: an experiment with data of its own cannot run",
            )
            .remedy("as a superuser or the owner of the database, execute")
            .executing(["grant create on database \"bench\" to \"ann\""]),
        );
        findings.push(
            Finding::note(
                Topic::Rights,
                "sessions",
                "what other roles' sessions do is hidden: no waits of background processes, no statements of those \
                 who block",
            )
            .remedy("as a superuser, execute")
            .executing(["grant a_right_with_a_long_name, another_right_with_a_long_name, a_third_one to \"ann\""]),
        );
        findings.push(Finding::note(Topic::Machine, "clock", "slow").remedy("take another one"));
        for columns in [80, 120] {
            insta::assert_snapshot!(
                format!("missing_in_{columns}_columns"),
                page(Some("postgres://ann@10.0.0.7:5432/bench"), findings.clone(), columns)
            );
        }
    }

    #[test]
    fn what_is_fine_is_said_in_few_words() {
        insta::assert_snapshot!(page(None, fine(), 80));
    }

    #[test]
    fn a_page_is_never_wider_than_asked_for_but_for_what_is_typed() {
        let found = "words of which there are many ".repeat(20);
        let finding = Finding::note(Topic::Dyno, "subject", found).remedy("more ".repeat(40));
        for (columns, widest) in [(20, NARROWEST), (64, 64), (500, WIDTH)] {
            let page = page(None, vec![finding.clone().typing(["x".repeat(200)])], columns);
            let lines = page.lines().filter(|line| !line.contains("xxx"));
            let wide = lines.map(|line| line.chars().count()).max().unwrap();
            assert!(wide <= widest && wide > widest - 20, "{columns}: {wide}\n{page}");
        }
    }
}

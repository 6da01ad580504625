//! Checks as a JUnit report, in the form that Jenkins made common: GitLab, GitHub's actions and others read it.

use super::{Check, Checks, Outcome};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

impl Checks {
    /// The checks as a JUnit report.
    ///
    /// # Errors
    ///
    /// None but for mistakes of the program.
    pub fn junit(&self) -> Result<String, SerializeError> {
        let mut suite = TestSuite::new(allowed(&self.title));
        suite.add_test_cases(self.checks.iter().map(|check| self.case(check)));
        suite.set_system_out(allowed(&self.answer));
        let mut report = Report::new("dyno");
        report.add_test_suite(suite);
        report.to_string()
    }

    fn case(&self, check: &Check) -> TestCase {
        let mut status = match check.outcome {
            Outcome::Passed => TestCaseStatus::success(),
            Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Outcome::Broken => TestCaseStatus::non_success(NonSuccessKind::Error),
            Outcome::Undecided => TestCaseStatus::skipped(),
        };
        // Of one that has passed neither is kept.
        status.set_message(allowed(&check.found));
        status.set_description(allowed(&self.answer));
        let mut case = TestCase::new(allowed(&check.name), status);
        case.set_classname(allowed(&self.title));
        case.set_system_out(allowed(&check.found));
        case
    }
}

/// The text without what XML cannot hold, escaped or not, or does not keep in an attribute.
fn allowed(text: &str) -> String {
    let is_allowed = |character: &char| matches!(character, ' '..='\u{7e}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    text.chars()
        .map(|character| if is_allowed(&character) { character } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    fn checks(name: &str, outcome: Outcome) -> Checks {
        Checks {
            title: name.to_owned(),
            answer: format!("{name} is 7 % faster."),
            checks: vec![Check {
                name: name.to_owned(),
                found: format!("+7 % {name}"),
                outcome,
            }],
        }
    }

    /// The attributes called `attribute` of all elements called `element`, read by a parser that is not ours.
    fn read(xml: &str, element: &str, attribute: &str) -> Vec<String> {
        let mut reader = Reader::from_str(xml);
        let mut found = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => return found,
                Event::Start(start) | Event::Empty(start) if start.name().as_ref() == element => {
                    let value = start.try_get_attribute(attribute).unwrap().unwrap();
                    found.push(
                        value
                            .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                            .unwrap()
                            .into_owned(),
                    );
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_outcome_has_its_element() {
        let of = |outcome| checks("p99 of update", outcome).junit().unwrap();
        insta::assert_snapshot!(of(Outcome::Failed));
        assert_eq!(
            read(&of(Outcome::Undecided), "skipped", "message"),
            ["+7 % p99 of update"]
        );
        assert_eq!(read(&of(Outcome::Broken), "testsuite", "errors"), ["1"]);
        let passed = of(Outcome::Passed);
        assert!(!passed.contains("<failure") && !passed.contains("<error") && !passed.contains("<skipped"));
    }

    proptest! {
        #[test]
        fn no_name_breaks_the_report(name in "\\PC*|.*") {
            let xml = checks(&name, Outcome::Failed).junit().unwrap();
            prop_assert_eq!(read(&xml, "testcase", "name"), [allowed(&name)]);
            let is_sound = |letter: char| letter == '\n' || allowed(&letter.to_string()) == letter.to_string();
            prop_assert!(xml.chars().all(is_sound));
        }
    }
}

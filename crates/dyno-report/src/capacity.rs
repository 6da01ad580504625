//! The highest load that holds limits, in words.

use crate::figures::{duration, duration_of, ms, time};
use crate::table::Page;
use dyno_archive::figures::{decimal, figure};
use dyno_archive::{Capacity, CapacityAnswer, CapacityStep, LoadDimension, LoadLimit, StepVerdict};
use std::time::Duration;

/// The answer in one sentence, or why there is none.
#[must_use]
pub fn capacity(known: &Capacity) -> String {
    let limits = limits(known);
    let (hold, are) = match known.limits.len() {
        1 => ("holds", "is"),
        _ => ("hold", "are"),
    };
    let of = |load: Option<f64>| load.map_or_else(|| "any load".to_owned(), |load| words(known, load));
    let after = duration_of(known.measured_s);
    match (known.answer, known.over, known.fails) {
        (CapacityAnswer::Found, ..) => format!(
            "{limits} {hold} up to {} and no longer at {}{}; found in {after}.",
            of(known.holds),
            of(known.fails),
            held_above(known)
        ),
        (CapacityAnswer::Never, over, _) => format!(
            "{limits} cannot be met at any {}: not even at {}, the lowest that was tried.",
            match over {
                LoadDimension::Rate => "rate",
                LoadDimension::Clients => "number of clients",
            },
            of(known.fails)
        ),
        (CapacityAnswer::Clients, LoadDimension::Rate, Some(fails)) => format!(
            "{limits} {are} met at every rate that {} can drive, up to {}: the clients are the limit. At {} \
             transactions wait for a free one, while the server still answers in time.",
            clients(known.clients as f64),
            of(known.holds),
            words(known, fails)
        ),
        (CapacityAnswer::Clients, ..) => {
            format!(
                "{limits} {are} met with all {} that there are: the clients are the limit.",
                of(known.holds)
            )
        }
        (CapacityAnswer::Unknown, ..) => {
            let so_far = match (known.holds, known.fails) {
                (Some(_), Some(_)) => format!("{} is not too high, {} is", of(known.holds), of(known.fails)),
                (Some(_), None) => format!("{} is not too high", of(known.holds)),
                (None, Some(_)) => format!("{} is too high", of(known.fails)),
                (None, None) => "there were too few transactions to decide on any load".to_owned(),
            };
            format!("The highest load with {limits} was not found in {after}: {so_far}.")
        }
    }
}

/// That a load held which is higher than one that failed, if there is one: then the capacity is no sharp line.
fn held_above(known: &Capacity) -> String {
    let held = known.steps.iter().filter(|step| step.verdict == StepVerdict::Holds);
    let highest = held.map(|step| step.load).max_by(f64::total_cmp);
    let above = highest.filter(|highest| known.fails.is_some_and(|fails| *highest > fails));
    above.map_or_else(String::new, |load| {
        format!(", although {} held once", words(known, load))
    })
}

/// What is known so far, in one line; `left` is how long it is sought at most.
#[must_use]
pub fn capacity_line(known: &Capacity, left: Duration) -> String {
    let holds = known.holds.map(|load| format!("holds at {}", short(known, load)));
    let fails = known.fails.map(|load| format!("not at {}", short(known, load)));
    let ends: Vec<String> = holds.into_iter().chain(fails).collect();
    let ends = match ends.is_empty() {
        true => String::new(),
        false => format!(" {};", ends.join(", ")),
    };
    let now = known.steps.last().map_or_else(String::new, |step| {
        format!(" {} p99 {}", short(known, step.load), time(step.p99_us))
    });
    let left = duration(Duration::from_secs(left.as_secs()));
    format!("{left} left at most:{ends}{now}   ({})", limits(known))
}

/// The course of latency over the load, what gave way, and last, where it is read first, the answer.
pub(crate) fn page(known: &Capacity, page: Page) -> String {
    let header = [
        head(known),
        "",
        "TPS",
        "mean (ms)",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "errors (%)",
    ];
    let rows = ascending(known).into_iter().map(|step| {
        let ms = [step.mean_us, step.p50_us, step.p95_us, step.p99_us, step.p999_us].map(ms);
        [figure(step.load), step.verdict.word().to_owned(), figure(step.tps)]
            .into_iter()
            .chain(ms)
            .chain([decimal(step.errors * 100.0, 2)])
            .collect()
    });
    let mut text = page.table(&header, &[1], &[], 2, rows);
    text.push('\n');
    for sentence in &known.gave_way {
        text.push_str(&page.paragraph("  - ", sentence));
    }
    text + &page.paragraph("", &capacity(known))
}

/// What the loads are of.
pub(crate) fn head(known: &Capacity) -> &'static str {
    match known.over {
        LoadDimension::Rate => "rate (1/s)",
        LoadDimension::Clients => "clients",
    }
}

/// All steps, the lowest load first.
pub(crate) fn ascending(known: &Capacity) -> Vec<&CapacityStep> {
    let mut steps: Vec<&CapacityStep> = known.steps.iter().collect();
    steps.sort_by(|one, other| one.load.total_cmp(&other.load));
    steps
}

fn limits(known: &Capacity) -> String {
    let limits: Vec<String> = known.limits.iter().map(LoadLimit::to_string).collect();
    limits.join(" and ")
}

fn words(known: &Capacity, load: f64) -> String {
    match known.over {
        LoadDimension::Rate => format!("{} transactions/s", figure(load)),
        LoadDimension::Clients => clients(load),
    }
}

fn clients(number: f64) -> String {
    match number {
        1.0 => "1 client".to_owned(),
        number => format!("{} clients", figure(number)),
    }
}

fn short(known: &Capacity, load: f64) -> String {
    match known.over {
        LoadDimension::Rate => format!("{}/s", figure(load)),
        LoadDimension::Clients => clients(load),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn step(load: f64, verdict: StepVerdict, p99_us: f64) -> CapacityStep {
        CapacityStep {
            load,
            verdict,
            broken: (verdict == StepVerdict::Fails).then(|| "p99".to_owned()),
            start_s: 4.5,
            end_s: 7.5,
            tps: load,
            errors: 0.0005,
            mean_us: p99_us / 4.0,
            p50_us: p99_us / 5.0,
            p95_us: p99_us / 2.0,
            p99_us,
            p999_us: p99_us * 2.0,
            lag_us: 0.0,
        }
    }

    pub(crate) fn known(
        answer: CapacityAnswer,
        over: LoadDimension,
        holds: Option<f64>,
        fails: Option<f64>,
    ) -> Capacity {
        Capacity {
            limits: vec!["p99 < 5ms".parse().unwrap(), "errors < 0.1%".parse().unwrap()],
            over,
            answer,
            holds,
            fails,
            clients: 8,
            closed_loop_tps: 9_000.0,
            steps: vec![
                step(8_000.0, StepVerdict::Holds, 2_100.0),
                step(9_000.0, StepVerdict::Fails, 80_000.0),
                step(8_500.0, StepVerdict::Unsure, 5_010.0),
            ],
            measured_s: 92.0,
            gave_way: vec!["The CPUs of this machine were busy for 97 % of the time.".to_owned()],
        }
    }

    #[test]
    fn the_answer_is_one_sentence() {
        let (rate, over_clients) = (LoadDimension::Rate, LoadDimension::Clients);
        let all = [
            known(CapacityAnswer::Found, rate, Some(8_000.0), Some(8_400.0)),
            Capacity {
                steps: Vec::new(),
                ..known(CapacityAnswer::Found, over_clients, Some(1.0), Some(2.0))
            },
            known(CapacityAnswer::Never, rate, None, Some(9.25)),
            known(CapacityAnswer::Clients, rate, Some(8_000.0), Some(8_400.0)),
            known(CapacityAnswer::Clients, over_clients, Some(8.0), None),
            known(CapacityAnswer::Unknown, rate, Some(8_000.0), Some(16_000.0)),
            known(CapacityAnswer::Unknown, rate, None, None),
        ];
        insta::assert_snapshot!(all.iter().map(capacity).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_load_that_held_above_one_that_failed_is_told() {
        let mut known = known(CapacityAnswer::Found, LoadDimension::Rate, Some(8_000.0), Some(8_400.0));
        assert!(!capacity(&known).contains("although"));
        known.steps.push(step(8_700.0, StepVerdict::Holds, 2_000.0));
        let said = capacity(&known);
        assert!(
            said.contains("no longer at 8,400 transactions/s, although 8,700 transactions/s held once;"),
            "{said}"
        );
    }

    #[test]
    fn the_page_has_the_course_of_latency() {
        let known = known(CapacityAnswer::Found, LoadDimension::Rate, Some(8_000.0), Some(9_000.0));
        let line = capacity_line(&known, Duration::from_secs(508));
        insta::assert_snapshot!(format!("{}\n{line}", page(&known, Page::default())));
    }
}

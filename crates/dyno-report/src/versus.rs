//! What two variants that were measured in turn say about each other, in words.

use crate::figures::duration;
use dyno_archive::figures::decimal;
use dyno_archive::{Measure, Ratio, Verdict, Versus};
use std::time::Duration;

/// The answer in one sentence, or why there is none.
#[must_use]
pub fn versus(versus: &Versus) -> String {
    let [baseline, candidate] = &names(versus);
    let after = duration(Duration::from_secs_f64(versus.measured_s.max(0.0)));
    let Some(ratio) = versus.ratio(versus.measure) else {
        let why = match versus.left_out {
            0 => String::new(),
            left_out => format!(" ({left_out} blocks could not be compared: a variant did nothing in them)"),
        };
        return format!(
            "{candidate} beside {baseline}: not known after {after}, there were too few slices to compare{why}."
        );
    };
    let interval = interval(ratio);
    let detect = percent(versus.detect * 100.0);
    match versus.answer {
        Verdict::Higher | Verdict::Lower => {
            let others: Vec<String> = versus.ratios.iter().filter_map(|other| also(versus, other)).collect();
            let others = others.into_iter().map(|words| format!(", {words}")).collect::<String>();
            format!(
                "{candidate} {} {baseline} ({interval}){others}; decided after {after}.",
                than(ratio)
            )
        }
        Verdict::Same => format!(
            "{candidate} and {baseline} are the same within {detect} % in {} ({interval}); decided after {after}.",
            name(versus.measure)
        ),
        Verdict::Unknown => {
            let more = versus.more_blocks.map_or_else(
                || "much more time would not decide it either".to_owned(),
                |blocks| {
                    let more = Duration::from_secs_f64(blocks as f64 * versus.block_s);
                    format!("about {} more would decide it", duration(more))
                },
            );
            format!(
                "{candidate} beside {baseline}: not decided after {after}; {} {interval}. If that is so, {more}.",
                name(versus.measure)
            )
        }
    }
}

/// What is known so far, in one line: after this time of at most so long.
#[must_use]
pub fn versus_line(versus: &Versus, measured: Duration, at_most: Duration) -> String {
    let known = versus
        .ratio(versus.measure)
        .map_or_else(|| "too early to say".to_owned(), interval);
    let left = Duration::from_secs(at_most.saturating_sub(measured).as_secs());
    let [baseline, candidate] = names(versus);
    format!(
        "{candidate} beside {baseline}: {} {known}   {} left at most",
        name(versus.measure),
        duration(left)
    )
}

/// What the two are called: a database by itself, of anything else what it is a value of.
pub(crate) fn names(versus: &Versus) -> [String; 2] {
    [&versus.baseline, &versus.candidate].map(|level| match versus.factor.as_str() {
        "target" => level.clone(),
        factor => format!("{factor} = {level}"),
    })
}

/// What is measured, in words.
pub(crate) fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Throughput => "throughput",
        Measure::P50 => "p50 latency",
        Measure::P95 => "p95 latency",
        Measure::P99 => "p99 latency",
    }
}

/// That a ratio differs from one, and in which direction.
fn than(ratio: Ratio) -> String {
    let size = size(ratio.ratio);
    match (ratio.measure, ratio.ratio >= 1.0) {
        (Measure::Throughput, true) => format!("is {size} % faster than"),
        (Measure::Throughput, false) => format!("is {size} % slower than"),
        (other, true) => format!("has {size} % more {} than", name(other)),
        (other, false) => format!("has {size} % less {} than", name(other)),
    }
}

/// The same of another measure, if it is known to differ.
fn also(versus: &Versus, ratio: &Ratio) -> Option<String> {
    let differs = ratio.low > 1.0 || ratio.high < 1.0;
    let short = match ratio.measure {
        measure if measure == versus.measure => return None,
        Measure::Throughput => "throughput",
        Measure::P50 => return None,
        Measure::P95 => "p95",
        Measure::P99 => "p99",
    };
    let direction = if ratio.ratio >= 1.0 { "higher" } else { "lower" };
    differs.then(|| format!("{short} {} % {direction}", size(ratio.ratio)))
}

fn size(ratio: f64) -> String {
    percent((ratio - 1.0).abs() * 100.0)
}

/// With one digit behind the point, unless that is a zero.
fn percent(percent: f64) -> String {
    let text = decimal(percent, 1);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Between what the change is, with its sign.
fn interval(ratio: Ratio) -> String {
    let change = |end: f64| {
        let percent = (end - 1.0) * 100.0;
        let sign = if percent >= 0.0 { "+" } else { "−" };
        format!("{sign}{}", self::percent(percent.abs()))
    };
    format!("{} to {} %, 95 %", change(ratio.low), change(ratio.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(answer: Verdict, ratios: &[(Measure, f64, f64, f64)]) -> Versus {
        let ratio = |(measure, ratio, low, high): &(Measure, f64, f64, f64)| Ratio {
            measure: *measure,
            ratio: *ratio,
            low: *low,
            high: *high,
        };
        Versus {
            factor: "target".to_owned(),
            baseline: "embedded:14".to_owned(),
            candidate: "embedded:18".to_owned(),
            detect: 0.03,
            measure: Measure::Throughput,
            answer,
            ratios: ratios.iter().map(ratio).collect(),
            blocks: 100,
            left_out: 0,
            more_blocks: Some(45),
            block_s: 2.0,
            measured_s: 200.0,
        }
    }

    #[test]
    fn the_answer_is_one_sentence() {
        let throughput = |ratio, low, high| (Measure::Throughput, ratio, low, high);
        let p99 = (Measure::P99, 0.89, 0.85, 0.93);
        let p95 = (Measure::P95, 0.97, 0.9, 1.02);
        let faster = known(Verdict::Higher, &[throughput(1.07, 1.05, 1.09), p95, p99]);
        assert_eq!(
            versus(&faster),
            "embedded:18 is 7 % faster than embedded:14 (+5 to +9 %, 95 %), p99 11 % lower; decided after 3 min 20 s."
        );
        let slower = known(Verdict::Lower, &[throughput(0.948, 0.91, 0.985)]);
        assert_eq!(
            versus(&slower),
            "embedded:18 is 5.2 % slower than embedded:14 (−9 to −1.5 %, 95 %); decided after 3 min 20 s."
        );
        let same = known(Verdict::Same, &[throughput(1.001, 0.98, 1.02)]);
        assert_eq!(
            versus(&same),
            "embedded:18 and embedded:14 are the same within 3 % in throughput (−2 to +2 %, 95 %); decided after 3 min \
             20 s."
        );
        let open = known(Verdict::Unknown, &[throughput(1.02, 0.97, 1.06)]);
        assert_eq!(
            versus(&open),
            "embedded:18 beside embedded:14: not decided after 3 min 20 s; throughput −3 to +6 %, 95 %. If that is so, \
             about 1 min 30 s more would decide it."
        );
        assert_eq!(
            versus(&known(Verdict::Unknown, &[])),
            "embedded:18 beside embedded:14: not known after 3 min 20 s, there were too few slices to compare."
        );
        assert_eq!(
            versus_line(&open, Duration::from_secs(200), Duration::from_secs(600)),
            "embedded:18 beside embedded:14: throughput −3 to +6 %, 95 %   6 min 40 s left at most"
        );
        let clients = Versus {
            factor: "clients".to_owned(),
            baseline: "8".to_owned(),
            candidate: "16".to_owned(),
            ..faster
        };
        assert!(versus(&clients).starts_with("clients = 16 is 7 % faster than clients = 8 ("));
    }
}

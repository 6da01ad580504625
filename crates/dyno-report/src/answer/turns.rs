//! What variants that were measured in turn say about each other.

use super::cells::{Names, work_of};
use super::{Known, Pair, interval, name};
use crate::figures::{duration, duration_of, one_line};
use dyno_archive::{Campaign, Ratio, Versus};
use dyno_stats::differs;
use std::time::Duration;

/// What the two are called, the baseline first; `campaign` knows of servers what they call themselves.
pub(crate) fn names(versus: &Versus, campaign: &Campaign) -> [String; 2] {
    let names = Names::of(campaign);
    [&versus.baseline, &versus.candidate].map(|level| names.of_level(&versus.factor, level))
}

/// What is known of each beside the baseline, a sentence each.
pub(super) fn answer(versus: &Versus, campaign: &Campaign) -> String {
    let sentences: Vec<String> = versus.all().map(|one| pair(one, campaign).sentence()).collect();
    sentences.join(" ")
}

/// Both beside each other.
pub(super) fn pair(versus: &Versus, campaign: &Campaign) -> Pair {
    let [baseline, candidate] = names(versus, campaign);
    let deciding = versus.ratio(versus.measure).map(known).ok_or_else(|| match versus.left_out {
        0 => "there were too few blocks to compare".to_owned(),
        left_out => format!(
            "there were too few blocks to compare ({left_out} blocks could not be compared: a variant did nothing in \
             them)"
        ),
    });
    let others = versus.ratios.iter().filter(|ratio| ratio.measure != versus.measure);
    Pair {
        baseline,
        candidate,
        work: work_of(campaign),
        among: None,
        answer: versus.answer,
        deciding,
        others: others.copied().map(known).collect(),
        detect: versus.detect,
        effort: format!("after {}", duration_of(versus.measured_s)),
        more: versus.more_blocks.map_or_else(
            || "if that is so, much more time would not decide it either".to_owned(),
            |blocks| {
                let more = duration_of(blocks as f64 * versus.block_s);
                format!("if that is so, about {more} more would decide it")
            },
        ),
    }
}

/// What is known so far, in one line: after this time of at most so long. What is known stands first, and levels by
/// themselves: a line may have no room for more.
#[must_use]
pub fn versus_line(versus: &Versus, measured: Duration, at_most: Duration) -> String {
    let several = !versus.further.is_empty();
    let told = versus.all().map(|one| {
        let known = one
            .ratio(one.measure)
            .map_or_else(|| "too early to say".to_owned(), |ratio| interval(known(ratio)));
        match several {
            true => format!("{} {known}", one_line(&one.candidate)),
            false => known,
        }
    });
    let told: Vec<String> = told.collect();
    let beside = match several {
        true => format!("beside {}", one_line(&versus.baseline)),
        false => format!("{} beside {}", one_line(&versus.candidate), one_line(&versus.baseline)),
    };
    let left = duration(Duration::from_secs(at_most.saturating_sub(measured).as_secs()));
    format!(
        "{}: {}; {left} left at most; {beside}",
        name(versus.measure),
        told.join(", ")
    )
}

pub(super) fn known(ratio: Ratio) -> Known {
    Known {
        measure: ratio.measure,
        ratio: ratio.ratio,
        interval: Some((ratio.low, ratio.high)),
        differs: differs(ratio.low, ratio.high).is_some(),
    }
}

//! Which of several factors matter, in words.

use super::cells::{Names, work_of};
use super::turns::known;
use super::{Known, interval, name, percent, size};
use crate::figures::{counted, duration, duration_of};
use dyno_archive::{Campaign, Effect, Screen, ScreenedFactor};
use std::time::Duration;

/// So many factors are named in the answer beside the one that matters most.
const MORE_NAMED: usize = 3;

/// Of a factor that may do as much as this nothing is known.
const TOO_MUCH: f64 = 0.1;

/// The effects on what decides, the largest first.
pub(crate) fn by_size(screen: &Screen) -> Vec<&Effect> {
    let mut effects: Vec<&Effect> = screen.effects_of(screen.measure).collect();
    effects.sort_by(|one, other| other.ratio.ratio.ln().abs().total_cmp(&one.ratio.ratio.ln().abs()));
    effects
}

/// Whether it is known that a factor does something.
pub(crate) fn matters(effect: &Effect) -> bool {
    effect.ratio.low > 1.0 || effect.ratio.high < 1.0
}

/// The answer in one sentence, or why there is none.
pub(super) fn sentence(screen: &Screen, campaign: &Campaign) -> String {
    let (work, count) = (work_of(campaign), screen.factors.len());
    let effects = by_size(screen);
    if effects.is_empty() {
        return format!(
            "Which of {count} factors matter{work} is not known, because {}.",
            why_not(screen)
        );
    }
    let (matter, others): (Vec<&Effect>, Vec<&Effect>) = effects.into_iter().partition(|effect| matters(effect));
    let found = match matter.as_slice() {
        [] => "none is known to matter".to_owned(),
        several => those_that_matter(several, !others.is_empty(), screen, &Names::of(campaign)),
    };
    let rest = match rest(&others, matter.len(), screen) {
        rest if rest.is_empty() => rest,
        rest if matter.is_empty() => format!(": {rest}"),
        rest => format!("; {rest}"),
    };
    let unexplained = screen.unexplained.map_or_else(String::new, |share| {
        format!(
            "; factors by themselves do not explain all (about {} % are left in each effect), so intervals are wide",
            percent(share * 100.0)
        )
    });
    let effort = format!("from {} pairs of {}", screen.pairs.len(), duration_of(screen.each_s));
    format!("Of {count} factors{work}, {found}{rest}{unexplained}; {effort}.")
}

/// Why nothing is known of the factors.
fn why_not(screen: &Screen) -> String {
    match (screen.pairs.len(), screen.pairs_planned) {
        (there, planned) if there < planned => format!("only {there} of {planned} pairs are measured"),
        _ => "in some pairs there were too few blocks to compare".to_owned(),
    }
}

/// What the factors do that matter, the largest effect first; `others` says whether there are factors that do not.
fn those_that_matter(matter: &[&Effect], others: bool, screen: &Screen, names: &Names) -> String {
    let each = matter.iter().enumerate().map(|(place, effect)| {
        let (known, second) = (
            known(effect.ratio),
            value(effect, screen, names, |factor| &factor.second),
        );
        let (does, interval) = (does(known), interval(known));
        if place > 0 {
            return format!("{second}: {does} ({interval})");
        }
        let first = value(effect, screen, names, |factor| &factor.first);
        let first = first.strip_prefix(&format!("{} = ", effect.factor)).unwrap_or(&first);
        let matters = match (matter.len(), others) {
            (1, true) => format!("only {second} matters"),
            (1, false) => format!("{second} matters"),
            _ => format!("{second} matters most"),
        };
        format!("{matters}: {does} than with {first} ({interval})")
    });
    let named: Vec<String> = each.take(1 + MORE_NAMED).collect();
    let unnamed = match matter.len() - named.len() {
        0 => String::new(),
        1 => "; another one does less".to_owned(),
        unnamed => format!("; {unnamed} others do less"),
    };
    named.join("; ") + &unnamed
}

/// What is known of the factors that do nothing that could be seen, beside so many that do.
fn rest(others: &[&Effect], beside: usize, screen: &Screen) -> String {
    let most = |effect: &&Effect| (effect.ratio.high - 1.0).max(1.0 - effect.ratio.low);
    let bound = others.iter().map(most).fold(0.0, f64::max);
    // Never less than what may be.
    let shown = percent((bound * 1_000.0).ceil() / 10.0);
    let of = match (others, beside) {
        ([], _) => return String::new(),
        (_, 0) => String::new(),
        ([only], _) => format!("of {} ", screen.factor_of(only).map_or("", |factor| &factor.name)),
        (several, _) => format!("of the other {} ", several.len()),
    };
    match bound < TOO_MUCH {
        true => format!("{of}no effect above {shown} % was found"),
        false => format!("{of}too little is known, effects of up to {shown} % may be there (measure longer: --each)"),
    }
}

/// A value of the factor of an effect, in words.
fn value(effect: &Effect, screen: &Screen, names: &Names, which: fn(&ScreenedFactor) -> &String) -> String {
    screen
        .factor_of(effect)
        .map_or_else(String::new, |factor| names.of_level(&factor.name, which(factor)))
}

/// What a factor does: `14 % more throughput`.
fn does(known: Known) -> String {
    let more = if known.ratio >= 1.0 { "more" } else { "less" };
    format!("{} % {more} {}", size(known), name(known.measure))
}

/// How long pair `number` of so many is measured from now on, and how long those that follow, in one line.
#[must_use]
pub fn pair_line(number: usize, of: usize, left: Duration, each: Duration) -> String {
    let then = match of.saturating_sub(number) {
        0 => String::new(),
        pairs => format!(", then {} of {}", counted(pairs as u64, "more pair"), duration(each)),
    };
    let left = duration(Duration::from_secs(left.as_secs()));
    format!("pair {number} of {of}, a variant beside its mirror image: {left} left{then}")
}

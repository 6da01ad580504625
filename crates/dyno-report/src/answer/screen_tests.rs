//! Answers about factors word by word.

use super::screen::{pair_line, sentence};
use super::*;
use crate::terminal::campaign_tests::{Fate, campaign};
use dyno_archive::{Effect, Ratio, ScreenedFactor, ScreenedPair};
use std::time::Duration;

/// What is known of factors with these effects on throughput.
pub(crate) fn screen(effects: &[(&str, f64, f64, f64)], pairs: usize) -> Screen {
    let pair = |row: usize| ScreenedPair {
        row,
        levels: [].into(),
        blocks: 10,
        left_out: 0,
        ratios: Vec::new(),
    };
    let effect = |(name, ratio, low, high): &(&str, f64, f64, f64)| Effect {
        factor: (*name).to_owned(),
        ratio: Ratio {
            measure: Measure::Throughput,
            ratio: *ratio,
            low: *low,
            high: *high,
        },
    };
    let factor = |(name, ..): &(&str, f64, f64, f64)| ScreenedFactor {
        name: (*name).to_owned(),
        first: "off".to_owned(),
        second: "on".to_owned(),
    };
    Screen {
        factors: effects.iter().map(factor).collect(),
        measure: Measure::Throughput,
        pairs_planned: 8,
        pairs: (1..=pairs).map(pair).collect(),
        effects: if pairs < 8 {
            Vec::new()
        } else {
            effects.iter().map(effect).collect()
        },
        unexplained: None,
        each_s: 20.0,
    }
}

#[test]
fn how_long_pairs_take_is_one_line() {
    let line = |number, left| pair_line(number, 8, Duration::from_millis(left), Duration::from_secs(20));
    assert_eq!(
        line(6, 12_300),
        "pair 6 of 8, a variant beside its mirror image: 12 s left, then 2 more pairs of 20 s"
    );
    assert_eq!(line(8, 0), "pair 8 of 8, a variant beside its mirror image: 0 s left");
}

#[test]
fn what_matters_is_one_sentence() {
    let archive = tempfile::tempdir().unwrap();
    let factor = "[factors]\nclients = [4, 8]\n";
    let campaign = campaign(archive.path(), factor, |_| Fate::Complete(1_000.0));
    let (a, b, c) = (
        ("a", 1.14, 1.11, 1.17),
        ("b", 0.97, 0.96, 0.98),
        ("c", 1.001, 0.985, 1.017),
    );
    let (d, wide) = (("d", 1.001, 0.985, 1.019), ("e", 1.05, 0.8, 1.35));
    let unexplained = Screen {
        unexplained: Some(0.041),
        ..screen(&[a, c, wide], 8)
    };
    let all = [
        screen(&[b, c, a, d], 8),
        screen(&[c, a], 8),
        screen(&[a, b], 8),
        screen(&[c, d], 8),
        screen(&[c, wide], 8),
        unexplained,
        screen(
            &[
                a,
                ("f", 1.1, 1.05, 1.15),
                b,
                ("g", 1.09, 1.05, 1.15),
                ("h", 1.08, 1.05, 1.15),
            ],
            8,
        ),
        screen(&[a, b, c], 3),
    ];
    insta::assert_snapshot!(
        all.iter()
            .map(|screen| sentence(screen, &campaign))
            .collect::<Vec<_>>()
            .join("\n")
    );
}

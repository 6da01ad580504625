//! Where more of something stops bringing more throughput.

/// A level within this share of the best throughput is as good as the best.
const AS_GOOD: f64 = 0.95;

/// The position of the knee in `throughputs`, which belong to ascending levels such as numbers of clients: the
/// first level within 5 % of the best. Every level after it adds waiting, and next to no throughput.
///
/// `None` if there are fewer than three levels, or if only the last is that good: then throughput may still be
/// rising. Unlike the geometric Kneedle (V. Satopää et al., 2011) the rule does not depend on how far the levels
/// were taken or how they are spaced, and a person can check it at a glance.
#[must_use]
pub fn knee(throughputs: &[f64]) -> Option<usize> {
    let best = throughputs.iter().copied().fold(0.0, f64::max);
    let first = throughputs
        .iter()
        .position(|throughput| *throughput >= AS_GOOD * best)?;
    (throughputs.len() >= 3 && best > 0.0 && first + 1 < throughputs.len()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_level_that_is_as_good_as_the_best() {
        assert_eq!(knee(&[100.0, 190.0, 290.0, 300.0, 280.0]), Some(2));
        // A best of 300 makes 285 good enough, and 284.9 not.
        assert_eq!(knee(&[100.0, 284.9, 285.0, 300.0]), Some(2));
        assert_eq!(knee(&[300.0, 290.0, 280.0]), Some(0));
    }

    #[test]
    fn a_curve_that_still_rises_has_none() {
        assert_eq!(knee(&[100.0, 200.0, 400.0]), None);
        assert_eq!(knee(&[100.0, 101.0]), None);
        assert_eq!(knee(&[0.0, 0.0, 0.0]), None);
        assert_eq!(knee(&[]), None);
    }
}

//! The types that messages are made of, and the form in which each of them is sent.
//!
//! The server is told of all that it may use, those of its own messages included, as Oracle's own drivers do. Almost
//! all are sent as they are, in the form that is the same on all machines.

/// The same on all machines.
const UNIVERSAL: u16 = 1;

/// Oracle's own form of numbers and dates.
const ORACLE: u16 = 10;

/// Types that are sent as they are, from the first to the last of each run.
const OWN: [(u16, u16); 59] = [
    (1, 1),
    (8, 8),
    (10, 11),
    (23, 26),
    (28, 33),
    (39, 41),
    (96, 96),
    (100, 102),
    (106, 106),
    (109, 109),
    (111, 115),
    (117, 117),
    (119, 120),
    (127, 127),
    (146, 146),
    (178, 183),
    (185, 190),
    (198, 198),
    (208, 208),
    (231, 231),
    (233, 233),
    (252, 252),
    (290, 294),
    (298, 313),
    (315, 323),
    (327, 329),
    (331, 331),
    (333, 346),
    (348, 349),
    (354, 355),
    (359, 359),
    (363, 363),
    (380, 391),
    (393, 401),
    (404, 407),
    (413, 427),
    (429, 433),
    (449, 450),
    (454, 463),
    (466, 486),
    (490, 496),
    (498, 502),
    (509, 510),
    (513, 514),
    (516, 543),
    (560, 560),
    (563, 565),
    (572, 576),
    (578, 585),
    (590, 605),
    (611, 616),
    (622, 632),
    (636, 640),
    (646, 647),
    (652, 652),
    (660, 661),
    (663, 663),
    (665, 665),
    (669, 670),
];

/// Types that are sent as another, or in another form: the type, what it is sent as, in what form.
const OTHERS: [(u16, u16, u16); 31] = [
    (2, 2, ORACLE),
    (3, 2, ORACLE),
    (4, 2, ORACLE),
    (5, 1, UNIVERSAL),
    (6, 2, ORACLE),
    (7, 2, ORACLE),
    (9, 1, UNIVERSAL),
    (12, 12, ORACLE),
    (15, 1, UNIVERSAL),
    (27, 27, ORACLE),
    (68, 2, ORACLE),
    (91, 2, ORACLE),
    (94, 1, UNIVERSAL),
    (95, 23, UNIVERSAL),
    (97, 96, UNIVERSAL),
    (104, 11, UNIVERSAL),
    (108, 109, UNIVERSAL),
    (110, 111, UNIVERSAL),
    (116, 102, UNIVERSAL),
    (152, 2, ORACLE),
    (153, 2, ORACLE),
    (154, 2, ORACLE),
    (155, 1, UNIVERSAL),
    (156, 12, ORACLE),
    (172, 2, ORACLE),
    (184, 12, ORACLE),
    (195, 112, UNIVERSAL),
    (196, 113, UNIVERSAL),
    (197, 114, UNIVERSAL),
    (232, 231, UNIVERSAL),
    (241, 109, UNIVERSAL),
];

/// All of them.
pub(super) fn all() -> impl Iterator<Item = (u16, u16, u16)> {
    let own = OWN.into_iter().flat_map(|(first, last)| first..=last);
    own.map(|kind| (kind, kind, UNIVERSAL)).chain(OTHERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_type_is_told_of_twice() {
        let kinds: Vec<u16> = all().map(|(kind, ..)| kind).collect();
        let different: HashSet<_> = kinds.iter().collect();
        assert_eq!(kinds.len(), different.len());
        assert!(kinds.iter().all(|kind| *kind > 0));
    }
}

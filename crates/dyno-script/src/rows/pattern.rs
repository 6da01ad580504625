//! Texts of random digits and letters, such as sysbench's: `###-@@` becomes `408-xq`.

use crate::random::Random;

/// A pattern, cut into pieces that are drawn or stand for themselves.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The pattern as written.
    template: Box<str>,
    parts: Box<[Part]>,
}

/// A part with few enough digits to make them all before they are put in their places.
#[derive(Debug, Default)]
struct Part {
    pieces: Vec<Piece>,
    bytes: usize,
    digits: usize,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Digits(usize),
    Letters(usize),
    Literal(Vec<u8>),
}

/// How many digits 64 random bits give: all numbers of so many digits are as likely, but for 1 in 2,000.
const DIGITS: usize = 16;
const NUMBERS: u128 = 10_000_000_000_000_000;

/// The most digits of a part.
const MOST: usize = 256;

/// Room for the digits of a part, kept from row to row so that it need not be cleared for each.
#[derive(Clone, Debug)]
pub(super) struct Digits([u8; MOST + DIGITS]);

impl Digits {
    pub(super) fn new() -> Self {
        Self([0; MOST + DIGITS])
    }
}

impl Pattern {
    /// `#` stands for a digit, `@` for a letter from a to z, everything else for itself.
    pub(super) fn new(template: &str) -> Pattern {
        let mut parts = vec![Part::default()];
        for byte in template.bytes() {
            if byte == b'#' && parts.last().is_some_and(|part| part.digits == MOST) {
                parts.push(Part::default());
            }
            if let Some(part) = parts.last_mut() {
                part.push(byte);
            }
        }
        Pattern {
            template: template.into(),
            parts: parts.into(),
        }
    }

    /// What stands for itself.
    pub(super) fn template(&self) -> &str {
        &self.template
    }

    /// Appends such a text.
    #[inline]
    pub(super) fn write(&self, random: &mut Random, digits: &mut Digits, out: &mut Vec<u8>) {
        for part in &self.parts {
            part.write(random, digits, out);
        }
    }
}

impl Part {
    fn push(&mut self, byte: u8) {
        self.bytes += 1;
        self.digits += usize::from(byte == b'#');
        match (byte, self.pieces.last_mut()) {
            (b'#', Some(Piece::Digits(count))) | (b'@', Some(Piece::Letters(count))) => *count += 1,
            (b'#', _) => self.pieces.push(Piece::Digits(1)),
            (b'@', _) => self.pieces.push(Piece::Letters(1)),
            (byte, Some(Piece::Literal(bytes))) => bytes.push(byte),
            (byte, _) => self.pieces.push(Piece::Literal(vec![byte])),
        }
    }

    /// Draws all digits, then the letters. Digits are copied sixteen at a time, which is faster than as many as there
    /// are; what is copied too much is overwritten by what comes behind it.
    #[inline]
    fn write(&self, random: &mut Random, Digits(digits): &mut Digits, out: &mut Vec<u8>) {
        for sixteen in digits[..self.digits.next_multiple_of(DIGITS)].as_chunks_mut().0 {
            *sixteen = sixteen_digits(random);
        }
        let (mut at, mut used) = (out.len(), 0);
        let end = at + self.bytes;
        out.resize(end + DIGITS, 0);
        for piece in &self.pieces {
            match piece {
                Piece::Digits(count) => {
                    for done in (0..*count).step_by(DIGITS) {
                        let (to, from) = (at + done, used + done);
                        out[to..to + DIGITS].copy_from_slice(&digits[from..from + DIGITS]);
                    }
                    (at, used) = (at + count, used + count);
                }
                Piece::Letters(count) => {
                    out[at..at + count].fill_with(|| b'a' + ((u128::from(random.bits()) * 26) >> 64) as u8);
                    at += count;
                }
                Piece::Literal(bytes) => {
                    match bytes.as_slice() {
                        [byte] => out[at] = *byte,
                        bytes => out[at..at + bytes.len()].copy_from_slice(bytes),
                    }
                    at += bytes.len();
                }
            }
        }
        out.truncate(end);
    }
}

/// The digits that one draw gives.
#[inline]
fn sixteen_digits(random: &mut Random) -> [u8; DIGITS] {
    let number = ((u128::from(random.bits()) * NUMBERS) >> 64) as u64;
    let mut digits = [0; DIGITS];
    let (high, low) = digits.split_at_mut(DIGITS / 2);
    high.copy_from_slice(&eight_digits(number / 100_000_000));
    low.copy_from_slice(&eight_digits(number % 100_000_000));
    digits
}

/// The eight digits of a number below 10^8: cut in halves three times, all parts at once. The multipliers are 1/100 and
/// 1/10 in binary, precise enough for numbers below 10^4 and 10^2.
#[inline]
fn eight_digits(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    let ones = tens | ((twos - 10 * tens) << 8);
    (ones + 0x3030_3030_3030_3030).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        let mut random = Random::new(5);
        let some = (0..10_000).chain((0..10_000).map(|part| part * 10_000 + 9_999));
        for number in some.chain((0..100_000).map(|_| random.below_or_at(99_999_999))) {
            assert_eq!(
                std::str::from_utf8(&eight_digits(number)).unwrap(),
                format!("{number:08}")
            );
        }
    }

    #[test]
    fn patterns_may_be_of_any_length() {
        let mut random = Random::new(3);
        for template in [
            "",
            "#",
            "-",
            "@",
            &"#".repeat(1000),
            &"##-".repeat(300),
            &"#@é".repeat(500),
            "0123456789abcdef#",
        ] {
            let mut out = b"before".to_vec();
            Pattern::new(template).write(&mut random, &mut Digits::new(), &mut out);
            let text = std::str::from_utf8(&out).unwrap().strip_prefix("before").unwrap();
            assert_eq!(text.len(), template.len());
            for (place, drawn) in template.chars().zip(text.chars()) {
                let fits = match place {
                    '#' => drawn.is_ascii_digit(),
                    '@' => drawn.is_ascii_lowercase(),
                    other => drawn == other,
                };
                assert!(fits, "{template}: {text}");
            }
        }
    }

    #[test]
    fn every_place_is_drawn_evenly() {
        let pattern = Pattern::new("##é@-#################@@");
        let mut random = Random::new(1);
        let mut digits = [0_u32; 10];
        let mut letters = [0_u32; 26];
        for _ in 0..10_000 {
            let mut out = b"before".to_vec();
            pattern.write(&mut random, &mut Digits::new(), &mut out);
            let text = std::str::from_utf8(&out).unwrap().strip_prefix("before").unwrap();
            assert_eq!((text.chars().count(), text.chars().nth(2)), (24, Some('é')));
            for byte in text.bytes() {
                match byte {
                    b'0'..=b'9' => digits[usize::from(byte - b'0')] += 1,
                    b'a'..=b'z' => letters[usize::from(byte - b'a')] += 1,
                    _ => {}
                }
            }
        }
        assert_eq!(
            (digits.iter().sum::<u32>(), letters.iter().sum::<u32>()),
            (190_000, 30_000)
        );
        assert!(
            digits.iter().all(|count| (18_500..19_500).contains(count)),
            "{digits:?}"
        );
        assert!(
            letters.iter().all(|count| (1_000..1_310).contains(count)),
            "{letters:?}"
        );
    }
}

//! The classes of a histogram that have counts, as they travel: a string of bytes.
//!
//! Each class stands as its distance from the one before, and its count, as variable-length integers (LEB128): a few
//! bytes for each class, and nothing for the others. They are most of what a host tells, so whoever hears many hosts
//! spends its time in here.

use crate::sparse::CLASSES;
use crate::wire::MOST_COUNTED;
use integer_encoding::VarInt;
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};
use std::fmt;

/// No integer of 64 bits takes more bytes.
const LONGEST: usize = 10;

/// What is made of classes and their counts, told in ascending order.
pub trait Counts: Default {
    /// Counts a class so many times.
    fn count(&mut self, class: usize, count: u64);
}

/// Classes with their counts, in ascending order, as bytes.
pub fn encode(counts: impl Iterator<Item = (usize, u64)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut last = 0;
    for (class, count) in counts {
        push(&mut bytes, (class - last) as u64);
        push(&mut bytes, count);
        last = class;
    }
    bytes
}

fn push(bytes: &mut Vec<u8>, number: u64) {
    let mut encoded = [0; LONGEST];
    let length = number.encode_var(&mut encoded);
    bytes.extend_from_slice(&encoded[..length]);
}

/// How many were counted, or why these bytes are no classes.
pub fn check(mut bytes: &[u8]) -> Result<u64, &'static str> {
    let (mut last, mut total) = (None, 0_u64);
    while !bytes.is_empty() {
        let (Some(distance), Some(count)) = (next(&mut bytes), next(&mut bytes)) else {
            return Err("a class of latency is cut off");
        };
        let class = match last {
            None => distance,
            Some(last) if distance > 0 => distance.saturating_add(last),
            Some(_) => return Err("a class of latency comes twice"),
        };
        total = total.saturating_add(count);
        if class >= CLASSES as u64 || count == 0 || total >= MOST_COUNTED {
            return Err("a class of latency that cannot be");
        }
        last = Some(class);
    }
    Ok(total)
}

/// The classes in bytes that have been checked.
pub struct Classes<'a> {
    bytes: &'a [u8],
    last: usize,
}

impl<'a> Classes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, last: 0 }
    }
}

impl Iterator for Classes<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        // A class is less than 2^15.
        self.last += next(&mut self.bytes)? as usize;
        Some((self.last, next(&mut self.bytes)?))
    }
}

/// Takes an integer from the begin of `bytes`; `None` if it is cut off or too long.
#[inline(always)]
fn next(bytes: &mut &[u8]) -> Option<u64> {
    // Most are of one byte.
    match *bytes {
        [byte, rest @ ..] if *byte < 0x80 => {
            *bytes = rest;
            Some(u64::from(*byte))
        }
        _ => next_of_several(bytes),
    }
}

#[cold]
fn next_of_several(bytes: &mut &[u8]) -> Option<u64> {
    let (number, length) = u64::decode_var(bytes)?;
    *bytes = bytes.get(length..)?;
    Some(number)
}

/// Writes classes with their counts, in ascending order.
pub fn serialize<S: Serializer>(counts: impl Iterator<Item = (usize, u64)>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(&encode(counts))
}

/// Reads them.
pub fn deserialize<'de, D: Deserializer<'de>, C: Counts>(deserializer: D) -> Result<C, D::Error> {
    let mut counts = C::default();
    let (bytes, _) = checked(deserializer)?;
    Classes::new(&bytes).for_each(|(class, count)| counts.count(class, count));
    Ok(counts)
}

/// Reads the bytes, and how many they count.
pub fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Vec<u8>, u64), D::Error> {
    deserializer.deserialize_bytes(Reader)
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = (Vec<u8>, u64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("classes of latency with their counts")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let count = check(bytes).map_err(E::custom)?;
        Ok((bytes.to_vec(), count))
    }
}

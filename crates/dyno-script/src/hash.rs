//! Hashes and the pseudo-random permutation, with pgbench's values.

use crate::random::Random;

/// The FNV-1a hash of the eight bytes, lowest first, seeded. Offset basis and prime are those of 64-bit FNV
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub(crate) fn fnv1a(value: i64, seed: i64) -> i64 {
    fnv1a_of(&value.to_le_bytes(), seed as u64) as i64
}

/// The same of any bytes.
pub(crate) fn fnv1a_of(bytes: &[u8], seed: u64) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS ^ seed, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

/// MurmurHash2, 64-bit variant A by Austin Appleby, of the eight bytes, seeded.
pub(crate) fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut key = (value as u64).wrapping_mul(MULTIPLIER);
    key ^= key >> SHIFT;
    key = key.wrapping_mul(MULTIPLIER);

    let mut hash = seed as u64 ^ MULTIPLIER.wrapping_mul(8);
    hash = (hash ^ key).wrapping_mul(MULTIPLIER);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> SHIFT)) as i64
}

/// Where `value` modulo `size` goes under the permutation of `0 .. size` that `seed` selects. A size below 2 gives 0.
///
/// Six rounds, each made of: multiply by an odd number, flip bits and rotate within the lower power-of-two half,
/// the same in the (overlapping) upper half, and shift around the whole range. Every step is a bijection.
pub(crate) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let size = size as u64;
    let mut random = Random::new(seed as u64);
    let mut value = value as u64 % size;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    for _ in 0..6 {
        value = scramble(value, bits, mask, &mut random);
        value = size - 1 - scramble(size - 1 - value, bits, mask, &mut random);
        // Both are below 2^63, so the sum fits.
        value = (value + random.below_or_at(size - 1)) % size;
    }
    value as i64
}

/// A bijection of `0 ..= mask`; larger values stay. It draws two numbers either way.
fn scramble(value: u64, bits: u32, mask: u64, random: &mut Random) -> u64 {
    let odd = (random.bits() & mask) | 1;
    let flip = random.bits() & mask;
    if value > mask {
        return value;
    }
    let value = (value.wrapping_mul(odd) ^ flip) & mask;
    ((value << 1) & mask) | (value >> (bits - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permute_is_a_bijection() {
        for size in [1, 2, 3, 4, 5, 17, 64, 100] {
            for seed in [0, 1, -1, 5432] {
                let mut images: Vec<i64> = (0..size).map(|value| permute(value, size, seed)).collect();
                images.sort_unstable();
                assert_eq!(images, (0..size).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn extreme_sizes_and_values_are_fine() {
        for value in [i64::MIN, -1, 0, i64::MAX] {
            for size in [i64::MIN, 0, 1, 2, i64::MAX] {
                let image = permute(value, size, 3);
                assert!(image >= 0 && image < size.max(1));
            }
        }
    }
}

//! How a client proves that it knows the password, and the server the same.
//!
//! Both sides have a key from the password: with the 12c verifier by PBKDF2 with SHA-512, with the 11g ones by SHA-1.
//! Each sends the other random bytes under it; a second key from both carries the password one way and words of the
//! server the other way.

use crate::options::Verifier;
use aes::{Aes192, Aes256};
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use md5::{Digest, Md5};
use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};
use sha1::Sha1;
use sha2::Sha512;
use std::num::NonZeroU32;

/// Iterations of PBKDF2 for the password.
const VERIFIER_ROUNDS: NonZeroU32 = NonZeroU32::new(4096).expect("not zero");
/// Iterations of PBKDF2 for the common key.
const COMMON_ROUNDS: NonZeroU32 = NonZeroU32::new(3).expect("not zero");
/// The vector that every encryption here begins with.
const VECTOR: [u8; 16] = [0; 16];
/// What the server says under the common key.
const GREETING: &[u8; 16] = b"SERVER_TO_CLIENT";

/// A pair that log-in messages consist of.
pub(crate) struct Pair {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) flags: u64,
}

impl Pair {
    pub(crate) fn new(key: &'static str, value: impl Into<String>) -> Self {
        Self {
            key,
            value: value.into(),
            flags: 0,
        }
    }
}

/// What the server's side keeps between the two parts of a log-in.
pub(crate) struct Challenge {
    verifier: Verifier,
    salt: Vec<u8>,
    common_salt: [u8; 16],
    hash: Vec<u8>,
    ours: Vec<u8>,
}

impl Challenge {
    /// None: the system has no random bytes.
    pub(crate) fn new(verifier: Verifier, password: &str) -> Option<Self> {
        let (salt_length, key_length) = match verifier {
            Verifier::V12c => (16, 32),
            Verifier::V11g => (10, 32),
            // By this clients tell how keys are mixed.
            Verifier::V11gMd5 => (10, 48),
        };
        let salt = random(salt_length)?;
        let hash = match verifier {
            Verifier::V12c => {
                let key = derive(
                    password.as_bytes(),
                    &[&salt, &b"AUTH_PBKDF2_SPEEDY_KEY"[..]].concat(),
                    VERIFIER_ROUNDS,
                    64,
                );
                Sha512::digest([&key[..], &salt].concat())[..32].to_vec()
            }
            Verifier::V11g | Verifier::V11gMd5 => {
                let mut hash = Sha1::digest([password.as_bytes(), &salt].concat()).to_vec();
                hash.resize(24, 0);
                hash
            }
        };
        Some(Self {
            verifier,
            salt,
            common_salt: random(16)?.try_into().ok()?,
            hash,
            ours: random(key_length)?,
        })
    }

    /// The reply to the first part.
    pub(crate) fn pairs(&self) -> Option<Vec<Pair>> {
        let flags = match self.verifier {
            Verifier::V12c => 0x4815,
            Verifier::V11g | Verifier::V11gMd5 => 0x1b25,
        };
        let mut pairs = vec![
            Pair::new("AUTH_SESSKEY", upper_hex(&encrypt(&self.hash, &self.ours)?)),
            Pair {
                key: "AUTH_VFR_DATA",
                value: upper_hex(&self.salt),
                flags,
            },
        ];
        if self.verifier != Verifier::V11gMd5 {
            pairs.push(Pair::new("AUTH_PBKDF2_CSK_SALT", upper_hex(&self.common_salt)));
            pairs.push(Pair::new("AUTH_PBKDF2_VGEN_COUNT", VERIFIER_ROUNDS.to_string()));
            pairs.push(Pair::new("AUTH_PBKDF2_SDER_COUNT", COMMON_ROUNDS.to_string()));
        }
        pairs.push(Pair::new("AUTH_GLOBALLY_UNIQUE_DBID\0", "0".repeat(32)));
        Some(pairs)
    }

    /// Whether the client knows the password; if so, the server's own proof.
    pub(crate) fn proof(&self, session_key: &str, encrypted: &str, password: &str) -> Option<String> {
        let theirs = decrypt(&self.hash, &hex::decode(session_key).ok()?)?;
        let common = match self.verifier {
            Verifier::V12c | Verifier::V11g => {
                let length = self.hash.len();
                let both = [theirs.get(..length)?, &self.ours[..length]].concat();
                derive(upper_hex(&both).as_bytes(), &self.common_salt, COMMON_ROUNDS, length)
            }
            Verifier::V11gMd5 => {
                let mixed = theirs.get(16..40)?.iter().zip(&self.ours[16..40]);
                let mixed: Vec<_> = mixed.map(|(theirs, ours)| theirs ^ ours).collect();
                let mut key = Md5::digest(&mixed[..16]).to_vec();
                key.extend(Md5::digest(&mixed[16..]));
                key.truncate(24);
                key
            }
        };
        let plain = decrypt(&common, &hex::decode(encrypted).ok()?)?;
        let padding = usize::from(*plain.last()?);
        let end = plain
            .len()
            .checked_sub(padding)
            .filter(|_| (1..=16).contains(&padding))?;
        (plain.get(16..end)? == password.as_bytes()).then_some(())?;
        let words = [&random(16)?[..], GREETING, &[16; 16]].concat();
        Some(upper_hex(&encrypt(&common, &words)?))
    }
}

fn random(length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

fn derive(secret: &[u8], salt: &[u8], rounds: NonZeroU32, length: usize) -> Vec<u8> {
    let mut key = vec![0; length];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, salt, secret, &mut key);
    key
}

/// AES in CBC mode, with a key of 24 or 32 bytes.
fn encrypt(key: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = plain.to_vec();
    let length = bytes.len();
    match key.len() {
        24 => cbc::Encryptor::<Aes192>::new_from_slices(key, &VECTOR)
            .ok()?
            .encrypt_padded::<NoPadding>(&mut bytes, length),
        _ => cbc::Encryptor::<Aes256>::new_from_slices(key, &VECTOR)
            .ok()?
            .encrypt_padded::<NoPadding>(&mut bytes, length),
    }
    .ok()?;
    Some(bytes)
}

fn decrypt(key: &[u8], encrypted: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = encrypted.to_vec();
    match key.len() {
        24 => cbc::Decryptor::<Aes192>::new_from_slices(key, &VECTOR)
            .ok()?
            .decrypt_padded::<NoPadding>(&mut bytes),
        _ => cbc::Decryptor::<Aes256>::new_from_slices(key, &VECTOR)
            .ok()?
            .decrypt_padded::<NoPadding>(&mut bytes),
    }
    .ok()?;
    Some(bytes)
}

fn upper_hex(bytes: &[u8]) -> String {
    hex::encode_upper(bytes)
}

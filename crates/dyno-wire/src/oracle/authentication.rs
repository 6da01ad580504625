//! Proving that we know the password, and having the server prove that it does.
//!
//! The server sends half of a session key, encrypted by a hash of the password; we send the other half likewise. Both
//! together make the key by which the password travels and by which the server encrypts a known text: only who knows
//! the password's hash could make that key. The hash is of 11g (SHA-1) or 12c (PBKDF2), whichever the server has.

use std::num::NonZero;

use md5::{Digest, Md5};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, pbkdf2};

use super::cipher::{self, BLOCK};
use super::reader::{Reader, Reading, Unread};
use super::writer::{write_number, write_optional, write_value};
use super::{OraConfig, OraError, OraVerifier, capabilities, malformed};
use crate::WireError;

/// The functions of both steps.
pub(super) const FIRST: u8 = 118;
pub(super) const SECOND: u8 = 115;

/// How we log in: as usual, and, in the second step, with a password.
const AS_USUAL: u64 = 1;
const WITH_PASSWORD: u64 = 0x100;

/// Verifiers by their types: two of 11g and one of 12c.
const OF_11: [u64; 2] = [0xB152, 0x1B25];
const OF_12: u64 = 0x4815;

/// The length of a half of the session key as 11g has it, in bytes.
const OLD_HALF: usize = 48;

/// What the server encrypts to prove that it knows the password.
const PROOF: &[u8] = b"SERVER_TO_CLIENT";

/// The most rounds of hashing that are done for a server; a server asks for some thousands.
const MOST_ROUNDS: u32 = 1_000_000;

/// More values than a server sends, and the longest of them that is kept, in bytes.
const MOST_PAIRS: usize = 256;
const LONGEST_VALUE: usize = 4096;

/// Values by their names, as both sides send them.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<(Vec<u8>, Vec<u8>, u64)>);

impl Pairs {
    /// Reads them, behind the message's type.
    pub(super) fn read(reader: &mut Reader<'_>) -> Reading<Self> {
        let count = reader.count()?;
        if count > MOST_PAIRS {
            return Err(Unread::Malformed("the log-in has more values than there can be"));
        }
        let pair = |_| {
            let (name, value) = (reader.optional()?, reader.optional()?);
            let flags = reader.number()?;
            if name.len() > LONGEST_VALUE || value.len() > LONGEST_VALUE {
                return Err(Unread::Malformed("a value of the log-in is too long"));
            }
            Ok((
                name.strip_suffix(&[0]).unwrap_or(&name).to_vec(),
                value.into_owned(),
                flags,
            ))
        };
        (0..count).map(pair).collect::<Reading<_>>().map(Self)
    }

    fn find(&self, name: &str) -> Option<&(Vec<u8>, Vec<u8>, u64)> {
        self.0.iter().find(|(found, ..)| found == name.as_bytes())
    }

    /// A value by its name.
    fn value(&self, name: &str) -> Option<&[u8]> {
        self.find(name).map(|(_, value, _)| value.as_slice())
    }

    /// A value that is a number.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        str::from_utf8(self.value(name)?).ok()?.trim().parse().ok()
    }

    /// A value that is bytes in hexadecimal digits.
    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        hex::decode(self.value(name)?).ok()
    }

    fn push(&mut self, name: &str, value: &[u8], flags: u64) {
        self.0.push((name.as_bytes().to_vec(), value.to_vec(), flags));
    }

    /// Appends a step of the log-in, behind the function's header.
    fn write(&self, user: &str, mode: u64, out: &mut Vec<u8>) {
        let user = dyno_text::encode(user);
        out.push(1);
        write_number(out, user.len() as u64);
        write_number(out, mode);
        out.push(1);
        write_number(out, self.0.len() as u64);
        out.extend_from_slice(&[1, 1]);
        write_value(out, &user);
        for (name, value, flags) in &self.0 {
            write_optional(out, name);
            write_optional(out, value);
            write_number(out, *flags);
        }
    }
}

/// Appends the first step: who we are.
pub(super) fn write_first(config: &OraConfig, out: &mut Vec<u8>) {
    let mut pairs = Pairs::default();
    let name = dyno_text::encode(&config.program_name);
    pairs.push("AUTH_TERMINAL", b"unknown", 0);
    pairs.push("AUTH_PROGRAM_NM", &name, 0);
    pairs.push("AUTH_MACHINE", &dyno_text::encode(&config.machine), 0);
    pairs.push("AUTH_PID", std::process::id().to_string().as_bytes(), 0);
    pairs.push("AUTH_SID", &name, 0);
    pairs.write(&config.user, AS_USUAL, out);
}

/// How a session represents what it is sent as text and sends as text, so that scripts do not depend on where the
/// client is: numbers with a point, and dates as other databases have them.
pub(super) const SETTINGS: &str = "ALTER SESSION SET TIME_ZONE='+00:00' NLS_LANGUAGE='AMERICAN' \
    NLS_TERRITORY='AMERICA' NLS_NUMERIC_CHARACTERS='.,' NLS_DATE_FORMAT='YYYY-MM-DD HH24:MI:SS' \
    NLS_TIMESTAMP_FORMAT='YYYY-MM-DD HH24:MI:SS.FF' NLS_TIMESTAMP_TZ_FORMAT='YYYY-MM-DD HH24:MI:SS.FF TZH:TZM'";

/// The second step, and how the server's proof is checked.
#[derive(Debug)]
pub(super) struct Authentication {
    /// What both halves of the session key make.
    key: Vec<u8>,
    /// What the server knows the password by.
    pub(super) verifier: OraVerifier,
}

impl Authentication {
    /// Appends the second step: our half of the session key, and the password by both halves.
    pub(super) fn write_second(
        config: &OraConfig,
        password: &[u8],
        challenge: &Pairs,
        out: &mut Vec<u8>,
    ) -> Result<Self, WireError> {
        let mut random = [0; OLD_HALF + 2 * BLOCK];
        let made = SystemRandom::new().fill(&mut random);
        made.map_err(|_| WireError::Unsendable("the system gives no random numbers for the log-in".into()))?;
        let (half, salts) = random.split_at(OLD_HALF);
        let (salt, other_salt) = salts.split_at(BLOCK);
        let verifier = Verifier::of(password, challenge)?;
        let theirs = challenge.bytes("AUTH_SESSKEY");
        let theirs = theirs.and_then(|key| cipher::decrypt(&verifier.hash, &key));
        let theirs = theirs.ok_or(malformed("the log-in's session key has an impossible form"))?;
        let ours = half.get(..theirs.len());
        let ours = ours.ok_or(malformed("the log-in's session key is too long"))?;
        let key = combine(&theirs, ours, verifier.hash.len(), challenge)?;
        let encrypted = |key: &[u8], plain: &[u8]| {
            cipher::encrypt(key, plain).ok_or(malformed("the log-in's session key has an impossible form"))
        };
        let mut pairs = Pairs::default();
        pairs.push(
            "AUTH_SESSKEY",
            hex::encode_upper(&encrypted(&verifier.hash, ours)?).as_bytes(),
            1,
        );
        if let Some(derived) = &verifier.derived {
            let speedy = encrypted(&key, &[salt, derived].concat())?;
            pairs.push("AUTH_PBKDF2_SPEEDY_KEY", hex::encode_upper(&speedy).as_bytes(), 0);
        }
        let mut padded = [other_salt, password].concat();
        let missing = BLOCK - padded.len() % BLOCK;
        padded.resize(padded.len() + missing, missing as u8);
        pairs.push(
            "AUTH_PASSWORD",
            hex::encode_upper(&encrypted(&key, &padded)?).as_bytes(),
            0,
        );
        pairs.push("SESSION_CLIENT_CHARSET", capabilities::UTF8.to_string().as_bytes(), 0);
        pairs.push("SESSION_CLIENT_DRIVER_NAME", b"dyno", 0);
        pairs.push("SESSION_CLIENT_VERSION", b"0", 0);
        pairs.push("AUTH_ALTER_SESSION", format!("{SETTINGS}\0").as_bytes(), 1);
        pairs.write(&config.user, AS_USUAL | WITH_PASSWORD, out);
        Ok(Self {
            key,
            verifier: match verifier.derived {
                Some(_) => OraVerifier::Of12c,
                None => OraVerifier::Of11g,
            },
        })
    }

    /// Checks the server's proof, which is among what it answers the second step with.
    pub(super) fn check(&self, answer: &Pairs) -> Result<(), OraError> {
        let proof = answer.bytes("AUTH_SVR_RESPONSE");
        let proof = proof.and_then(|proof| cipher::decrypt(&self.key, &proof));
        match proof.as_deref().and_then(|proof| proof.get(BLOCK..BLOCK + PROOF.len())) {
            Some(PROOF) => Ok(()),
            _ => Err(OraError::Proof),
        }
    }
}

/// What the server knows of the password, made of the password.
struct Verifier {
    /// The key by which halves of the session key are encrypted.
    hash: Vec<u8>,
    /// What the hash is made of, for the server to spare itself the rounds.
    derived: Option<[u8; 64]>,
}

impl Verifier {
    fn of(password: &[u8], challenge: &Pairs) -> Result<Self, WireError> {
        let incomplete = malformed("the log-in lacks what the password is hashed with");
        let Some((_, _, kind)) = challenge.find("AUTH_VFR_DATA") else {
            return Err(incomplete);
        };
        let salt = challenge.bytes("AUTH_VFR_DATA").ok_or(incomplete.clone())?;
        if OF_11.contains(kind) {
            let mut hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &[password, &salt].concat())
                .as_ref()
                .to_vec();
            hash.extend_from_slice(&[0; 4]);
            return Ok(Self { hash, derived: None });
        }
        if *kind != OF_12 {
            return Err(OraError::Verifier(*kind).into());
        }
        let mut derived = [0; 64];
        let salted = [&salt, &b"AUTH_PBKDF2_SPEEDY_KEY"[..]].concat();
        derive(
            password,
            &salted,
            rounds(challenge, "AUTH_PBKDF2_VGEN_COUNT")?,
            &mut derived,
        );
        let hash = digest::digest(&digest::SHA512, &[&derived[..], &salt].concat());
        Ok(Self {
            hash: hash.as_ref()[..32].to_vec(),
            derived: Some(derived),
        })
    }
}

/// The key that both halves of the session key make.
fn combine(theirs: &[u8], ours: &[u8], length: usize, challenge: &Pairs) -> Result<Vec<u8>, WireError> {
    let incomplete = malformed("the log-in's session key has an impossible form");
    if theirs.len() == OLD_HALF {
        let both: Vec<u8> = theirs[16..40].iter().zip(&ours[16..40]).map(|(a, b)| a ^ b).collect();
        let (first, second) = both.split_at(16);
        let mut key = [Md5::digest(first), Md5::digest(second)].concat();
        key.truncate(length);
        return Ok(key);
    }
    let (Some(ours), Some(theirs)) = (ours.get(..length), theirs.get(..length)) else {
        return Err(incomplete);
    };
    let salt = challenge.bytes("AUTH_PBKDF2_CSK_SALT").ok_or(incomplete)?;
    let rounds = rounds(challenge, "AUTH_PBKDF2_SDER_COUNT")?;
    let mut key = vec![0; length];
    derive(
        hex::encode_upper([ours, theirs].concat()).as_bytes(),
        &salt,
        rounds,
        &mut key,
    );
    Ok(key)
}

fn rounds(challenge: &Pairs, name: &str) -> Result<NonZero<u32>, WireError> {
    let rounds = challenge.number(name).filter(|rounds| *rounds <= MOST_ROUNDS);
    rounds.and_then(NonZero::new).ok_or(malformed(
        "the log-in asks for an impossible number of rounds of hashing",
    ))
}

fn derive(secret: &[u8], salt: &[u8], rounds: NonZero<u32>, out: &mut [u8]) {
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, salt, secret, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &[u8] = b"secret";

    fn config() -> OraConfig {
        OraConfig {
            user: "bench".into(),
            ..OraConfig::default()
        }
    }

    /// The server's side: what it asks, and what it makes of the answer.
    struct Server {
        kind: u64,
        half: Vec<u8>,
        hash: Vec<u8>,
        challenge: Pairs,
    }

    impl Server {
        fn new(kind: u64) -> Self {
            let mut challenge = Pairs::default();
            challenge.push("AUTH_VFR_DATA", b"00112233445566778899AABBCCDDEEFF", kind);
            challenge.push("AUTH_PBKDF2_VGEN_COUNT", b"16", 0);
            challenge.push("AUTH_PBKDF2_SDER_COUNT", b"3", 0);
            challenge.push("AUTH_PBKDF2_CSK_SALT", b"FFEEDDCCBBAA99887766554433221100", 0);
            let half: Vec<u8> = (0..if kind == OF_12 { 32 } else { 48 }).collect();
            let hash = Verifier::of(SECRET, &challenge)
                .map(|verifier| verifier.hash)
                .unwrap_or_default();
            let key = cipher::encrypt(&hash, &half).unwrap_or_default();
            challenge.push("AUTH_SESSKEY", hex::encode_upper(&key).as_bytes(), 0);
            Self {
                kind,
                half,
                hash,
                challenge,
            }
        }

        /// The password that an answer holds, and the server's proof.
        fn judge(&self, answer: &[u8]) -> (Vec<u8>, Pairs) {
            let mut reader = Reader::new(answer);
            assert_eq!(reader.take(1).unwrap(), [1]);
            let length = reader.count().unwrap();
            assert_eq!(reader.number(), Ok(AS_USUAL | WITH_PASSWORD));
            reader.take(1).unwrap();
            let count = reader.number().unwrap();
            reader.take(2).unwrap();
            assert_eq!(reader.value().unwrap().unwrap().len(), length);
            let mut again = Vec::new();
            write_number(&mut again, count);
            again.extend_from_slice(reader.take(reader.left()).unwrap());
            let pairs = Pairs::read(&mut Reader::new(&again)).unwrap();
            let ours = cipher::decrypt(&self.hash, &pairs.bytes("AUTH_SESSKEY").unwrap()).unwrap();
            let key = combine(&self.half, &ours, self.hash.len(), &self.challenge).unwrap();
            let password = cipher::decrypt(&key, &pairs.bytes("AUTH_PASSWORD").unwrap()).unwrap();
            let padding = usize::from(*password.last().unwrap());
            let password = password[16..password.len() - padding].to_vec();
            assert_eq!(pairs.value("AUTH_PBKDF2_SPEEDY_KEY").is_some(), self.kind == OF_12);
            let mut proof = Pairs::default();
            let text = [&[9; 16], PROOF, &[16; 16]].concat();
            let text = hex::encode_upper(cipher::encrypt(&key, &text).unwrap());
            proof.push("AUTH_SVR_RESPONSE", text.as_bytes(), 0);
            (password, proof)
        }
    }

    #[test]
    fn both_sides_prove_that_they_know_the_password() {
        for kind in [OF_12, OF_11[0], OF_11[1]] {
            let server = Server::new(kind);
            let mut out = Vec::new();
            let authentication = Authentication::write_second(&config(), SECRET, &server.challenge, &mut out).unwrap();
            assert_eq!(authentication.verifier == OraVerifier::Of12c, kind == OF_12);
            let (password, proof) = server.judge(&out);
            assert_eq!(password, SECRET);
            assert_eq!(authentication.check(&proof), Ok(()));
            // Who does not know it sends something else, or nothing.
            let mut forged = Pairs::default();
            assert_eq!(authentication.check(&forged), Err(OraError::Proof));
            forged.push("AUTH_SVR_RESPONSE", "AB".repeat(48).as_bytes(), 0);
            assert_eq!(authentication.check(&forged), Err(OraError::Proof));
        }
    }

    #[test]
    fn a_challenge_that_cannot_be_met_is_refused() {
        let answer = |challenge: &Pairs| Authentication::write_second(&config(), SECRET, challenge, &mut Vec::new());
        let mut server = Server::new(OF_12);
        server.challenge.0[1].1 = b"100000000".to_vec();
        let error = answer(&server.challenge).unwrap_err().to_string();
        assert!(error.contains("rounds of hashing"), "{error}");
        let error = answer(&Server::new(0x939).challenge).unwrap_err();
        assert_eq!(error, OraError::Verifier(0x939).into());
        for name in 0..5 {
            let mut server = Server::new(OF_12);
            server.challenge.0.remove(name);
            assert!(answer(&server.challenge).is_err(), "{name}");
        }
        let mut server = Server::new(OF_12);
        server.challenge.0[4].1 = "AB".repeat(64).into_bytes();
        assert!(answer(&server.challenge).is_err());
    }

    proptest! {
        #[test]
        fn no_values_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Pairs::read(&mut Reader::new(&bytes));
        }
    }
}

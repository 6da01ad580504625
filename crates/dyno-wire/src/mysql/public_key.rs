//! A password for the server's eyes only, without TLS: encrypted with the public key the server sends.

use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use num_bigint::BigUint;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{Decode, SliceReader};
use x509_cert::spki::SubjectPublicKeyInfoRef;

use super::MyError;

/// What the padding takes of a block, in bytes: twice a SHA-1, and two (RFC 8017, 7.1.1).
const PADDING: usize = 42;
/// The shortest key that is taken, in bytes.
const SHORTEST: usize = 128;
/// The longest key, and the longest exponent, in bytes: greater ones would only keep us busy.
const LONGEST: usize = 1024;
const LONGEST_EXPONENT: usize = 8;

/// Encrypts a password, with its closing NUL and covered by the nonce, for the holder of the key in this PEM text: RSA
/// with OAEP, which MySQL 8.0.5 and later expect.
pub(super) fn encrypt(password: &[u8], nonce: &[u8], pem: &[u8]) -> Result<Vec<u8>, MyError> {
    let refused = MyError::PublicKey;
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| refused("it is no PEM text of a public key"))?;
    let (modulus, exponent) = numbers(&der).ok_or(refused("it is no RSA key"))?;
    let octets = modulus.len();
    if !(SHORTEST..=LONGEST).contains(&octets) || exponent.len() > LONGEST_EXPONENT {
        return Err(refused("its length is not between 1024 and 8192 bits"));
    }
    let block: Vec<u8> = password
        .iter()
        .chain(&[0])
        .zip(nonce.iter().cycle())
        .map(|(byte, cover)| byte ^ cover)
        .collect();
    // The library asks that the block fits, and counts a key whose first byte is small as one byte shorter.
    if block.len() + PADDING >= octets {
        return Err(refused("it is too short for this password"));
    }
    let key = PublicKey::new(BigUint::from_bytes_be(&modulus), BigUint::from_bytes_be(&exponent));
    key.encrypt_block(block, Pkcs1OaepPadding::new(GetRandom))
        .map_err(|_| refused("the system gave no random numbers"))
}

/// The modulus and the exponent of an RSA key, as big-endian numbers without leading zeros (RFC 8017, A.1.1).
fn numbers(der: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let info = SubjectPublicKeyInfoRef::from_der(der).ok()?;
    let mut reader = SliceReader::new(info.subject_public_key.as_bytes()?).ok()?;
    let numbers = x509_cert::der::Reader::sequence(&mut reader, |fields| {
        let modulus = UintRef::decode(fields)?.as_bytes().to_vec();
        let exponent = UintRef::decode(fields)?.as_bytes().to_vec();
        Ok((modulus, exponent))
    });
    numbers.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

    const PEM: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDTWDpag+R8FX0bt/evEdvLPlX5
15GFGNG3Iclyj9D60BKg7+rSxbtKGrG7c8b7oFQaxZuyfi9KyqMEHfjJktzpHuh2
a0zq/RVAENut/GhHCnvrGb9c/ErtRtJ6nFMUOXxVKtArVANkVjuInObx6fZWrjXq
Hig/5XMEO4vyrJDZNwIDAQAB
-----END PUBLIC KEY-----
";
    /// The other half of it.
    const PRIVATE_EXPONENT: &str = "\
        a665adb3fc6a15a419978c55af7a2112396719c9b6e212f372fb600f19da50cf280b9c39c76f35119848dd2cbfbaf7b5a04a\
        7b56a270fbb2e57c6558aee43996c78e46aaf308795843c01d8a00a718ddca2c81c48b54a92c97d1173b10de5fa1e7b730f7\
        e6aa22ae118a7db42b985c11ddb00c7613d2041aa478fcdb298e0ed9";
    const NONCE: &[u8] = b"abcdefghijklmnopqrst";

    /// The mask that covers the other part of a block (RFC 8017, B.2.1).
    fn mask(seed: &[u8], length: usize) -> Vec<u8> {
        let parts = (0_u32..).flat_map(|counter| {
            let part = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[seed, &counter.to_be_bytes()].concat());
            part.as_ref().to_vec()
        });
        parts.take(length).collect()
    }

    fn xor(text: &[u8], cover: &[u8]) -> Vec<u8> {
        text.iter().zip(cover.iter().cycle()).map(|(a, b)| a ^ b).collect()
    }

    /// What a server makes of it (RFC 8017, 7.1.2).
    fn decrypt(encrypted: &[u8]) -> Vec<u8> {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(PEM.as_bytes()).unwrap();
        let modulus = BigUint::from_bytes_be(&numbers(&der).unwrap().0);
        let exponent = BigUint::parse_bytes(PRIVATE_EXPONENT.as_bytes(), 16).unwrap();
        let number = BigUint::from_bytes_be(encrypted)
            .modpow(&exponent, &modulus)
            .to_bytes_be();
        // A number has no zeros before it, a block may have several; its first byte, which is one, is left out.
        let block = [vec![0; encrypted.len() - 1 - number.len()], number].concat();
        let (seed, data) = block.split_at(20);
        let seed = xor(seed, &mask(data, 20));
        let data = xor(data, &mask(&seed, data.len()));
        let end = data[20..].iter().position(|&byte| byte == 1).unwrap();
        xor(&data[20 + end + 1..], NONCE)
    }

    #[test]
    fn the_holder_of_the_key_reads_the_password() {
        // What is drawn for a block begins with a zero now and then.
        for password in [&b"secret"[..], b"", &[b'x'; 84]].into_iter().cycle().take(1_000) {
            let encrypted = encrypt(password, NONCE, PEM.as_bytes()).unwrap();
            assert_eq!(encrypted.len(), 128);
            assert_eq!(decrypt(&encrypted), [password, b"\0"].concat());
        }
    }

    #[test]
    fn a_key_that_cannot_do_it_is_refused() {
        let error = encrypt(&[b'x'; 90], NONCE, PEM.as_bytes()).unwrap_err();
        assert_eq!(error, MyError::PublicKey("it is too short for this password"));
        let error = encrypt(b"secret", NONCE, b"secret").unwrap_err();
        assert_eq!(error, MyError::PublicKey("it is no PEM text of a public key"));
        let damaged = PEM.replace("AQAB", "AQA");
        assert!(encrypt(b"secret", NONCE, damaged.as_bytes()).is_err());
    }
}

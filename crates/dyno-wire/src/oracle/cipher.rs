//! The encryption of the log-in: AES in CBC mode, with an initialisation vector of zeros and no padding of its own.

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use aes::{Aes192, Aes256};

/// The length of a block, in bytes.
pub(super) const BLOCK: usize = 16;

const ZEROS: [u8; BLOCK] = [0; BLOCK];

/// Encrypts whole blocks by a key of 24 or 32 bytes; `None` if either has another length.
pub(super) fn encrypt(key: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; plain.len()];
    match key.len() {
        24 => cbc::Encryptor::<Aes192>::new_from_slices(key, &ZEROS)
            .ok()?
            .encrypt_padded_b2b::<NoPadding>(plain, &mut out)
            .ok()?,
        _ => cbc::Encryptor::<Aes256>::new_from_slices(key, &ZEROS)
            .ok()?
            .encrypt_padded_b2b::<NoPadding>(plain, &mut out)
            .ok()?,
    };
    Some(out)
}

/// The other way round.
pub(super) fn decrypt(key: &[u8], encrypted: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; encrypted.len()];
    match key.len() {
        24 => cbc::Decryptor::<Aes192>::new_from_slices(key, &ZEROS)
            .ok()?
            .decrypt_padded_b2b::<NoPadding>(encrypted, &mut out)
            .ok()?,
        _ => cbc::Decryptor::<Aes256>::new_from_slices(key, &ZEROS)
            .ok()?
            .decrypt_padded_b2b::<NoPadding>(encrypted, &mut out)
            .ok()?,
    };
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST SP 800-38A, "CBC-AES256.Encrypt": with its own initialisation vector, the first block of which is the plain
    /// text's combined with that.
    #[test]
    fn a_block_is_encrypted_as_the_standard_says() {
        let key = [
            0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35,
            0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4,
        ];
        // ECB-AES256, block 1: the same as CBC with zeros.
        let plain = [
            0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
        ];
        let expected = [
            0xf3, 0xee, 0xd1, 0xbd, 0xb5, 0xd2, 0xa0, 0x3c, 0x06, 0x4b, 0x5a, 0x7e, 0x3d, 0xb1, 0x81, 0xf8,
        ];
        assert_eq!(encrypt(&key, &plain).unwrap(), expected);
    }

    #[test]
    fn what_is_encrypted_is_decrypted() {
        for key in [&[7; 24][..], &[7; 32]] {
            let plain = [3; 48];
            let encrypted = encrypt(key, &plain).unwrap();
            assert_ne!(encrypted[..16], encrypted[16..32]);
            assert_eq!(decrypt(key, &encrypted).unwrap(), plain);
        }
        assert_eq!(encrypt(&[7; 31], &[0; 16]), None);
        assert_eq!(decrypt(&[7; 32], &[0; 17]), None);
    }
}

//! What is read from a certificate beyond what rustls reads itself.

use std::time::Duration;

use ring::digest::{self, Algorithm};
use rustls::pki_types::{ServerName, SubjectPublicKeyInfoDer, UnixTime};
use x509_cert::certificate::{Certificate, Version};
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// The hash of the server's certificate (in DER) that binds SCRAM to the encryption, for a [`Channel`](crate::Channel).
///
/// It is the certificate's own signature hash, with SHA-256 in place of the broken MD5 and SHA-1 (RFC 5929, section
/// 4.1, `tls-server-end-point`). `None` where that defines no hash, as for Ed25519: then there is no binding.
pub fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_hash(&parse(certificate)?.signature_algorithm.oid)?;
    Some(digest::digest(algorithm, certificate).as_ref().to_vec())
}

/// The hash to use for a signature algorithm. Identifiers: RFC 3279 (MD5, SHA-1), RFC 4055 (RSA), RFC 5758 (ECDSA).
fn signature_hash(oid: &ObjectIdentifier) -> Option<&'static Algorithm> {
    match oid.to_string().as_str() {
        // RSA with MD5, SHA-1, SHA-256; ECDSA with SHA-1, SHA-256; DSA with SHA-1.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2"
        | "1.2.840.10040.4.3" => Some(&digest::SHA256),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Some(&digest::SHA384),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Some(&digest::SHA512),
        _ => None,
    }
}

/// The certificate in this DER, if it is one.
pub(super) fn parse(der: &[u8]) -> Option<Certificate> {
    Certificate::from_der(der).ok()
}

/// The key a certificate is about.
pub(super) fn public_key(certificate: &Certificate) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let key = &certificate.tbs_certificate.subject_public_key_info;
    Some(SubjectPublicKeyInfoDer::from(key.to_der().ok()?))
}

/// Whether this is a certificate of X.509 version 3, the only one webpki verifies.
pub(super) fn is_version_3(certificate: &Certificate) -> bool {
    certificate.tbs_certificate.version == Version::V3
}

/// Whether an instant lies before, in or after a certificate's time of validity.
pub(super) fn validity(certificate: &Certificate, now: UnixTime) -> std::cmp::Ordering {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let now = Duration::from_secs(now.as_secs());
    let validity = &certificate.tbs_certificate.validity;
    if now < validity.not_before.to_unix_duration() {
        Less
    } else if now > validity.not_after.to_unix_duration() {
        Greater
    } else {
        Equal
    }
}

/// Whether a certificate that states no alternative names is for this host by its subject's common name.
///
/// Certificates made as PostgreSQL's documentation shows say the name only there, and libpq accepts it; webpki does
/// not.
pub(super) fn common_name_matches(certificate: &Certificate, host: &ServerName<'_>) -> bool {
    let states_alternatives = match certificate.tbs_certificate.get::<SubjectAltName>() {
        Ok(None) => false,
        Ok(Some((_, names))) => names
            .0
            .iter()
            .any(|name| matches!(name, GeneralName::DnsName(_) | GeneralName::IpAddress(_))),
        Err(_) => true,
    };
    if states_alternatives {
        return false;
    }
    match (common_name(certificate), host) {
        (Some(name), ServerName::DnsName(host)) => dns_name_matches(&name, host.as_ref()),
        (Some(name), ServerName::IpAddress(_)) => name == host.to_str(),
        _ => false,
    }
}

/// The first common name in a certificate's subject.
fn common_name(certificate: &Certificate) -> Option<String> {
    const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
    let names = certificate.tbs_certificate.subject.0.iter();
    let value = names
        .flat_map(|name| name.0.iter())
        .find(|attribute| attribute.oid == COMMON_NAME)?
        .value
        .value();
    String::from_utf8(value.to_vec()).ok()
}

/// Whether a host has the name in a certificate, whose first label may be `*` for any one label.
fn dns_name_matches(name: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    match name.strip_prefix("*.") {
        Some(domain) => host
            .split_once('.')
            .is_some_and(|(label, rest)| !label.is_empty() && rest.contains('.') && rest.eq_ignore_ascii_case(domain)),
        None => name.eq_ignore_ascii_case(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

    fn certificate(common_name: &str, alternatives: &[&str]) -> Vec<u8> {
        let names: Vec<String> = alternatives.iter().map(|&name| name.into()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .der()
            .to_vec()
    }

    fn is_for(certificate: &[u8], host: &str) -> bool {
        common_name_matches(&parse(certificate).unwrap(), &ServerName::try_from(host).unwrap())
    }

    #[test]
    fn a_common_name_counts_without_alternatives_only() {
        assert!(is_for(&certificate("db.example.com", &[]), "DB.example.com"));
        assert!(!is_for(&certificate("db.example.com", &[]), "db2.example.com"));
        assert!(!is_for(
            &certificate("db.example.com", &["other.example.com"]),
            "db.example.com"
        ));
        assert!(is_for(&certificate("192.0.2.1", &[]), "192.0.2.1"));
        assert!(!is_for(&certificate("192.0.2.1", &[]), "192.0.2.2"));
    }

    #[test]
    fn a_wildcard_stands_for_one_label() {
        assert!(dns_name_matches("*.example.com", "db.example.com"));
        assert!(!dns_name_matches("*.example.com", "a.db.example.com"));
        assert!(!dns_name_matches("*.example.com", "example.com"));
        assert!(!dns_name_matches("*.com", "example.com"));
        assert!(!dns_name_matches("*", "localhost"));
        assert!(dns_name_matches("localhost", "localhost."));
    }

    #[test]
    fn the_end_point_hash_follows_the_signature() {
        let der = certificate("localhost", &[]);
        let sha256 = digest::digest(&digest::SHA256, &der).as_ref().to_vec();
        assert_eq!(server_end_point(&der), Some(sha256));

        let signed_with = |algorithm| {
            let key = KeyPair::generate_for(algorithm).unwrap();
            CertificateParams::default().self_signed(&key).unwrap().der().to_vec()
        };
        let der = signed_with(&PKCS_ECDSA_P384_SHA384);
        let sha384 = digest::digest(&digest::SHA384, &der).as_ref().to_vec();
        assert_eq!(server_end_point(&der), Some(sha384));
        assert_eq!(server_end_point(&signed_with(&PKCS_ED25519)), None);
        assert_eq!(server_end_point(b"no certificate"), None);
    }
}

//! The parameters by which whoever connects says what he would rather not connect without: TLS and authentication.

use super::AddressError;
use super::resolve::{Given, Parameters};
use super::tls::TlsSettings;
use dyno_wire::tls::Versions;
use dyno_wire::{AuthenticationPolicy, ChannelBinding};
use std::path::{Path, PathBuf};

/// What a value may be, for errors.
const TLS_VERSIONS: &str = "give TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3";

/// TLS as asked for.
pub(super) fn tls(parameters: &Parameters, home: Option<&Path>) -> Result<TlsSettings, AddressError> {
    let mode = parameters.parse(
        "sslmode",
        "give disable, allow, prefer, require, verify-ca or verify-full",
        |text| text.parse().ok(),
    )?;
    // As in libpq, the old keyword counts where the new one is not given.
    let demanded = parameters.get("requiressl").is_some_and(|text| text.starts_with('1'));
    let mode = mode.or_else(|| demanded.then_some(dyno_wire::tls::SslMode::Require));
    let path = |keyword: &str| parameters.get(keyword).map(PathBuf::from);
    let mut tls = TlsSettings::new(
        mode,
        parameters.get("sslrootcert"),
        path("sslcert"),
        path("sslkey"),
        home,
    );
    let send_certificate = parameters
        .parse(
            "sslcertmode",
            "give disable or allow; dyno does not support require",
            |text| match text {
                "disable" => Some(false),
                "allow" => Some(true),
                _ => None,
            },
        )?
        .unwrap_or(true);
    if !send_certificate {
        tls.client = None;
    }
    tls.hide_server_name = parameters.get("sslsni") == Some("0");
    tls.revocations = path("sslcrl").or_else(|| {
        let usual = home?.join(".postgresql").join("root.crl");
        usual.exists().then_some(usual)
    });
    tls.revocation_folder = path("sslcrldir");
    tls.versions = versions(parameters)?;
    Ok(tls)
}

/// The versions of TLS between the least and the greatest wanted. What dyno speaks, 1.2 and 1.3, is more than older
/// minima ask for.
fn versions(parameters: &Parameters) -> Result<Versions, AddressError> {
    let read = |keyword| {
        parameters.parse(keyword, TLS_VERSIONS, |text| match text.to_ascii_lowercase().as_str() {
            "tlsv1" => Some(10),
            "tlsv1.1" => Some(11),
            "tlsv1.2" => Some(12),
            "tlsv1.3" => Some(13),
            _ => None,
        })
    };
    let minimum = read("ssl_min_protocol_version")?.unwrap_or(12);
    let maximum = read("ssl_max_protocol_version")?.unwrap_or(13);
    let refuse = |expected: &str| {
        let given = parameters.given("ssl_max_protocol_version");
        let given = given.or_else(|| parameters.given("ssl_min_protocol_version"));
        let Given { value, origin } = given.cloned().unwrap_or_default();
        Err(AddressError::Value {
            keyword: origin,
            value,
            expected: expected.to_owned(),
        })
    };
    match (minimum, maximum) {
        _ if minimum > maximum => refuse("it is below ssl_min_protocol_version"),
        (_, 10 | 11) => refuse("dyno speaks TLSv1.2 and TLSv1.3 only"),
        (13, _) => Ok(Versions::Tls13),
        (_, 12) => Ok(Versions::Tls12),
        _ => Ok(Versions::Both),
    }
}

/// What a server may ask for when we log in.
pub(super) fn authentication(parameters: &Parameters) -> Result<AuthenticationPolicy, AddressError> {
    let channel_binding = parameters
        .parse("channel_binding", "give disable, prefer or require", |text| {
            Some(match text {
                "disable" => ChannelBinding::Disable,
                "prefer" => ChannelBinding::Prefer,
                "require" => ChannelBinding::Require,
                _ => return None,
            })
        })?
        .unwrap_or_default();
    let require_auth = match parameters.given("require_auth") {
        None => None,
        Some(Given { value, origin }) => Some(value.parse().map_err(|why: String| AddressError::Value {
            keyword: origin.clone(),
            value: value.clone(),
            expected: why,
        })?),
    };
    Ok(AuthenticationPolicy {
        require_auth,
        channel_binding,
    })
}

#[cfg(test)]
mod tests {
    use crate::postgres::address::ConnectionInfo;
    use dyno_wire::ChannelBinding;
    use dyno_wire::tls::{SslMode, Versions};

    fn resolve(target: &str, variables: &[(&str, &str)]) -> Result<ConnectionInfo, String> {
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ConnectionInfo::resolve(Some(target), &env).map_err(|error| error.to_string())
    }

    #[test]
    fn tls_versions_are_a_range() {
        for (target, expected) in [
            ("host=h", Ok(Versions::Both)),
            ("host=h ssl_min_protocol_version=TLSv1", Ok(Versions::Both)),
            ("host=h ssl_min_protocol_version=tlsv1.3", Ok(Versions::Tls13)),
            ("host=h ssl_max_protocol_version=TLSv1.2", Ok(Versions::Tls12)),
            (
                "host=h ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2",
                Err("below"),
            ),
            ("host=h ssl_max_protocol_version=TLSv1.1", Err("below")),
            (
                "host=h ssl_min_protocol_version=TLSv1 ssl_max_protocol_version=TLSv1.1",
                Err("speaks TLSv1.2"),
            ),
            ("host=h ssl_min_protocol_version=SSLv3", Err("TLSv1.2")),
        ] {
            match (resolve(&format!("user=u {target}"), &[]), expected) {
                (Ok(info), Ok(versions)) => assert_eq!(info.tls().versions, versions, "{target}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (outcome, _) => panic!("{target}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn each_is_heard_wherever_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        for (keyword, variable, value) in [
            ("channel_binding", "PGCHANNELBINDING", "require"),
            ("require_auth", "PGREQUIREAUTH", "scram-sha-256"),
            ("requirepeer", "PGREQUIREPEER", "root"),
            ("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", "TLSv1.3"),
            ("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", "TLSv1.2"),
            ("sslcrl", "PGSSLCRL", "/crl"),
            ("sslcrldir", "PGSSLCRLDIR", "/crls"),
            ("sslcertmode", "PGSSLCERTMODE", "disable"),
            ("sslsni", "PGSSLSNI", "0"),
            ("requiressl", "PGREQUIRESSL", "1"),
        ] {
            std::fs::write(&file, format!("[s]\n{keyword}={value}\n")).unwrap();
            let service = [("PGSERVICEFILE", file.to_str().unwrap())];
            let told = |info: ConnectionInfo| {
                let mut shown = format!("{:?} {:?}", info.tls, info.authentication);
                shown.push_str(&format!("{:?} {:?}", info.required_peer, info.warnings));
                shown
            };
            let silent = told(resolve("postgres://u@h/d", &[]).unwrap());
            let heard = [
                resolve(&format!("user=u host=h dbname=d {keyword}={value}"), &[]),
                resolve(
                    &format!("postgres://u@h/d?{keyword}={}", value.replace('/', "%2F")),
                    &[],
                ),
                resolve("postgres://u@h/d", &[(variable, value)]),
                resolve("postgres://u@h/d?service=s", &service),
            ]
            .map(|info| told(info.unwrap()));
            let quiet = keyword == "sslcertmode";
            for one in &heard {
                assert_eq!(one, &heard[0], "{keyword}");
                assert_eq!(*one == silent, quiet, "{keyword}: {one}");
            }
        }
        assert_eq!(
            resolve("user=u requiressl=1", &[]).unwrap().tls().mode,
            SslMode::Require
        );
        let target = "user=u host=h channel_binding=disable";
        let info = resolve(target, &[("PGCHANNELBINDING", "require")]).unwrap();
        assert_eq!(info.authentication.channel_binding, ChannelBinding::Disable);
    }

    #[test]
    fn what_is_refused_is_refused_wherever_it_is_given() {
        for (keyword, variable, value) in [
            ("gssencmode", "PGGSSENCMODE", "require"),
            ("sslnegotiation", "PGSSLNEGOTIATION", "direct"),
            ("sslcertmode", "PGSSLCERTMODE", "require"),
            ("load_balance_hosts", "PGLOADBALANCEHOSTS", "random"),
            ("min_protocol_version", "PGMINPROTOCOLVERSION", "3.2"),
            ("require_auth", "PGREQUIREAUTH", "password,!md5"),
            ("channel_binding", "PGCHANNELBINDING", "yes"),
        ] {
            let by_key = resolve(&format!("user=u {keyword}={value}"), &[]).unwrap_err();
            assert!(by_key.contains(keyword) && by_key.contains("the target"), "{by_key}");
            let by_variable = resolve("user=u", &[(variable, value)]).unwrap_err();
            assert!(by_variable.contains(variable), "{by_variable}");
        }
        // What is not effective asks for nothing.
        let overruled = resolve("user=u gssencmode=disable", &[("PGGSSENCMODE", "require")]);
        assert!(overruled.is_ok());
        // Variables without effect are not worth a word.
        let harmless = resolve("user=u", &[("PGKRBSRVNAME", "postgres")]).unwrap();
        assert!(harmless.warnings().is_empty());
    }
}

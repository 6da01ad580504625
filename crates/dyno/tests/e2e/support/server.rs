//! A server for all cases that need one by address: started by the first that asks, stopped when the last that uses
//! it is done. Each case has databases of its own.

use super::{home, programs};
use dyno_target::postgres::address::{ConnectionInfo, Socket};
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server, create_from_template, drop_database};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, RevokedCertParams, SerialNumber, date_time_ymd,
};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

/// A server with the right to be there.
pub struct Shared {
    // Dropped in this order: first the server stops, then the cluster is free.
    pub server: Server,
    _embedded: Embedded,
}

fn embedded(cluster: &str) -> Embedded {
    programs();
    let mut options = EmbeddedOptions::new(home::shared());
    cluster.clone_into(&mut options.cluster);
    Embedded::prepare(&options, &mut |_| ()).unwrap()
}

/// The server on this cluster, which `running` knows if it is up.
fn shared(cluster: &str, running: &Mutex<Weak<Shared>>) -> Arc<Shared> {
    let mut shared = running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(running) = shared.upgrade() {
        return running;
    }
    let embedded = embedded(cluster);
    // The studies use up to 128 clients.
    let settings = [("max_connections".to_owned(), "200".to_owned())];
    let server = embedded.start(&settings, &mut |_| ()).unwrap();
    let started = Arc::new(Shared {
        server,
        _embedded: embedded,
    });
    *shared = Arc::downgrade(&started);
    started
}

/// A database of the shared server.
pub struct Database {
    shared: Arc<Shared>,
    name: String,
}

/// A fresh database of this name on the server that all cases share.
pub fn database(name: &str) -> Database {
    static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    database_of(shared("tests-e2e", &SHARED), name)
}

/// The same on a server of which every dyno wants to be the only user. Tests that change a setting of it and look at
/// its value change one each: another's change would be taken for what their own left behind.
pub fn database_alone(name: &str) -> Database {
    static ALONE: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    database_of(shared("tests-e2e-alone", &ALONE), name)
}

/// The same on a server on which reservations are taken away: nobody else's campaign is to suffer from that.
pub fn database_unreserved(name: &str) -> Database {
    static UNRESERVED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    database_of(shared("tests-e2e-unreserved", &UNRESERVED), name)
}

fn database_of(shared: Arc<Shared>, name: &str) -> Database {
    let mut client = shared.server.connection("postgres").connect().unwrap();
    drop_database(&mut client, name).unwrap();
    create_from_template(&mut client, "template0", name).unwrap();
    Database {
        shared,
        name: name.to_owned(),
    }
}

impl Database {
    /// Its address on the unix socket, where no password is asked for.
    pub fn target(&self) -> String {
        self.info().to_string()
    }

    fn info(&self) -> ConnectionInfo {
        self.shared.server.connection(&self.name)
    }

    /// The same, for others than dyno.
    pub fn config(&self) -> postgres::Config {
        let endpoint = self.info().endpoint().unwrap();
        let mut config = postgres::Config::new();
        if let Socket::Unix(path) = &endpoint.socket {
            config.host_path(path.parent().unwrap());
        }
        config.port(self.port()).user("postgres").dbname(&self.name);
        config
    }

    pub fn port(&self) -> u16 {
        self.shared.server.port()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A superuser's connection.
    pub fn connect(&self) -> dyno_target::postgres::Client {
        self.info().connect().unwrap()
    }

    /// The server's maintenance database.
    pub fn neighbour(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            name: "postgres".to_owned(),
        }
    }

    /// Runs SQL as the superuser.
    pub fn execute(&self, sql: &str) {
        self.connect().batch_execute(sql).unwrap();
    }

    /// The only value of a query.
    pub fn value(&self, query: &str) -> String {
        let row = self
            .connect()
            .query_one(&format!("select ({query})::text"), &[])
            .unwrap();
        row.get::<_, Option<String>>(0).unwrap_or_default()
    }

    /// A login role with this password, which may create schemas in this database and nothing more.
    pub fn role(&self, name: &str, password: &str) {
        self.execute(&format!(
            "drop role if exists {name};
             create role {name} login password '{password}';
             grant create on database {} to {name}",
            self.name
        ));
    }
}

/// Makes an authority and a certificate for localhost in a folder: `ca.pem`, `server.pem`, `server.key`; and lists
/// of what the authority revoked, nothing in `empty.crl` and that certificate in `revoking.crl`.
pub fn certificate_folder(folder: &Path) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "Test authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let serial = SerialNumber::from(7_u64);
    params.serial_number = Some(serial.clone());
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    fs::write(folder.join("server.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
    let revoked = RevokedCertParams {
        serial_number: serial,
        revocation_time: date_time_ymd(2020, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    for (name, revoked_certs) in [("empty.crl", vec![]), ("revoking.crl", vec![revoked])] {
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(2999, 1, 1),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&authority).unwrap().pem().unwrap();
        fs::write(folder.join(name), list).unwrap();
    }
}

/// A server that offers TLS with the certificate in this folder.
pub fn tls_server(folder: &Path) -> Shared {
    let embedded = embedded("tests-e2e-tls");
    let owner = fs::metadata(embedded.data_folder()).unwrap();
    let key = folder.join("server.key");
    // PostgreSQL wants the key to be its own and closed to others.
    chown(&key, Some(owner.uid()), Some(owner.gid())).unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let file = |name: &str| folder.join(name).display().to_string();
    let settings = [
        ("ssl", "on".to_owned()),
        ("ssl_cert_file", file("server.pem")),
        ("ssl_key_file", file("server.key")),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    let server = embedded.start(&settings, &mut |_| ()).unwrap();
    Shared {
        server,
        _embedded: embedded,
    }
}

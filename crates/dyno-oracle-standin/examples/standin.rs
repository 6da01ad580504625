//! A stand-in to connect to by hand, until standard input ends; a line there shows what clients asked of it.

#[path = "../tests/behind/mod.rs"]
mod behind;

use clap::{Parser, ValueEnum};
use dyno_oracle_standin::{Column, Instant, Kind, Listener, Options, Pieces, Profile, Standin, Value, Verifier};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// How many rows the table of instant answers has.
const INSTANT_ROWS: i64 = 1000;

#[derive(Clone, Copy, ValueEnum)]
enum Generation {
    #[value(name = "19")]
    V19,
    #[value(name = "23")]
    V23,
}

#[derive(Clone, Copy, ValueEnum)]
enum Stored {
    #[value(name = "11g")]
    V11g,
    #[value(name = "11g-md5")]
    V11gMd5,
    #[value(name = "12c")]
    V12c,
}

/// A server that speaks Oracle's protocol, with the user bench, the password secret and any service.
#[derive(Parser)]
struct Arguments {
    /// The port; 0 is a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The generation of servers it stands in for
    #[arg(long, value_enum, default_value = "23")]
    profile: Generation,
    /// How the password is stored
    #[arg(long, value_enum, default_value = "12c")]
    verifier: Stored,
    /// The largest packet
    #[arg(long, default_value_t = 8192)]
    sdu: u32,
    /// The most bytes of a message in a packet
    #[arg(long)]
    packet: Option<usize>,
    /// The most bytes given to the network at once
    #[arg(long)]
    write: Option<usize>,
    /// Leave out values that repeat those of the row before
    #[arg(long)]
    compress: bool,
    /// Speak TLS, with a certificate that is put into this folder as ewallet.pem
    #[arg(long, value_name = "FOLDER")]
    tls: Option<PathBuf>,
    /// Refuse connections with this error
    #[arg(long)]
    refuse: Option<u32>,
    /// Answer at once from memory: 1000 rows of ID, INFO for `from tbl`, all changes change a row
    #[arg(long)]
    instant: bool,
    /// Where the embedded server is kept
    #[arg(long, env = "DYNO_HOME", default_value = "/tmp/dyno-oracle-standin")]
    home: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut database = None;
    let mut options = if arguments.instant {
        Options::new(Arc::new(instant()))
    } else {
        let database = database.insert(behind::database(&arguments.home, "standin")?);
        Options::new(Arc::new(database.executors.clone()))
    };
    options.port = arguments.port;
    options.profile = match arguments.profile {
        Generation::V19 => Profile::V19,
        Generation::V23 => Profile::V23,
    };
    options.verifier = match arguments.verifier {
        Stored::V11g => Verifier::V11g,
        Stored::V11gMd5 => Verifier::V11gMd5,
        Stored::V12c => Verifier::V12c,
    };
    options.pieces = Pieces {
        sdu: arguments.sdu,
        packet: arguments.packet,
        write: arguments.write,
    };
    options.compress = arguments.compress;
    if let Some(folder) = &arguments.tls {
        options.tls = Some(certified(folder)?);
    }
    if let Some(code) = arguments.refuse {
        options.listener = Listener::Refuses(code);
    }
    let standin = Standin::start(options)?;
    println!("listening on {}", standin.address());
    for _ in io::stdin().lines() {
        println!("{:?}", standin.counts());
    }
    println!("{:?}", standin.counts());
    for complaint in standin.complaints() {
        println!("{complaint}");
    }
    Ok(())
}

/// TLS with a certificate that is made now, for clients to trust.
fn certified(folder: &Path) -> Result<Arc<ServerConfig>, Box<dyn Error>> {
    let party = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("ewallet.pem"), party.cert.pem())?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(party.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![party.cert.der().clone()], key)?;
    Ok(Arc::new(config))
}

/// A table in memory.
fn instant() -> Instant {
    let columns = vec![
        Column::new("ID", Kind::Number),
        Column::new("INFO", Kind::Varchar).sized(100),
    ];
    let row = |id: i64| vec![Value::number(id), Value::Text(format!("info-{id}"))];
    let one = vec![row(1)];
    Instant::new()
        .answer("from tbl where id =", columns.clone(), one)
        .answer("from tbl", columns, (1..=INSTANT_ROWS).map(row).collect())
}

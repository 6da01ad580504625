//! What dyno keeps in its home folder: programs, clusters, and the data in them. All of it can be made again, so
//! all of it may go, unless somebody uses it.

use super::{Embedded, EmbeddedError, EmbeddedOptions, POSTGRESQL, Progress, drop_database};
use crate::embedded::lock::Lock;
use crate::embedded::stale;
use crate::postgres::schema::Mark;
use crate::postgres::server_message;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders of an installation that did not finish begin so.
const UNFINISHED: &str = ".staging-";

/// Something that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What and where: a path below the home folder, for data with the name of its database at the end.
    pub name: String,
    /// What it is.
    pub kind: KeptKind,
    /// How much of the disk it takes; of a cluster with all its data.
    pub bytes: u64,
    /// When it was used last, if that is known.
    pub used: Option<SystemTime>,
    /// Whether another dyno uses it now. It is not removed then.
    pub in_use: bool,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptKind {
    /// PostgreSQL's programs, as fetched.
    Programs,
    /// What an interrupted installation left.
    Unfinished,
    /// A cluster with all its data.
    Cluster,
    /// A database of a cluster: loaded data, or what a run left of it.
    Data,
}

/// Lists what is kept in `home`. Clusters that nobody uses are started for a moment to see which data they have;
/// `looking` is told of each.
///
/// # Errors
/// The folder cannot be read. A cluster that does not start is listed without its data.
pub fn kept(home: &Path, looking: &mut dyn FnMut(&str)) -> Result<Vec<Kept>, EmbeddedError> {
    let Ok(home) = home.canonicalize() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let mut clusters = Vec::new();
    for release in folders(&home, &home.join("clusters"))? {
        for cluster in folders(&home, &home.join("clusters").join(&release))? {
            let folder = home.join("clusters").join(&release).join(&cluster);
            if folder.join("data").exists() {
                clusters.push(Kept {
                    name: format!("clusters/{release}/{cluster}"),
                    kind: KeptKind::Cluster,
                    bytes: bytes_below(&folder),
                    used: modified(&folder.join("lock")),
                    in_use: Lock::try_take(&folder)?.is_none(),
                });
            }
        }
    }
    for release in folders(&home, &home.join("postgresql"))? {
        let folder = home.join("postgresql").join(&release);
        let of_it = || {
            let prefix = format!("clusters/{release}/");
            clusters.iter().filter(move |cluster| cluster.name.starts_with(&prefix))
        };
        let unfinished = release.starts_with(UNFINISHED);
        found.push(Kept {
            name: format!("postgresql/{release}"),
            kind: if unfinished {
                KeptKind::Unfinished
            } else {
                KeptKind::Programs
            },
            bytes: bytes_below(&folder),
            used: of_it()
                .filter_map(|cluster| cluster.used)
                .chain(modified(&folder))
                .max(),
            in_use: match unfinished {
                // Its lock is held while something is installed.
                true => Lock::try_take(&home.join("postgresql"))?.is_none(),
                false => of_it().any(|cluster| cluster.in_use),
            },
        });
    }
    for cluster in clusters {
        let has_programs =
            |release: &str| release.starts_with("system-") || home.join("postgresql").join(release).exists();
        let data = match options(&home, &cluster.name) {
            Some((options, release)) if !cluster.in_use && has_programs(&release) => {
                looking(&cluster.name);
                databases(&home, &cluster, &options).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        found.push(cluster);
        found.extend(data);
    }
    Ok(found)
}

/// Removes something that is kept, unless it is in use by now; then false.
///
/// # Errors
/// A file cannot be removed, or the server of a cluster does not start or refuses.
pub fn remove_kept(home: &Path, kept: &Kept) -> Result<bool, EmbeddedError> {
    let home = home.canonicalize().map_err(EmbeddedError::file("find", home))?;
    let folder = home.join(&kept.name);
    match kept.kind {
        KeptKind::Programs | KeptKind::Unfinished => {
            let all = home.join("postgresql");
            let Some(_lock) = Lock::try_take(&all)? else {
                return Ok(false);
            };
            let release = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for cluster in folders(&home, &home.join("clusters").join(&release))? {
                if Lock::try_take(&home.join("clusters").join(&release).join(cluster))?.is_none() {
                    return Ok(false);
                }
            }
            // Whole or absent, as when it was installed.
            let going = all.join(format!("{UNFINISHED}{release}"));
            fs::rename(&folder, &going).map_err(EmbeddedError::file("remove", &folder))?;
            fs::remove_dir_all(&going).map_err(EmbeddedError::file("remove", &going))?;
        }
        KeptKind::Cluster => {
            let Some(_lock) = Lock::try_take(&folder)? else {
                return Ok(false);
            };
            stale::stop(&POSTGRESQL, &folder.join("data"), &mut |_| ())?;
            // The lock stays: somebody may be waiting for it.
            for part in ["password", "server.log"] {
                match fs::remove_file(folder.join(part)) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(EmbeddedError::file("remove", &folder)(error));
                    }
                    _ => {}
                }
            }
            for part in ["data.new", "tablespaces", "data"] {
                let part = folder.join(part);
                if part.exists() {
                    fs::remove_dir_all(&part).map_err(EmbeddedError::file("remove", &part))?;
                }
            }
        }
        KeptKind::Data => {
            let Some((cluster, database)) = kept.name.rsplit_once('/') else {
                return Ok(false);
            };
            let Some((options, _)) = options(&home, cluster) else {
                return Ok(false);
            };
            if Lock::try_take(&home.join(cluster))?.is_none() {
                return Ok(false);
            }
            let server = Embedded::prepare(&options, &mut quiet)?.start(&[], &mut quiet)?;
            let mut client = server
                .connection("postgres")
                .connect()
                .map_err(|error| refused(&error.to_string()))?;
            drop_database(&mut client, database).map_err(|error| refused(&error.to_string()))?;
            drop(client);
            server.stop();
        }
    }
    Ok(true)
}

fn quiet(_: Progress) {}

fn refused(message: &str) -> EmbeddedError {
    EmbeddedError::Program {
        program: "postgres",
        status: "it refuses".to_owned(),
        output: message.to_owned(),
    }
}

/// How to bring the server of `clusters/RELEASE/NAME`, and its release.
fn options(home: &Path, cluster: &str) -> Option<(EmbeddedOptions, String)> {
    let (release, name) = cluster.strip_prefix("clusters/")?.split_once('/')?;
    let mut options = EmbeddedOptions::new(home.to_owned());
    options.version = match release.strip_prefix("system-") {
        Some(version) => format!("system:{version}"),
        None => release.to_owned(),
    };
    name.clone_into(&mut options.cluster);
    Some((options, release.to_owned()))
}

/// The databases of a cluster but those that every cluster has.
fn databases(home: &Path, cluster: &Kept, options: &EmbeddedOptions) -> Result<Vec<Kept>, EmbeddedError> {
    let server = Embedded::prepare(options, &mut quiet)?.start(&[], &mut quiet)?;
    let mut client = server
        .connection("postgres")
        .connect()
        .map_err(|error| refused(&error.to_string()))?;
    let rows = client.query(
        "select datname::text, pg_database_size(oid), shobj_description(oid, 'pg_database') from pg_database
          where not datistemplate and datname <> 'postgres' order by 1",
        &[],
    );
    let rows = rows.map_err(|error| refused(&server_message(&error)))?;
    drop(client);
    server.stop();
    // Looking is not using.
    if let (Some(used), Ok(lock)) = (
        cluster.used,
        File::options().write(true).open(home.join(&cluster.name).join("lock")),
    ) {
        let _ = lock.set_modified(used);
    }
    let each = rows.iter().map(|row| {
        let (name, bytes, comment): (String, i64, Option<String>) = (row.get(0), row.get(1), row.get(2));
        let changed = comment.and_then(|comment| Mark::parse(&comment)?.changed);
        Kept {
            name: format!("{}/{name}", cluster.name),
            kind: KeptKind::Data,
            bytes: bytes.unsigned_abs(),
            used: changed.map(SystemTime::from).or(cluster.used),
            in_use: false,
        }
    });
    Ok(each.collect())
}

/// The names of the folders in a folder of `home`, if it is one and lies there itself.
fn folders(home: &Path, folder: &Path) -> Result<Vec<String>, EmbeddedError> {
    let is_here = folder.canonicalize().is_ok_and(|folder| folder.starts_with(home));
    if !is_here {
        return Ok(Vec::new());
    }
    let items = fs::read_dir(folder).map_err(EmbeddedError::file("list", folder))?;
    let mut names: Vec<String> = items
        .flatten()
        .filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|item| item.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// What a folder takes on the disk. What cannot be read counts nothing.
fn bytes_below(folder: &Path) -> u64 {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = item.metadata() else { continue };
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                folders.push(item.path());
            }
        }
    }
    bytes
}

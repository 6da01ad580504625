//! What dyno keeps in its home folder: programs, clusters, and the data in them. All of it can be made again, so
//! all of it may go, unless somebody uses it.

use crate::embedded::EmbeddedError;
use crate::embedded::lock::Lock;
use crate::embedded::product::Product;
use crate::embedded::stale;
use crate::mysql::embedded::{MARIADB, MYSQL};
use crate::postgres::embedded::{POSTGRESQL, databases, remove_database};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders of an installation that did not finish begin so.
const UNFINISHED: &str = ".staging-";

/// The databases whose servers are kept.
const PRODUCTS: [&Product; 3] = [&POSTGRESQL, &MARIADB, &MYSQL];

/// Something that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What and where: a path below the home folder, for data with the name of its database at the end.
    pub name: String,
    /// The database that it is of, as its makers write it.
    pub product: &'static str,
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
    /// A server's programs, as fetched.
    Programs,
    /// What an interrupted installation left.
    Unfinished,
    /// A cluster with all its data.
    Cluster,
    /// A database of a cluster: loaded data, or what a run left of it. MariaDB's clusters have one at most, which goes
    /// with them.
    Data,
}

/// Lists what is kept in `home`. Clusters of PostgreSQL that nobody uses are started for a moment to see which data
/// they have; `looking` is told of each.
///
/// # Errors
/// The folder cannot be read. A cluster that does not start is listed without its data.
pub fn kept(home: &Path, looking: &mut dyn FnMut(&str)) -> Result<Vec<Kept>, EmbeddedError> {
    let Ok(home) = home.canonicalize() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let mut clusters = Vec::new();
    for product in PRODUCTS {
        let these = clusters_of(&home, product)?;
        found.extend(programs_of(&home, product, &these)?);
        clusters.extend(these);
    }
    for cluster in clusters {
        let has_programs =
            |release: &str| release.starts_with("system-") || home.join(POSTGRESQL.folder).join(release).exists();
        let release = release_of(&POSTGRESQL, &cluster.name).filter(|release| has_programs(release));
        let data = match release {
            Some(_) if !cluster.in_use => {
                looking(&cluster.name);
                data_of(&home, &cluster).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        found.push(cluster);
        found.extend(data);
    }
    Ok(found)
}

/// The servers whose programs are in `home`, such as `PostgreSQL 18.6.0`. What cannot be read is not there.
#[must_use]
pub fn installed(home: &Path) -> Vec<String> {
    let Ok(home) = home.canonicalize() else {
        return Vec::new();
    };
    let releases = |product: &'static Product| {
        let all = folders(&home, &home.join(product.folder)).unwrap_or_default();
        let whole = all.into_iter().filter(|release| !release.starts_with(UNFINISHED));
        whole.map(|release| format!("{} {release}", product.name))
    };
    PRODUCTS.into_iter().flat_map(releases).collect()
}

/// The data in a cluster of PostgreSQL.
fn data_of(home: &Path, cluster: &Kept) -> Result<Vec<Kept>, EmbeddedError> {
    let databases = databases(home, &cluster.name)?;
    // Looking is not using.
    if let (Some(used), Ok(lock)) = (
        cluster.used,
        File::options().write(true).open(home.join(&cluster.name).join("lock")),
    ) {
        let _ = lock.set_modified(used);
    }
    let each = databases.into_iter().map(|database| Kept {
        name: format!("{}/{}", cluster.name, database.name),
        product: POSTGRESQL.name,
        kind: KeptKind::Data,
        bytes: database.bytes,
        used: database.changed.or(cluster.used),
        in_use: false,
    });
    Ok(each.collect())
}

/// The release in the name of a cluster of this database: `18.6.0` in `clusters/18.6.0/main`.
fn release_of<'a>(product: &Product, cluster: &'a str) -> Option<&'a str> {
    let (release, _) = cluster
        .strip_prefix(product.clusters)?
        .strip_prefix('/')?
        .split_once('/')?;
    Some(release)
}

fn clusters_of(home: &Path, product: &'static Product) -> Result<Vec<Kept>, EmbeddedError> {
    let mut clusters = Vec::new();
    let all = home.join(product.clusters);
    for release in folders(home, &all)? {
        for cluster in folders(home, &all.join(&release))? {
            let folder = all.join(&release).join(&cluster);
            if folder.join("data").exists() {
                clusters.push(Kept {
                    name: format!("{}/{release}/{cluster}", product.clusters),
                    product: product.name,
                    kind: KeptKind::Cluster,
                    bytes: bytes_below(&folder),
                    used: modified(&folder.join("lock")),
                    in_use: Lock::try_take(&folder)?.is_none(),
                });
            }
        }
    }
    Ok(clusters)
}

/// The programs of a database whose clusters these are.
fn programs_of(home: &Path, product: &'static Product, clusters: &[Kept]) -> Result<Vec<Kept>, EmbeddedError> {
    let mut programs = Vec::new();
    let all = home.join(product.folder);
    for release in folders(home, &all)? {
        let folder = all.join(&release);
        let of_it = || {
            let is_of_it = |cluster: &&Kept| release_of(product, &cluster.name) == Some(release.as_str());
            clusters.iter().filter(is_of_it)
        };
        let unfinished = release.starts_with(UNFINISHED);
        programs.push(Kept {
            name: format!("{}/{release}", product.folder),
            product: product.name,
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
                true => Lock::try_take(&all)?.is_none(),
                false => of_it().any(|cluster| cluster.in_use),
            },
        });
    }
    Ok(programs)
}

/// Removes something that is kept, unless it is in use by now; then false.
///
/// # Errors
/// A file cannot be removed, or the server of a cluster does not start or refuses.
pub fn remove_kept(home: &Path, kept: &Kept) -> Result<bool, EmbeddedError> {
    let home = home.canonicalize().map_err(EmbeddedError::file("find", home))?;
    let Some(product) = PRODUCTS.into_iter().find(|product| product.name == kept.product) else {
        return Ok(false);
    };
    match kept.kind {
        KeptKind::Programs | KeptKind::Unfinished => remove_programs(&home, product, kept),
        KeptKind::Cluster => remove_cluster(&home, product, kept),
        KeptKind::Data => remove_data(&home, kept),
    }
}

fn remove_programs(home: &Path, product: &Product, kept: &Kept) -> Result<bool, EmbeddedError> {
    let (all, folder) = (home.join(product.folder), home.join(&kept.name));
    let Some(_lock) = Lock::try_take(&all)? else {
        return Ok(false);
    };
    let release = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let clusters = home.join(product.clusters).join(&release);
    for cluster in folders(home, &clusters)? {
        if Lock::try_take(&clusters.join(cluster))?.is_none() {
            return Ok(false);
        }
    }
    // Whole or absent, as when it was installed.
    let going = all.join(format!("{UNFINISHED}{release}"));
    fs::rename(&folder, &going).map_err(EmbeddedError::file("remove", &folder))?;
    fs::remove_dir_all(&going).map_err(EmbeddedError::file("remove", &going))?;
    Ok(true)
}

fn remove_cluster(home: &Path, product: &Product, kept: &Kept) -> Result<bool, EmbeddedError> {
    let folder = home.join(&kept.name);
    let Some(_lock) = Lock::try_take(&folder)? else {
        return Ok(false);
    };
    stale::stop(product, &folder.join("data"), &mut |_| ())?;
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
    Ok(true)
}

fn remove_data(home: &Path, kept: &Kept) -> Result<bool, EmbeddedError> {
    let Some((cluster, database)) = kept.name.rsplit_once('/') else {
        return Ok(false);
    };
    if Lock::try_take(&home.join(cluster))?.is_none() {
        return Ok(false);
    }
    remove_database(home, cluster, database)?;
    Ok(true)
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
pub(crate) fn bytes_below(folder: &Path) -> u64 {
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

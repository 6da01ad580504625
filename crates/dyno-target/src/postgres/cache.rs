//! The state of the caches before a measurement: emptied, or filled with the data.

use crate::postgres::Client;
use crate::postgres::scope::Scope;
use crate::postgres::server_message;
use rustix::fs::Advice;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How pages left the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The machine's whole cache was dropped, which only root may do.
    Machine,
    /// The kernel was advised to forget the files of the data folder, which it does unless somebody else uses them.
    Files {
        /// Files.
        files: u64,
        /// Their size.
        bytes: u64,
    },
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => write!(f, "the machine's page cache was dropped"),
            Self::Files { files, bytes } => write!(
                f,
                "the kernel was advised to forget {files} files of the data folder ({:.0} MB), since dropping the whole page cache is not allowed here",
                *bytes as f64 / 1e6
            ),
        }
    }
}

/// How data was brought into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prewarmed {
    /// Whether by the extension pg_prewarm, tables and indexes into shared buffers; else by reading the tables alone, which go to the page
    /// cache of the server's machine.
    pub by_extension: bool,
    /// Tables, and with the extension their indexes and TOAST tables.
    pub relations: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

impl fmt::Display for Prewarmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, how) = match self.by_extension {
            true => ("tables and indexes", "by pg_prewarm"),
            false => (
                "tables",
                "one after the other, without their indexes, since pg_prewarm is not available",
            ),
        };
        write!(
            f,
            "{} {what} ({:.0} MB) were read {how}",
            self.relations,
            self.bytes as f64 / 1e6
        )
    }
}

/// The cache could not be brought into the state.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CacheError {
    #[error("the page cache cannot be emptied: {} cannot be read: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("the data cannot be read into the cache: {message}")]
    Server { message: String },
}

/// Empties the page cache of what the data folder's files have in it. The server must not run: what it has in its own buffers stays there.
///
/// # Errors
/// The data folder cannot be read.
pub fn drop_pages(data_folder: &Path) -> Result<Dropped, CacheError> {
    // Only what is on disk can be forgotten.
    rustix::fs::sync();
    match drop_all() {
        Ok(()) => Ok(Dropped::Machine),
        Err(_) => forget_files(data_folder),
    }
}

/// Drops the cache of the whole machine (`proc(5)`, drop_caches: 1 is the page cache). In most containers this is refused, even to root.
fn drop_all() -> io::Result<()> {
    fs::File::options()
        .write(true)
        .open("/proc/sys/vm/drop_caches")?
        .write_all(b"1\n")
}

/// Advises the kernel to forget every file below a folder, and below the folders that its links lead to (tablespaces, the log).
fn forget_files(folder: &Path) -> Result<Dropped, CacheError> {
    let (mut files, mut bytes) = (0, 0);
    let mut seen = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| CacheError::File {
            path: folder.clone(),
            error,
        };
        // A link may lead back to where we came from.
        if !seen.insert(folder.canonicalize().map_err(unreadable)?) {
            continue;
        }
        for item in fs::read_dir(&folder).map_err(unreadable)? {
            let path = item.map_err(unreadable)?.path();
            match forget(&path) {
                Ok(Some(size)) => {
                    files += 1;
                    bytes += size;
                }
                Ok(None) => folders.push(path),
                // Gone meanwhile: so are its pages.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(CacheError::File { path, error }),
            }
        }
    }
    Ok(Dropped::Files { files, bytes })
}

/// Forgets a file and gives its size; none: it is a folder. Sockets and the like have no pages.
fn forget(path: &Path) -> io::Result<Option<u64>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if metadata.is_file() {
        rustix::fs::fadvise(fs::File::open(path)?, 0, None, Advice::DontNeed)?;
    }
    Ok(Some(metadata.len()))
}

fn failed(error: &postgres::Error) -> CacheError {
    CacheError::Server {
        message: server_message(error),
    }
}

/// Reads the tables of the connected database with their indexes into the cache: all tables of the user, or, if the connection has a search path of its own, those
/// in it. Leaves nothing behind: an extension that is not there yet is created in a transaction that is rolled back.
///
/// # Errors
/// The connection is broken, or a table is locked or dropped meanwhile.
pub fn prewarm(client: &mut Client, scope: &Scope) -> Result<Prewarmed, CacheError> {
    client.batch_execute("begin").map_err(|error| failed(&error))?;
    let by_extension = by_extension(client, scope);
    client.batch_execute("rollback").map_err(|error| failed(&error))?;
    match by_extension {
        Ok(Some(warmed)) => Ok(warmed),
        Ok(None) => by_reading(client, scope).map_err(|error| failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

/// With pg_prewarm; none: it is not there and may not be created.
fn by_extension(client: &mut Client, scope: &Scope) -> Result<Option<Prewarmed>, postgres::Error> {
    if client
        .batch_execute("create extension if not exists pg_prewarm")
        .is_err()
    {
        return Ok(None);
    }
    let query = "select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                  where e.extname = 'pg_prewarm'";
    let schema: String = client.query_one(query, &[])?.get(0);
    // Indexes come last: they are what stays if the buffers are too few for all.
    let tables = scope.tables();
    let query = format!(
        "with tables as (
             select c.oid, c.reltoastrelid {tables} and has_table_privilege(c.oid, 'select')
         ), heaps as (
             select oid, 1 as turn from tables union all select reltoastrelid, 0 from tables where reltoastrelid <> 0
         ), relations as (
             select * from heaps
             union all select i.indexrelid, 2 from pg_index i join heaps h on h.oid = i.indrelid where i.indisvalid
         )
         select count(*), coalesce(sum({schema}.pg_prewarm(oid::regclass))::int8 * current_setting('block_size')::int8, 0)
           from (select oid from relations order by turn) ordered"
    );
    let row = client.query_one(&query, &[])?;
    Ok(Some(Prewarmed {
        by_extension: true,
        relations: row.get::<_, i64>(0).cast_unsigned(),
        bytes: row.get::<_, i64>(1).cast_unsigned(),
    }))
}

/// By reading every table from begin to end.
fn by_reading(client: &mut Client, scope: &Scope) -> Result<Prewarmed, postgres::Error> {
    let tables = scope.tables();
    let query = format!(
        "select quote_ident(n.nspname) || '.' || quote_ident(c.relname), pg_relation_size(c.oid)
         {tables} and has_table_privilege(c.oid, 'select') order by 1"
    );
    let tables = client.query(&query, &[])?;
    let mut warmed = Prewarmed {
        by_extension: false,
        relations: 0,
        bytes: 0,
    };
    client.batch_execute(
        "begin read only; set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off",
    )?;
    for table in tables {
        client.batch_execute(&format!("select count(*) from only {}", table.get::<_, &str>(0)))?;
        warmed.relations += 1;
        warmed.bytes += table.get::<_, i64>(1).cast_unsigned();
    }
    client.batch_execute("commit")?;
    Ok(warmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_every_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("base/1")).unwrap();
        fs::write(folder.path().join("base/1/2"), vec![0; 8192]).unwrap();
        fs::write(elsewhere.path().join("3"), vec![0; 100]).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("tablespace")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", folder.path().join("broken")).unwrap();
        let dropped = forget_files(folder.path()).unwrap();
        assert_eq!(dropped, Dropped::Files { files: 2, bytes: 8292 });
        assert!(dropped.to_string().contains("2 files"));
        let error = drop_pages(&folder.path().join("none"));
        assert!(matches!(error, Ok(Dropped::Machine) | Err(CacheError::File { .. })));
        assert!(matches!(
            forget_files(&folder.path().join("none")),
            Err(CacheError::File { .. })
        ));
    }
}

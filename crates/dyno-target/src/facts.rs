//! What a result must be read with: the machine, and the server's version and settings.

use crate::Client;
use crate::server_message;
use crate::settings::Capacity;
use procfs::Current;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// What tells a server from others, however it is reached and whatever it is called: its cluster's number, from 9.6 on. Standbys have their primary's number,
/// so their port and `cluster_name` are added.
#[must_use]
pub fn server_identity(client: &mut Client) -> Option<String> {
    let query = "select c.system_identifier::text
                     || case when pg_is_in_recovery() then '-standby-' || current_setting('port') || '-' || current_setting('cluster_name') else '' end
                   from pg_control_system() c";
    client.query_one(query, &[]).ok()?.get(0)
}

/// The machine that dyno runs on. What cannot be found out is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostFacts {
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel name, release and build.
    pub kernel: Option<String>,
    /// Model of the first processor.
    pub cpu_model: Option<String>,
    /// Cores that this process may use, at least 1.
    pub cores: u64,
    /// Main memory; 0 if unknown.
    pub memory_bytes: u64,
    /// Frequency governor of the first processor, such as `performance`.
    pub governor: Option<String>,
    /// Clock source, such as `tsc`.
    pub clock_source: Option<String>,
    /// How long reading the clock takes, in nanoseconds.
    pub clock_read_ns: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Huge pages reserved.
    pub huge_pages: Option<u64>,
    /// Where the data folder lies, when it is on this machine.
    pub data_filesystem: Option<Filesystem>,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Filesystem {
    /// Where it is mounted.
    pub mount_point: String,
    /// Its type, such as `ext4`.
    pub kind: String,
    /// What is mounted.
    pub source: Option<String>,
}

impl HostFacts {
    /// What settings are relative to.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        Capacity {
            memory_bytes: Some(self.memory_bytes).filter(|bytes| *bytes > 0),
            cores: Some(self.cores),
        }
    }
}

/// Describes this machine; `data_folder` is the server's, if it is here.
#[must_use]
pub fn host_facts(data_folder: Option<&Path>) -> HostFacts {
    let memory = procfs::Meminfo::current().ok();
    let processors = procfs::CpuInfo::current().ok();
    HostFacts {
        hostname: line("/proc/sys/kernel/hostname"),
        kernel: kernel(),
        cpu_model: processors.and_then(|all| all.model_name(0).map(str::to_owned)),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        memory_bytes: memory.as_ref().map_or(0, |memory| memory.mem_total),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_read_ns: clock_read_ns(),
        transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
        huge_pages: memory.and_then(|memory| memory.hugepages_total),
        data_filesystem: data_folder.and_then(filesystem),
    }
}

/// The time of one reading in the fastest of some rounds: in the others something else may have taken its share.
fn clock_read_ns() -> u64 {
    const READINGS: u32 = 1000;
    let round = || {
        let begun = Instant::now();
        let mut last = begun;
        for _ in 0..READINGS {
            last = std::hint::black_box(Instant::now());
        }
        (last - begun) / READINGS
    };
    let fastest = (0..20).map(|_| round()).min().unwrap_or_default();
    fastest.as_nanos() as u64
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn kernel() -> Option<String> {
    let release = line("/proc/sys/kernel/osrelease")?;
    let build = line("/proc/sys/kernel/version").unwrap_or_default();
    Some(format!("Linux {release} {build}").trim_end().to_owned())
}

/// The word in brackets of a list such as `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

/// The file system with the longest mount point above a folder.
fn filesystem(folder: &Path) -> Option<Filesystem> {
    let folder = folder.canonicalize().ok()?;
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    // Of several mounts on one point the last covers the others, and max_by_key gives the last.
    let mount = mounts
        .into_iter()
        .filter(|mount| folder.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.as_os_str().len())?;
    Some(Filesystem {
        mount_point: mount.mount_point.display().to_string(),
        kind: mount.fs_type,
        source: mount.mount_source,
    })
}

/// The server as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerFacts {
    /// The text of `version()`.
    pub version: String,
    /// The version as a number, such as 180006.
    pub version_number: u32,
    /// Settings that do not come from the built-in defaults, by name.
    pub settings: Vec<ServerSetting>,
    /// The data folder on the server's machine, where this role may see it.
    pub data_folder: Option<String>,
    /// The locale of the measured database.
    pub locale: LocaleFacts,
}

/// How a database orders text and which characters are letters to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LocaleFacts {
    /// Encoding, such as `UTF8`.
    pub encoding: String,
    /// Order of text, by a locale of the system.
    pub collate: String,
    /// Kinds of characters, by a locale of the system.
    pub ctype: String,
    /// Who orders text: `libc`, `icu` or `builtin`.
    pub provider: String,
    /// The locale that another provider than `libc` uses.
    pub locale: Option<String>,
    /// Version of the order, where the provider has one.
    pub version: Option<String>,
}

impl LocaleFacts {
    /// Whether it is the locale that an experiment file calls so.
    #[must_use]
    pub fn is(&self, wanted: &str) -> bool {
        let plain = |name: &str| name.to_ascii_lowercase().replace("utf-8", "utf8");
        let wanted = plain(wanted);
        if let Some(locale) = &self.locale {
            return wanted == plain(&format!("{}:{locale}", self.provider));
        }
        // They order text alike.
        let order = plain(&self.collate).replace("posix", "c");
        let is_order = order == wanted || (wanted == "c.utf8" && order == "c");
        is_order && plain(&self.ctype).replace("posix", "c") == wanted
    }
}

impl fmt::Display for LocaleFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, collate {}, ctype {}", self.encoding, self.collate, self.ctype)?;
        if let Some(locale) = &self.locale {
            write!(f, ", {} {locale}", self.provider)?;
        }
        if let Some(version) = &self.version {
            write!(f, ", version {version}")?;
        }
        Ok(())
    }
}

/// One setting of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerSetting {
    /// Name.
    pub name: String,
    /// Value as `show` prints it.
    pub value: String,
    /// Where it comes from, such as `configuration file` or `command line`.
    pub source: String,
}

/// The server's facts could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the server's version and settings cannot be read: {message}")]
pub struct FactsError {
    message: String,
}

/// The server's version as a number, such as 180006 for 18.6 and 90624 for 9.6.24.
///
/// # Errors
/// The connection is broken.
pub fn server_version(client: &mut Client) -> Result<u32, postgres::Error> {
    let row = client.query_one("select current_setting('server_version_num')::int", &[])?;
    Ok(row.get::<_, i32>(0).cast_unsigned())
}

/// Reads version and settings. Settings of this very connection (source `client` or `session`) are left out, and so are those that can
/// hold a password of a standby, an archive's access, or an extension's secret.
///
/// # Errors
/// The connection is broken.
pub fn server_facts(client: &mut Client) -> Result<ServerFacts, FactsError> {
    let failed = |error: postgres::Error| FactsError {
        message: server_message(&error),
    };
    let version = client.query_one("select version()", &[]).map_err(failed)?.get(0);
    let version_number = server_version(client).map_err(failed)?;
    let rows = client
        .query(
            "select name, current_setting(name), source from pg_settings
              where source not in ('default', 'client', 'session')
              order by name",
            &[],
        )
        .map_err(failed)?;
    let settings = rows.iter().map(|row| ServerSetting {
        name: row.get(0),
        value: row.get(1),
        source: row.get(2),
    });
    let settings = settings.filter(|setting| !may_hold_password(&setting.name)).collect();
    // Only superusers and readers of all settings see the row.
    let data_folder = client
        .query_opt("select setting from pg_settings where name = 'data_directory'", &[])
        .map_err(failed)?
        .and_then(|row| row.get(0));
    Ok(ServerFacts {
        version,
        version_number,
        settings,
        data_folder,
        locale: locale_facts(client, version_number).map_err(failed)?,
    })
}

/// Whether the value of the setting `name` may be secret, or have a secret in it: a server's own are known, those of extensions go by what they are called.
fn may_hold_password(name: &str) -> bool {
    match name.split_once('.') {
        None => name == "primary_conninfo" || name.ends_with("_command"),
        Some((_, name)) => {
            let name = name.to_ascii_lowercase();
            ["passw", "pwd", "secret", "key", "token", "conninfo"]
                .iter()
                .any(|part| name.contains(part))
        }
    }
}

fn locale_facts(client: &mut Client, version: u32) -> Result<LocaleFacts, postgres::Error> {
    let more = match version {
        170_000.. => "datlocprovider::text, datlocale::text, datcollversion::text",
        150_000.. => "datlocprovider::text, daticulocale::text, datcollversion::text",
        _ => "'c'::text, null::text, null::text",
    };
    let row = client.query_one(
        &format!(
            "select pg_encoding_to_char(encoding)::text, datcollate::text, datctype::text, {more}
               from pg_database where datname = current_database()"
        ),
        &[],
    )?;
    let provider: &str = row.get(3);
    Ok(LocaleFacts {
        encoding: row.get(0),
        collate: row.get(1),
        ctype: row.get(2),
        provider: match provider {
            "c" => "libc",
            "i" => "icu",
            "b" => "builtin",
            other => other,
        }
        .to_owned(),
        locale: row.get(4),
        version: row.get(5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_this_machine() {
        let facts = host_facts(Some(Path::new("/proc")));
        assert!(facts.cores >= 1);
        assert!(facts.clock_read_ns >= 1);
        assert!(facts.memory_bytes > 1 << 20);
        assert!(facts.kernel.unwrap().starts_with("Linux "));
        assert_eq!(facts.data_filesystem.unwrap().kind, "proc");
    }

    #[test]
    fn a_locale_is_known_by_its_name() {
        let libc = |collate: &str, ctype: &str| LocaleFacts {
            encoding: "UTF8".to_owned(),
            collate: collate.to_owned(),
            ctype: ctype.to_owned(),
            provider: "libc".to_owned(),
            locale: None,
            version: None,
        };
        assert!(libc("C", "C.UTF-8").is("C.UTF-8"));
        assert!(libc("C.utf8", "C.utf8").is("C.UTF-8"));
        assert!(!libc("C", "C").is("C.UTF-8"));
        assert!(libc("POSIX", "C").is("C"));
        assert!(!libc("en_US.UTF-8", "en_US.UTF-8").is("C.UTF-8"));
        let icu = LocaleFacts {
            provider: "icu".to_owned(),
            locale: Some("zh".to_owned()),
            ..libc("C", "C.UTF-8")
        };
        assert!(icu.is("icu:zh") && !icu.is("C.UTF-8"));
        assert_eq!(icu.to_string(), "UTF8, collate C, ctype C.UTF-8, icu zh");
    }

    #[test]
    fn settings_that_may_hold_a_password_are_left_out() {
        for name in [
            "primary_conninfo",
            "archive_command",
            "archive_cleanup_command",
            "recovery_end_command",
            "restore_command",
            "ssl_passphrase_command",
            "vault.secret_key",
            "audit.Password",
        ] {
            assert!(may_hold_password(name), "{name}");
        }
        for name in [
            "password_encryption",
            "ssl_key_file",
            "shared_buffers",
            "pg_stat_statements.max",
        ] {
            assert!(!may_hold_password(name), "{name}");
        }
    }

    #[test]
    fn takes_the_chosen_word() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }
}

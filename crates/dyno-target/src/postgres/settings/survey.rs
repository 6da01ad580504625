//! What a server's settings are, where they come from, and what this role may do about them.

use super::verify::{elements, equal};
use crate::postgres::Client;
use crate::postgres::facts::server_version;
use postgres_protocol::escape::escape_literal;
use std::collections::HashMap;

/// The file that `alter system` writes.
const AUTO_CONF: &str = "/postgresql.auto.conf";

/// Settings that are lists of names: each element is a literal of its own, else the list would become one name
/// (`alter system`, `pg_dump`).
const NAME_LISTS: [&str; 6] = [
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

/// A row of `pg_settings`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// In `unit`s.
    pub(super) setting: String,
    unit: String,
    kind: String,
    pub(super) context: String,
    pub(super) source: String,
    file: Option<String>,
}

impl Row {
    /// Whether a value is the one in effect.
    pub(super) fn is(&self, wanted: &str) -> bool {
        equal(wanted, &self.setting, &self.unit, &self.kind)
    }
}

/// What the file of `alter system` has for a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Nothing,
    Value(String),
    /// This role cannot see it.
    Unknown,
}

/// A server as this role sees it.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) version: u32,
    rows: HashMap<String, Row>,
    superuser: bool,
    /// The contents of the file, if it may be read.
    auto_conf: Option<HashMap<String, String>>,
    /// Whether nobody may alter the system (`allow_alter_system`, from 17 on).
    locked: bool,
}

impl Survey {
    pub(super) fn read(client: &mut Client) -> Result<Self, postgres::Error> {
        let version = server_version(client)?;
        let query = "select name, setting, coalesce(unit, ''), vartype, context, source, sourcefile from pg_settings";
        let mut rows = HashMap::new();
        for row in client.query(query, &[])? {
            let name: String = row.get(0);
            let setting: String = row.get::<_, Option<String>>(1).unwrap_or_default();
            let unit: String = row.get(2);
            rows.insert(
                name.to_ascii_lowercase(),
                Row {
                    setting,
                    unit,
                    kind: row.get(3),
                    context: row.get(4),
                    source: row.get(5),
                    file: row.get(6),
                },
            );
        }
        let role = "select rolsuper from pg_roles where rolname = current_user";
        let superuser = client.query_opt(role, &[])?.is_some_and(|row| row.get(0));
        let locked = rows.get("allow_alter_system").is_some_and(|row| row.setting == "off");
        Ok(Self {
            version,
            rows,
            superuser,
            auto_conf: auto_conf(client, version),
            locked,
        })
    }

    /// A setting's row, if it is there and this role may see it.
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.get(&name.to_ascii_lowercase())
    }

    /// Whether this role may use `alter system` for a setting; else why not.
    pub(super) fn may_alter_system(&self, client: &mut Client, name: &str) -> Result<(), String> {
        if self.version < 90_400 {
            return Err("servers before 9.4 are set in their configuration file only".to_owned());
        }
        if self.locked {
            return Err("the server forbids alter system (allow_alter_system is off)".to_owned());
        }
        if self.superuser || self.has_privilege(client, name, "alter system") {
            return Ok(());
        }
        Err(match self.version {
            150_000.. => {
                "this role may not change it, but a superuser may allow that (grant alter system on parameter … to …)"
                    .to_owned()
            }
            _ => "only a superuser may".to_owned(),
        })
    }

    /// Whether a superuser can allow a role to use `alter system` for a setting.
    pub(super) fn grants_settings(&self) -> bool {
        self.version >= 150_000 && !self.locked
    }

    /// Whether this role may set a setting in its own sessions.
    pub(super) fn may_set(&self, client: &mut Client, name: &str, context: &str) -> bool {
        match context {
            "user" | "backend" => true,
            "superuser" | "superuser-backend" => self.superuser || self.has_privilege(client, name, "set"),
            _ => false,
        }
    }

    fn has_privilege(&self, client: &mut Client, name: &str, privilege: &str) -> bool {
        let query = "select has_parameter_privilege($1, $2)";
        self.version >= 150_000
            && client
                .query_one(query, &[&name, &privilege])
                .is_ok_and(|row| row.get(0))
    }

    /// Whether the server runs with what the file has now that a value was put back, or taken out of it.
    pub(super) fn follows(&self, name: &str, value: Option<&str>) -> bool {
        match (self.row(name), value) {
            (Some(row), Some(value)) => row.is(value),
            (Some(row), None) => !row.file.as_ref().is_some_and(|file| file.ends_with(AUTO_CONF)),
            (None, _) => true,
        }
    }

    /// What the file of `alter system` has for a setting.
    pub(super) fn kept(&self, name: &str) -> Kept {
        let lower = name.to_ascii_lowercase();
        if let Some(file) = &self.auto_conf {
            return file
                .get(&lower)
                .map_or(Kept::Nothing, |value| Kept::Value(value.clone()));
        }
        // It is read last, so what it says is in effect unless something outside of files says otherwise.
        match self.rows.get(&lower) {
            Some(row) if row.source == "default" => Kept::Nothing,
            Some(Row {
                file: Some(file),
                setting,
                ..
            }) if file.ends_with(AUTO_CONF) => Kept::Value(setting.clone()),
            Some(Row { file: Some(_), .. }) => Kept::Nothing,
            _ => Kept::Unknown,
        }
    }

    /// Whether that is `value`. Where this role cannot read the file it is known as the server understands it, in
    /// units of the server's choice.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        // The server writes lists in its own way.
        let plain = |text: &str| text.replace(['"', '\'', ' '], "").to_ascii_lowercase();
        match self.kept(name) {
            Kept::Value(kept) if plain(&kept) == plain(value) => true,
            Kept::Value(_) => self.auto_conf.is_none() && self.row(name).is_some_and(|row| row.is(value)),
            Kept::Nothing | Kept::Unknown => false,
        }
    }
}

/// The entries of the file, where the server lets this role see them (a superuser, from 9.5 on).
fn auto_conf(client: &mut Client, version: u32) -> Option<HashMap<String, String>> {
    if version < 90_500 {
        return None;
    }
    let query = "select lower(name), setting from pg_file_settings
                  where right(sourcefile, length($1)) = $1 and name is not null order by seqno";
    let rows = client.query(query, &[&AUTO_CONF]).ok()?;
    Some(
        rows.iter()
            .map(|row| (row.get(0), row.get::<_, Option<String>>(1).unwrap_or_default()))
            .collect(),
    )
}

/// The command that gives a setting a value, or takes it out of the file; none: the command has no way to say it.
pub(in crate::postgres) fn alter_system(name: &str, value: Option<&str>) -> Option<String> {
    let Some(value) = value else {
        return Some(format!("alter system reset {name}"));
    };
    let is_list = NAME_LISTS.contains(&name.to_ascii_lowercase().as_str());
    let literals = match is_list {
        true => elements(value)
            .iter()
            .map(|element| escape_literal(element))
            .collect::<Vec<_>>()
            .join(", "),
        false => escape_literal(value),
    };
    // An empty list would be written as a list of one empty name.
    (!literals.trim().is_empty()).then(|| format!("alter system set {name} = {}", literals.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_commands() {
        let set = |name, value| alter_system(name, Some(value));
        assert_eq!(
            set("work_mem", "1GB").as_deref(),
            Some("alter system set work_mem = '1GB'")
        );
        assert_eq!(
            set("log_line_prefix", "it's").as_deref(),
            Some("alter system set log_line_prefix = 'it''s'")
        );
        assert_eq!(
            set("Shared_preload_libraries", "a, \"B \"\" ,c\" ,d").as_deref(),
            Some("alter system set Shared_preload_libraries = 'a', 'B \" ,c', 'd'")
        );
        assert_eq!(set("shared_preload_libraries", ""), None);
        assert_eq!(
            set("log_line_prefix", "").as_deref(),
            Some("alter system set log_line_prefix = ''")
        );
        assert_eq!(
            alter_system("work_mem", None).as_deref(),
            Some("alter system reset work_mem")
        );
    }

    proptest! {
        #[test]
        fn elements_come_back(names in prop::collection::vec("[a-zA-Z\", ]{1,8}", 1..4)) {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
            prop_assert_eq!(elements(&quoted.join(", ")), names);
        }
    }
}

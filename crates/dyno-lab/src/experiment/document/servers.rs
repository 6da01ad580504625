//! `[servers.NAME]`: servers beside the main one.

use super::Reader;
use super::data::SERVER_KEYS;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, option_value, scalar};
use crate::experiment::servers::ServerPlan;
use crate::experiment::set::{PLAN, SETTINGS, STAGE};
use crate::experiment::{Experiment, did_you_mean};
use crate::lua::OPTIONS;
use crate::nearest::nearest;
use dyno_archive::plan::{Foreign, MAIN};
use dyno_text::one_line;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const FURTHER_KEYS: [&str; 5] = ["data", "behind", "foreign", "replica_of", "count"];

/// What begins the names of other values, or names the main server's sections.
const TAKEN: [&str; 7] = [SETTINGS, STAGE, PLAN, OPTIONS, "server", "servers", "data"];

/// The longest name of a server, in characters: folders and accounts of its have longer ones.
const LONGEST_NAME: usize = 48;

impl Reader<'_> {
    /// Reads the further servers. `bare` is the experiment with its parameters and nothing else.
    pub(super) fn servers(&mut self, value: &Spanned<DeValue<'_>>, bare: &Experiment) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::open(self.source, "[servers]", value)?.entries() {
            self.check_server_name(name, span)?;
            let title = format!("[servers.{name}]");
            let keys = [&SERVER_KEYS[..], &FURTHER_KEYS].concat();
            let section = Section::of(self.source, title, value, &keys)?;
            let mut place = bare.clone();
            let mut reader = Reader {
                source: self.source,
                experiment: &mut place,
            };
            reader.place(&section)?;
            if let Some(data) = section.get("data") {
                reader.data(&format!("[servers.{name}.data]"), data)?;
            }
            let mut plan = ServerPlan {
                place: Box::new(place),
                count: None,
                behind: section.text("behind")?.map(|(other, _)| other),
                foreign: self.foreign(&section)?,
                replica_of: section.text("replica_of")?.map(|(other, _)| other),
            };
            if let Some(count) = section.get("count") {
                let text = scalar(self.source, "count", count)?.to_string();
                self.check_placeholders(&text, count.span())?;
                plan.count = Some(text);
                let names = plan.names(name, &self.experiment.parameters);
                names.map_err(|error| self.source.refuse(count.span(), &error))?;
            }
            self.experiment.servers.insert(name.to_owned(), plan);
        }
        Ok(())
    }

    fn check_server_name(&self, name: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        self.check_server_letters(name, span.clone())?;
        if TAKEN.contains(&name) {
            let message = format!("a server cannot be called `{name}`");
            let help = format!("`{name}.` begins the names of other values; choose another");
            return Err(self.source.complain(span, message, help));
        }
        // The private servers of the main one are called so in dyno's home, whatever the file calls it.
        if [self.main_server(), MAIN].contains(&name) {
            let message = format!("the main server is called `{name}`, too");
            let help = "what is measured is told by the server's name; choose another, or name the main one: [server] \
                        with name = \"…\"";
            return Err(self.source.complain(span, message, help));
        }
        Ok(())
    }

    /// Makes sure that folders, accounts and the like can be called by this name of a server.
    fn check_server_letters(&self, name: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        self.check_name("a server", name, span.clone())?;
        let help = if name.len() > LONGEST_NAME {
            format!("it has {} characters; choose one of at most {LONGEST_NAME}", name.len())
        } else if name.starts_with(['-', '_']) {
            "begin with a letter or digit".to_owned()
        } else {
            return Ok(());
        };
        let message = format!("`{}` cannot name a server", one_line(name, LONGEST_NAME));
        Err(self.source.complain(span, message, help))
    }

    /// What the main server is called.
    pub(super) fn main_server(&self) -> &str {
        self.experiment.server_name.as_deref().unwrap_or(MAIN)
    }

    /// Reads the name of the main server.
    pub(super) fn server_name(&mut self, server: &Section<'_>) -> Result<(), Diagnostic> {
        if let Some((name, span)) = server.text("name")? {
            self.check_server_letters(&name, span.clone())?;
            if TAKEN.contains(&name.as_str()) {
                let message = format!("a server cannot be called `{name}`");
                return Err(self.source.complain(span, message, "choose another name"));
            }
            self.experiment.server_name = Some(name);
        }
        Ok(())
    }

    /// What a proxy shows of the server behind it.
    fn foreign(&self, section: &Section<'_>) -> Result<Foreign, Diagnostic> {
        let mut foreign = Foreign::default();
        let Some(value) = section.get("foreign") else {
            return Ok(foreign);
        };
        let table = Section::open(self.source, format!("[{}.foreign]", section.path()), value)?;
        if section.get("behind").is_none() {
            let help = "it says what a proxy shows of the server behind it: add behind = \"…\"";
            return Err(self.source.complain(value.span(), "`foreign` is of no use here", help));
        }
        for (name, span) in table.texts("tables")? {
            let message = match foreign.tables.contains(&name) {
                _ if name.trim().is_empty() => "a table has no name".to_owned(),
                true => format!("`{name}` is named twice"),
                false => {
                    foreign.tables.push(name);
                    continue;
                }
            };
            let help = "name each table of the server behind it that is to be seen";
            return Err(self.source.complain(span, message, help));
        }
        for (name, _, value) in table.entries().filter(|(name, ..)| *name != "tables") {
            let value = option_value(self.source, name, value)?.to_string();
            foreign.options.insert(name.to_owned(), value);
        }
        Ok(foreign)
    }

    /// Makes sure that servers name each other as can be: `servers` is what the file has of them.
    pub(super) fn check_servers(&self, servers: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, _, value) in Section::open(self.source, "[servers]", servers)?.entries() {
            let section = Section::open(self.source, format!("[servers.{name}]"), value)?;
            let (behind, primary) = (section.text("behind")?, section.text("replica_of")?);
            if let (Some(_), Some((_, span))) = (&behind, &primary) {
                let help =
                    "a replica has the tables of its primary, a proxy reaches those of another; keep one of them";
                let message = "a server has both `behind` and `replica_of`";
                return Err(self.source.complain(span.clone(), message, help));
            }
            for (other, span) in behind.iter().chain(&primary) {
                self.check_other(name, other, span.clone())?;
            }
            if let Some((primary, span)) = primary {
                self.check_replica(&section, &primary, span)?;
            }
            if let Some(data) = section.get("data") {
                self.check_mentions(name, data)?;
            }
        }
        self.whole(servers.span())
    }

    /// Makes sure that `other`, which the server `name` names, is one server and another one.
    fn check_other(&self, name: &str, other: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        if name == other {
            let message = format!("`{name}` names itself");
            return Err(self.source.complain(span, message, "name another server"));
        }
        self.check_one_server(other, span)
    }

    /// Makes sure that `server` is the name of one server.
    pub(super) fn check_one_server(&self, server: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        self.check_server(server, span.clone())?;
        if self
            .experiment
            .servers
            .get(server)
            .is_some_and(|plan| plan.count.is_some())
        {
            let message = format!("`{server}` is several servers: {server}-1 and so on");
            let help = "name one that there is once, without `count`";
            return Err(self.source.complain(span, message, help));
        }
        Ok(())
    }

    /// Makes sure that there is a server of this name.
    pub(super) fn check_server(&self, server: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let further = self.experiment.servers.keys().map(String::as_str);
        let known: Vec<&str> = std::iter::once(self.main_server()).chain(further).collect();
        if known.contains(&server) {
            return Ok(());
        }
        let hint = did_you_mean(nearest(server, known.iter().copied()));
        let help = format!("there are: {}", known.join(", "));
        Err(self
            .source
            .complain(span, format!("there is no server `{server}`{hint}"), help))
    }

    /// Makes sure that a server can be a replica of `primary`.
    fn check_replica(&self, section: &Section<'_>, primary: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        if let Some(data) = section.get("data") {
            let help = "its data is its primary's: leave out this section";
            let message = "a replica cannot have data of its own";
            return Err(self.source.complain(data.span(), message, help));
        }
        let plan = self.experiment.servers.get(primary);
        let is = plan.map_or((false, false), |plan| {
            (plan.behind.is_some(), plan.replica_of.is_some())
        });
        let (message, help) = match is {
            (true, _) => (
                format!("`{primary}` is a proxy, so it cannot have replicas"),
                "name the server that has the tables",
            ),
            (_, true) => (
                format!("`{primary}` is itself a replica"),
                "name the server that both are to follow",
            ),
            _ => return Ok(()),
        };
        Err(self.source.complain(span, message, help))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use std::path::Path;

    /// What is said of a file with this.
    fn said(text: &str) -> String {
        let file = format!("title = \"t\"\n{text}\n[[workload]]\nscript = \"select 1\"\n");
        let read = parse(Path::new("mine.toml"), &file);
        read.map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_name_that_nothing_can_be_called_by_is_told_with_its_place() {
        for name in ["_x", "-x"] {
            let error = said(&format!("[servers.{name}]"));
            assert!(
                error.starts_with(&format!("mine.toml:2:10: `{name}` cannot name a server")),
                "{error}"
            );
            assert!(error.ends_with("begin with a letter or digit"), "{error}");
        }
        assert_eq!(said(&format!("[servers.{}]", "a".repeat(48))), "");
        let error = said(&format!("[server]\nname = \"{}\"", "a".repeat(300)));
        assert!(
            error.ends_with("it has 300 characters; choose one of at most 48"),
            "{error}"
        );
        let message = error.lines().next().unwrap_or_default();
        assert!(message.len() < 100, "{message}");
    }

    #[test]
    fn foreign_tables_have_names_and_each_its_own() {
        let with = |tables: &str| said(&format!("[servers.a]\nbehind = \"main\"\nforeign.tables = [{tables}]"));
        assert_eq!(with("\"t\", \"u\""), "");
        let error = with("\"t\", \"t\"");
        assert!(error.starts_with("mine.toml:4:24: `t` is named twice"), "{error}");
        assert!(with("\" \"").contains("a table has no name"));
    }
}

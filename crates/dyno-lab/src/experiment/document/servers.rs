//! `[servers.NAME]`: servers beside the main one.

use super::Reader;
use super::data::SERVER_KEYS;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::mention::mentions;
use crate::experiment::section::{Section, option_value, scalar};
use crate::experiment::servers::ServerPlan;
use crate::experiment::set::{PLAN, SETTINGS, STAGE};
use crate::experiment::{Experiment, did_you_mean};
use crate::lua::OPTIONS;
use crate::nearest::nearest;
use dyno_archive::plan::{Foreign, MAIN};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const FURTHER_KEYS: [&str; 5] = ["data", "behind", "foreign", "replica_of", "count"];

/// What begins the names of other values, or names the main server's sections.
const TAKEN: [&str; 7] = [SETTINGS, STAGE, PLAN, OPTIONS, "server", "servers", "data"];

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
        self.check_name("a server", name, span.clone())?;
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

    /// What the main server is called.
    pub(super) fn main_server(&self) -> &str {
        self.experiment.server_name.as_deref().unwrap_or(MAIN)
    }

    /// Reads the name of the main server.
    pub(super) fn server_name(&mut self, server: &Section<'_>) -> Result<(), Diagnostic> {
        if let Some((name, span)) = server.text("name")? {
            self.check_name("a server", &name, span.clone())?;
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
        foreign.tables = table.texts("tables")?.into_iter().map(|(table, _)| table).collect();
        for (name, _, value) in table.entries().filter(|(name, ..)| *name != "tables") {
            let value = option_value(self.source, name, value)?.to_string();
            foreign.options.insert(name.to_owned(), value);
        }
        Ok(foreign)
    }

    /// Makes sure that servers name each other as can be: `servers` and `data` are what the file has of them.
    pub(super) fn check_servers(
        &self,
        servers: &Spanned<DeValue<'_>>,
        data: Option<&Spanned<DeValue<'_>>>,
    ) -> Result<(), Diagnostic> {
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
                self.check_mentions(data)?;
            }
        }
        data.map_or(Ok(()), |data| self.check_mentions(data))?;
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
    fn check_one_server(&self, server: &str, span: Range<usize>) -> Result<(), Diagnostic> {
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

    /// Makes sure that the SQL in a section of data asks for servers that there are.
    fn check_mentions(&self, data: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let data = Section::open(self.source, "data", data)?;
        for key in ["setup", "finish"] {
            let Some((text, span)) = data.text(key)? else { continue };
            for mention in mentions(&text) {
                let written = &text[mention.place.clone()];
                let place = self.place_of(written, &span);
                let counted = mention.server.rsplit_once('-').is_some_and(|(of, _)| {
                    let plan = self.experiment.servers.get(of);
                    plan.is_some_and(|plan| plan.count.is_some())
                });
                // Which of several there are depends on the cell.
                if !counted {
                    self.check_one_server(mention.server, place)?;
                }
            }
        }
        Ok(())
    }
}

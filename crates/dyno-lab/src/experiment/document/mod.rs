//! Reading an experiment file.
//!
//! The document is walked by hand rather than mapped onto types, because every complaint is to show the place, the
//! line and the remedy.

mod asked;
mod data;
mod dialect;
mod factors;
mod load;
mod lua;
mod mentions;
mod plan;
mod published;
mod rows_file;
mod servers;
mod shared;
mod size;
mod stage;
mod workload;

pub(crate) use rows_file::file_form;

use super::diagnostic::Diagnostic;
use super::dialect::PlacedSql;
use super::section::{Section, Source, scalar};
use super::set::{PHASE_NAMES, PLACE_NAMES, PLAN, SETTINGS, STAGE, WORKLOAD_NAMES, unknown_parameter};
use super::{Experiment, placeholder, text_file};
use crate::experiment::plan::Design;
use crate::lua::OPTIONS;
use dyno_archive::plan::{Cache, GRACE, LoadHosts, Place, Publication, State};
use dyno_target::target::PRODUCTS;
use indexmap::IndexMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeValue;

/// Beside these there is a section for each kind of database.
const FILE_KEYS: [&str; 20] = [
    "title",
    "question",
    "source",
    published::HOST,
    "group",
    "parameters",
    "server",
    "servers",
    "data",
    "workload",
    "load",
    "phases",
    "stage",
    "metrics",
    "factors",
    "plan",
    "size",
    "check",
    "output",
    "published",
];

/// Reads the text of an experiment file.
pub(super) fn parse(path: &Path, text: &str) -> Result<Experiment, Diagnostic> {
    parse_beside(path, text, None)
}

/// The same with the path and the text of the file that its folder shares.
pub(super) fn parse_beside(path: &Path, text: &str, shared: Option<(&Path, &str)>) -> Result<Experiment, Diagnostic> {
    let texts = shared::Texts::new(path, text, shared);
    let source = texts.source();
    let (document, defaults) = texts.document()?;
    let databases = PRODUCTS.map(|product| product.key());
    let file = Section::document(source, &document, &[&FILE_KEYS[..], &databases].concat())?;
    let name = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let (title, _) = file.text("title")?.ok_or_else(|| {
        file.missing(
            "title",
            "say in a few words what the experiment measures, for example: title = \"Primary-key update\"",
        )
    })?;
    let mut experiment = Experiment {
        name,
        title,
        question: file.text("question")?.unwrap_or_default().0,
        source: file.text("source")?.unwrap_or_default().0,
        published: Publication {
            host: file.text(published::HOST)?.unwrap_or_default().0,
            figures: Vec::new(),
        },
        group: file.text("group")?.unwrap_or_default().0,
        defaults,
        parameters: IndexMap::new(),
        settings: IndexMap::new(),
        setup: String::new(),
        setup_place: None,
        fill: Vec::new(),
        prepare: None,
        finish: String::new(),
        finish_place: None,
        read_only: false,
        target: None,
        server_name: None,
        servers: IndexMap::new(),
        path: None,
        locale: None,
        state: State::default(),
        cache: Cache::default(),
        tablespaces: Vec::new(),
        workloads: Vec::new(),
        selected: Vec::new(),
        warmup: None,
        measure: None,
        grace: GRACE,
        interval: Duration::from_secs(1),
        load_hosts: LoadHosts::default(),
        hosts_replaced: false,
        hosts: None,
        stages: Vec::new(),
        metrics: IndexMap::new(),
        limits: IndexMap::new(),
        checks: Vec::new(),
        outputs: Vec::new(),
        design: Design::default(),
        named: IndexMap::new(),
        sizes: Vec::new(),
        dialects: IndexMap::new(),
    };
    let mut reader = Reader {
        source,
        experiment: &mut experiment,
    };
    if let Some(value) = file.get("parameters") {
        reader.parameters(value)?;
    }
    let bare = file.get("servers").map(|servers| (servers, reader.experiment.clone()));
    if let Some(value) = file.get("server") {
        reader.server(value)?;
    }
    if let Some((servers, bare)) = &bare {
        reader.servers(servers, bare)?;
    }
    if let Some(value) = file.get("data") {
        reader.data("[data]", value)?;
    }
    if let Some(value) = file.get("load") {
        reader.load(value)?;
    }
    match file.get("workload") {
        Some(value) => reader.workloads(value)?,
        None => {
            let help = "add a section [[workload]] with at least a script";
            return Err(file.missing("[[workload]]", help));
        }
    }
    if let Some(value) = file.get("check") {
        reader.checks(value)?;
    }
    if let Some(value) = file.get("output") {
        reader.outputs(value)?;
    }
    for database in databases {
        if let Some(value) = file.get(database) {
            let is_other = |other: &&str| *other != database && file.get(other).is_some();
            let others: Vec<_> = databases.into_iter().filter(is_other).collect();
            reader.dialect(database, &others, value)?;
        }
    }
    if let Some(data) = file.get("data") {
        reader.check_mentions(reader.main_server(), data)?;
    }
    if let Some(servers) = file.get("servers") {
        reader.check_servers(servers)?;
    }
    if let Some(value) = file.get("phases") {
        reader.phases(value)?;
    }
    if let Some(value) = file.get("stage") {
        reader.stages(value, file.get("phases"))?;
    }
    if let Some(value) = file.get("metrics") {
        reader.metrics(value)?;
    }
    if let Some(value) = file.get("factors") {
        reader.factors(value)?;
    }
    if let Some(value) = file.get("plan") {
        reader.plan(value)?;
    }
    let varied = ["factors", "stage"].into_iter().filter_map(|key| file.get(key));
    if let Some(value) = varied.map(Spanned::span).next() {
        reader.whole(value)?;
    }
    if let Some(value) = file.get("size") {
        reader.sizes(value)?;
    }
    if let Some(value) = file.get("published") {
        reader.published(value)?;
    }
    Ok(experiment)
}

/// Fills an experiment section by section, in an order in which each can be checked against those before.
struct Reader<'a> {
    source: Source<'a>,
    experiment: &'a mut Experiment,
}

impl Reader<'_> {
    fn parameters(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, span, value) in Section::open(self.source, "[parameters]", value)?.entries() {
            if !placeholder::is_name(name) {
                let message = format!("`{name}` cannot name a parameter");
                let help = "scripts refer to it as :name, so use letters, digits and `_`, and do not begin with a \
                            digit";
                return Err(self.source.complain(span, message, help));
            }
            if [SETTINGS, STAGE, PLAN, OPTIONS].contains(&name)
                || [&WORKLOAD_NAMES[..], &PHASE_NAMES, &PLACE_NAMES]
                    .concat()
                    .contains(&name)
            {
                let message = format!("`{name}` cannot name a parameter");
                return Err(self.source.complain(
                    span,
                    message,
                    "every experiment has a value of that name; choose another name",
                ));
            }
            self.experiment
                .parameters
                .insert(name.to_owned(), scalar(self.source, name, value)?);
        }
        Ok(())
    }

    fn phases(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, _, value) in Section::of(self.source, "[phases]", value, &PHASE_NAMES)?.entries() {
            let scalar = scalar(self.source, name, value)?;
            self.experiment.set_phase(name, &scalar).map_err(|reason| {
                self.source
                    .complain(value.span(), format!("`{name}` cannot be `{scalar}`"), reason)
            })?;
        }
        Ok(())
    }

    /// Sets the value called `name`, which stands at `span`.
    fn set(&mut self, name: &str, value: &super::Value, span: Range<usize>) -> Result<(), Diagnostic> {
        let set = self.experiment.set(name, value);
        set.map_err(|error| self.source.refuse(span, &error))
    }

    /// Makes sure that all cells can be measured; `span` is what says which there are.
    fn whole(&self, span: Range<usize>) -> Result<(), Diagnostic> {
        let possible = self.experiment.check_cells();
        possible.map_err(|error| self.source.refuse(span, &error))
    }

    /// Makes sure that `name`, which stands at `span`, can name `what`.
    fn check_name(&self, what: &str, name: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if name.is_empty() || !name.chars().all(allowed) {
            let message = format!("`{name}` cannot name {what}");
            return Err(self.source.complain(span, message, "use letters, digits, `-` and `_`"));
        }
        Ok(())
    }

    /// The SQL under `key` of a section of data, or in the file that `key_file` names, and where it stands, if it is
    /// there.
    fn sql(&self, data: &Section<'_>, key: &str) -> Result<Option<PlacedSql>, Diagnostic> {
        let Some((sql, span, place)) = self.written_sql(data, key)? else {
            return Ok(None);
        };
        self.check_placeholders(&sql, span)?;
        Ok(Some((sql, Some(place))))
    }

    /// The same, whatever it has in it, with the place of what says it in the experiment's file.
    fn written_sql(&self, data: &Section<'_>, key: &str) -> Result<Option<(String, Range<usize>, Place)>, Diagnostic> {
        let of_file = format!("{key}_file");
        match (data.text(key)?, data.text(&of_file)?) {
            (Some((sql, span)), None) => {
                let path = self.source.path_of(&span).display();
                let (name, offset) = match self.source.literal(&span) {
                    Some(offset) => (path.to_string(), offset),
                    None => (format!("{path}, {}.{key}", data.path()), (0, 0)),
                };
                Ok(Some((sql, span, Place { name, offset })))
            }
            (None, Some((file, span))) => {
                let (name, sql) = self.text_beside(&file, &span)?;
                let offset = (0, 0);
                Ok(Some((sql, span, Place { name, offset })))
            }
            (Some(_), Some((_, span))) => {
                let message = format!("{} has both `{key}` and `{of_file}`", data.path());
                Err(self.source.complain(span, message, "keep only one of them"))
            }
            (None, None) => Ok(None),
        }
    }

    /// The path and the text of a file beside that of the experiment, which names it at `span`.
    fn text_beside(&self, file: &str, span: &Range<usize>) -> Result<(String, String), Diagnostic> {
        let path = self.source.path.parent().unwrap_or(Path::new("")).join(file);
        let text = text_file::read(&path).map_err(|cause| {
            let message = format!("cannot read {}: {cause}", path.display());
            let help = "the path is relative to the experiment file";
            self.source.complain(span.clone(), message, help)
        })?;
        Ok((path.display().to_string(), text))
    }

    /// Complains about the first placeholder of `text` that names no parameter. `span` is the place of the whole
    /// text in the file.
    fn check_placeholders(&self, text: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let Some((name, _)) = placeholder::unknown(text, &self.experiment.parameters) else {
            return Ok(());
        };
        let place = self.place_of(&format!("{{{name}}}"), &span);
        let message = unknown_parameter(name, self.experiment);
        let help = format!("add it under [parameters], or write {{{{{name}}}}} for literal braces");
        Err(self.source.complain(place, message, help))
    }

    /// The place of `part` in the text at `span`: where that is written without escapes, it is found in the file.
    fn place_of(&self, part: &str, span: &Range<usize>) -> Range<usize> {
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        written.find(part).map_or(span.clone(), |at| {
            let start = span.start + at;
            start..start + part.len()
        })
    }
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

//! `dyno.toml`: what all experiments of a folder have in common.
//!
//! Its section `[defaults]` holds sections of an experiment file. The rule is that of one file on top of another: a key
//! that an experiment's own file does not have is taken as if it stood there; tables are put together key by key,
//! anything else is the experiment's own, whole. So every key means what it means in an experiment file, and is checked
//! by the same code, which shows the place in the file that it really stands in.

use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, SharedText, Source};
use dyno_archive::plan::SharedDefaults;
use dyno_target::target::{PRODUCTS, without_secrets};
use dyno_text::{HIDDEN, is_secret};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The only section of the file.
const DEFAULTS: &str = "defaults";

/// What it may hold beside the sections for kinds of databases: what makes sense for several experiments.
const SHARED_KEYS: [&str; 12] = [
    "source",
    super::published::HOST,
    "group",
    "parameters",
    "server",
    "data",
    "load",
    "phases",
    "metrics",
    "factors",
    "plan",
    "size",
];

/// The texts of an experiment file and of the one that its folder shares, as one text in which every place has a number
/// of its own.
pub(super) struct Texts<'a> {
    path: &'a Path,
    /// Both, the experiment's first.
    all: String,
    /// The shared one, where it stands in `all`, with nothing before it.
    shared: Option<(&'a Path, String)>,
    own: usize,
}

impl<'a> Texts<'a> {
    pub fn new(path: &'a Path, text: &str, shared: Option<(&'a Path, &str)>) -> Self {
        let own = text.len();
        let Some((shared_path, shared)) = shared else {
            return Self {
                path,
                all: text.to_owned(),
                shared: None,
                own,
            };
        };
        let shared = shared.trim_start_matches('\u{feff}');
        Self {
            path,
            all: format!("{text}\n{shared}"),
            // Blanks mean nothing in TOML, and so the places of its values are those in the text of both.
            shared: Some((shared_path, format!("{}\n{shared}", " ".repeat(own)))),
            own,
        }
    }

    pub fn source(&self) -> Source<'_> {
        Source {
            path: self.path,
            text: &self.all,
            shared: self.shared.as_ref().map(|(path, _)| SharedText {
                path,
                start: self.own + 1,
            }),
        }
    }

    /// The document of the experiment with what it has not from the shared one, and what that is.
    pub fn document(&self) -> Result<(DeTable<'_>, SharedDefaults), Diagnostic> {
        let source = self.source();
        let mut document = table(source, &self.all[..self.own], 0)?;
        let mut taken = SharedDefaults::default();
        if let Some((path, text)) = &self.shared {
            let mut shared = table(source, text, self.own + 1)?;
            Section::document(source, &shared, &[DEFAULTS])?;
            if let Some(defaults) = shared.remove(DEFAULTS) {
                let databases = PRODUCTS.map(|product| product.key());
                Section::of(
                    source,
                    "[defaults]",
                    &defaults,
                    &[&SHARED_KEYS[..], &databases].concat(),
                )?;
                if let DeValue::Table(mut defaults) = defaults.into_inner() {
                    // With a section for one kind of database a file says which kinds it is for.
                    databases
                        .iter()
                        .filter(|database| !document.contains_key(**database))
                        .for_each(|database| drop(defaults.remove(*database)));
                    taken.file = path.display().to_string();
                    let mut merging = Merging {
                        text: &self.all,
                        taken: &mut taken,
                    };
                    merging.merge(&mut document, defaults, "");
                }
            }
        }
        Ok((document, taken))
    }
}

/// The table of a whole text that begins at `start`.
fn table<'t>(source: Source<'_>, text: &'t str, start: usize) -> Result<DeTable<'t>, Diagnostic> {
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(start..start);
        source.complain(span, error.message().trim(), "this is not valid TOML")
    })?;
    Ok(document.into_inner())
}

/// Puts tables together, and notes what is taken.
struct Merging<'m> {
    text: &'m str,
    taken: &'m mut SharedDefaults,
}

impl Merging<'_> {
    /// Adds to `own`, which is at `path`, what it has not from `shared`.
    fn merge<'d>(&mut self, own: &mut DeTable<'d>, shared: DeTable<'d>, path: &str) {
        for (key, value) in shared {
            let path = match path {
                "" => key.get_ref().to_string(),
                path => format!("{path}.{}", key.get_ref()),
            };
            match own.get_mut(&**key.get_ref()) {
                None => {
                    self.note(&path, &value);
                    own.insert(key, value);
                }
                Some(there) => {
                    if let (DeValue::Table(own), DeValue::Table(shared)) = (there.get_mut(), value.into_inner()) {
                        self.merge(own, shared, &path);
                    }
                }
            }
        }
    }

    fn note(&mut self, path: &str, value: &Spanned<DeValue<'_>>) {
        if let DeValue::Table(table) = value.get_ref() {
            for (key, value) in table {
                self.note(&format!("{path}.{}", key.get_ref()), value);
            }
            return;
        }
        let written = self.text.get(value.span()).unwrap_or_default();
        let written = written.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = path.rsplit('.').next().unwrap_or(path);
        let bare = written.trim_matches(['"', '\'']);
        let shown = match name {
            "target" => without_secrets(bare),
            _ if is_secret(name, bare) => HIDDEN.to_owned(),
            _ => written,
        };
        self.taken.values.insert(path.to_owned(), shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use dyno_archive::plan::Size;

    const FILE: &str = "title = \"t\"\n[parameters]\nrows = 5\n[[workload]]\nclients = 3\nscript = \"select :rows\"\n\
                        [phases]\nwarmup = \"1s\"\n[size]\nsmall.rows = 2\n";

    fn parsed(file: &str, shared: &str) -> Result<Experiment, Diagnostic> {
        let shared = (Path::new("shelf/dyno.toml"), shared);
        Experiment::parse_beside(Path::new("shelf/mine.toml"), file, Some(shared))
    }

    fn complaint(shared: &str) -> String {
        parsed(FILE, shared).unwrap_err().to_string()
    }

    #[test]
    fn what_a_file_does_not_say_is_taken_and_named() {
        let shared = "[defaults.phases]\nwarmup = \"9s\"\nmeasure = \"7s\"\n[defaults.parameters]\nrows = 1\ncost = 2\n\
                      [defaults.server]\ntarget = \"postgres://me:hush@db/x\"\n[defaults.size.small]\nrows = 1\n\
                      clients = 1\n";
        let experiment = parsed(FILE, shared).unwrap();
        let plan = experiment.plan(Size::Small, &[], None, 1, 2).unwrap();
        let resolved = &plan.cells[0].experiment;
        assert_eq!((resolved.warmup.as_secs(), resolved.measure.unwrap().as_secs()), (1, 7));
        assert_eq!(resolved.parameters["rows"].to_string(), "2");
        assert_eq!(resolved.workloads[0].clients, 1);
        assert_eq!(plan.defaults.file, "shelf/dyno.toml");
        let taken: Vec<_> = plan
            .defaults
            .values
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        assert_eq!(
            taken,
            [
                "phases.measure = \"7s\"",
                "parameters.cost = 2",
                "server.target = postgres://me:***@db/x",
                "size.small.clients = 1"
            ]
        );
        let set = [("measure".to_owned(), "3s".to_owned())];
        let plan = experiment.plan(Size::Full, &set, None, 1, 2).unwrap();
        assert_eq!(plan.cells[0].experiment.measure.unwrap().as_secs(), 3);
    }

    #[test]
    fn a_mistake_is_shown_in_the_file_that_has_it() {
        let complaints = [
            complaint("\n[defaults.phases]\nmeasure = \"soon\"\n"),
            complaint("[defaults.phases\n"),
            complaint("[defaults]\ntitle = \"all\"\n"),
            complaint("phases = 1\n"),
            complaint("[defaults.size.small]\nrow = 1\n"),
            parsed("title = \"t\"\n", "[defaults]\n").unwrap_err().to_string(),
        ];
        let places: Vec<&str> = complaints
            .iter()
            .filter_map(|complaint| complaint.lines().next()?.split(": ").next())
            .collect();
        assert_eq!(
            places,
            [
                "shelf/dyno.toml:3:11",
                "shelf/dyno.toml:1:17",
                "shelf/dyno.toml:2:1",
                "shelf/dyno.toml:1:1",
                "shelf/dyno.toml:2:1",
                "shelf/mine.toml:1:1"
            ],
            "{complaints:#?}"
        );
        assert!(complaints[0].contains("3 | measure = \"soon\""), "{}", complaints[0]);
    }

    #[test]
    fn sections_for_a_database_are_for_files_that_have_them() {
        let shared = "[defaults.postgres.server]\nsettings.work_mem = \"8MB\"\n";
        let settings = |file: &str| {
            let plan = parsed(file, shared).unwrap().plan(Size::Full, &[], None, 1, 2);
            plan.unwrap().cells[0].experiment.settings.len()
        };
        assert_eq!((settings(FILE), settings(&format!("{FILE}[postgres]\n"))), (0, 1));
    }
}

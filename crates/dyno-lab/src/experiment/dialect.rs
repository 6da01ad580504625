//! What differs by database: settings, SQL and scripts in the words of one kind of database.
//!
//! A file says what holds everywhere in its plain sections, and in `[postgres]` or `[mysql]` what is for one kind
//! alone. Which of them applies is known for each cell, once its target is. A file with such sections is written for
//! the kinds that it names; one without any is sent to every database as it is.

use super::{Experiment, FillPlan, SetError, WorkPlan, builtin};
use crate::lua::PreparePlan;
use dyno_archive::plan::{Expect, Place, Size};
use dyno_target::target::{EMBEDDED, PRODUCTS, Product, product};
use indexmap::IndexMap;

/// A text of SQL and where it stands.
pub(super) type PlacedSql = (String, Option<Place>);

/// What is said for one kind of database; what it leaves open is as in the plain sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dialect {
    pub settings: IndexMap<String, String>,
    pub locale: Option<String>,
    pub setup: Option<PlacedSql>,
    /// Each takes the place of what the table is filled with otherwise.
    pub fill: Vec<FillPlan>,
    pub finish: Option<PlacedSql>,
    pub prepare: Option<PreparePlan>,
    pub tablespaces: Option<Vec<String>>,
    /// By workload.
    pub scripts: IndexMap<String, WorkPlan>,
    /// By check.
    pub checks: IndexMap<String, AskedOtherwise>,
    /// By output.
    pub outputs: IndexMap<String, AskedOtherwise>,
    /// Settings that a size changes.
    pub sizes: Vec<(Size, IndexMap<String, String>)>,
    /// Why the experiment makes sense on this kind of database alone.
    pub only_because: Option<String>,
}

/// What is asked in place of something else, and what has to come of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AskedOtherwise {
    pub sql: Option<String>,
    pub expect: Option<Expect>,
}

impl Dialect {
    /// Whether it has a setting of this name, in any size.
    fn has(&self, setting: &str) -> bool {
        let mut sizes = self.sizes.iter().map(|(_, settings)| settings);
        self.settings.contains_key(setting) || sizes.any(|settings| settings.contains_key(setting))
    }
}

/// A file has sections for kinds of databases, but none for the one that it would be measured on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{experiment}` runs on {} only{}\nExperiments that run on {database}: {}.",
    written_for.join(" and "),
    match because {
        Some(because) => format!(": {because}"),
        None => format!("; to run it on {database}, add a section [{key}] to its file"),
    },
    others.join(", ")
)]
pub struct OtherDatabase {
    /// Its name.
    experiment: String,
    /// The kind of database that it would be measured on.
    database: &'static str,
    /// The section in which a file says what differs there.
    key: &'static str,
    /// The kinds that it has sections for.
    written_for: Vec<&'static str>,
    /// Why it is for no others, if the file says so.
    because: Option<String>,
    /// The experiments that come with dyno and are written for this kind.
    others: Vec<String>,
}

impl Experiment {
    /// The kind of its database, as it is set now; `None` if that is not built in.
    fn database(&self) -> Option<&'static dyn Product> {
        product(self.target.as_deref().unwrap_or(EMBEDDED)).ok()
    }

    /// Whether something is said for one kind of database alone.
    pub(super) fn has_dialects(&self) -> bool {
        !self.dialects.is_empty()
    }

    /// The experiment in the dialect of the database that `cell`, which was made of it, is for.
    ///
    /// # Errors
    /// It is not written for this database.
    pub(super) fn spoken_for(&self, cell: &Self, size: Size) -> Result<Self, SetError> {
        let mut experiment = self.clone();
        // What is not built in is refused when the target is looked at.
        if let Some(database) = cell.database() {
            let Some(dialect) = self.dialects.get(database.key()) else {
                return Err(SetError::OtherDatabase(Box::new(self.not_written_for(database))));
            };
            experiment.speak(dialect, size);
            // So that it is known which kind's settings are its own.
            experiment.target.clone_from(&cell.target);
        }
        Ok(experiment)
    }

    /// Takes over what a dialect says.
    fn speak(&mut self, dialect: &Dialect, size: Size) {
        self.settings.extend(dialect.settings.clone());
        for (_, settings) in dialect.sizes.iter().filter(|(known, _)| *known == size) {
            self.settings.extend(settings.clone());
        }
        if let Some(locale) = &dialect.locale {
            self.locale = Some(locale.clone());
        }
        if let Some((sql, place)) = &dialect.setup {
            (self.setup, self.setup_place) = (sql.clone(), place.clone());
        }
        if let Some((sql, place)) = &dialect.finish {
            (self.finish, self.finish_place) = (sql.clone(), place.clone());
        }
        if let Some(prepare) = &dialect.prepare {
            self.prepare = Some(prepare.clone());
        }
        if let Some(tablespaces) = &dialect.tablespaces {
            self.tablespaces.clone_from(tablespaces);
        }
        for fill in &dialect.fill {
            match self.fill.iter_mut().find(|plain| plain.table == fill.table) {
                Some(plain) => plain.clone_from(fill),
                None => self.fill.push(fill.clone()),
            }
        }
        for workload in &mut self.workloads {
            if let Some(scripts) = dialect.scripts.get(&workload.name) {
                workload.scripts.clone_from(scripts);
            }
        }
        for check in &mut self.checks {
            let AskedOtherwise { sql, expect } = dialect.checks.get(&check.question.name).cloned().unwrap_or_default();
            check.question.sql = sql.unwrap_or_else(|| check.question.sql.clone());
            check.expect = expect.unwrap_or_else(|| check.expect.clone());
        }
        for output in &mut self.outputs {
            if let Some(sql) = dialect
                .outputs
                .get(&output.name)
                .and_then(|otherwise| otherwise.sql.as_ref())
            {
                output.sql.clone_from(sql);
            }
        }
    }

    /// Whether this is a setting that the file has for other kinds of databases alone than its own.
    pub(super) fn is_of_others(&self, name: &str) -> bool {
        let Some(setting) = self
            .setting(name)
            .filter(|setting| !self.settings.contains_key(*setting))
        else {
            return false;
        };
        let own = self.database().and_then(|database| self.dialects.get(database.key()));
        !own.is_some_and(|own| own.has(setting)) && self.dialect_of(setting).is_some()
    }

    /// The key of the first dialect with a setting of this name.
    pub(super) fn dialect_of(&self, setting: &str) -> Option<&'static str> {
        let mut dialects = self.dialects.iter();
        dialects.find(|(_, dialect)| dialect.has(setting)).map(|(key, _)| *key)
    }

    /// The kinds of databases that it is written for: all of them if it names none.
    fn databases(&self) -> impl Iterator<Item = &'static dyn Product> {
        let is_for = |product: &&dyn Product| self.dialects.is_empty() || self.dialects.contains_key(product.key());
        PRODUCTS.into_iter().filter(is_for)
    }

    /// The private servers that it is written for, of each kind of database the one that is fetched, as they are called
    /// behind `embedded:`.
    #[must_use]
    pub fn servers(&self) -> Vec<&'static str> {
        let names = self.databases().filter_map(|product| product.embedded_names().first());
        names.copied().collect()
    }

    fn not_written_for(&self, database: &dyn Product) -> OtherDatabase {
        // A series would be too long a list.
        let named = builtin().iter().filter(|builtin| builtin.series.is_none());
        let parsed = named.filter_map(|builtin| super::find(builtin.name).ok());
        let others = parsed.filter(|experiment| experiment.dialects.contains_key(database.key()));
        OtherDatabase {
            experiment: self.name.clone(),
            database: database.name(),
            key: database.key(),
            written_for: self.databases().map(|product| product.name()).collect(),
            because: self.dialects.values().find_map(|dialect| dialect.only_because.clone()),
            others: others.map(|experiment| experiment.name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::PlanError;
    use crate::experiment::{builtin, find};
    use dyno_archive::plan::{Plan, Resolved};
    use insta::assert_snapshot;
    use std::path::Path;

    const FILE: &str = r#"
title = "t"
[parameters]
rows = 10
[server]
settings.max_connections = 50
[data]
setup = "plain setup"
fill.a = { rows = 1, columns = { id = "row" } }
fill.b = { rows = 2, columns = { id = "row" } }
finish = "plain finish"
[[workload]]
name = "one"
script = "plain script"
[[workload]]
name = "two"
script = "second script"
[postgres]
[postgres.server]
locale = "C"
settings.shared_buffers = "{rows}GB"
[mysql.server]
settings.innodb_buffer_pool_size = "25% of memory"
settings.max_connections = 60
[mysql.data]
setup = "my setup"
fill.b = { rows = "{rows}", columns = { id = "row + 1" } }
fill.c = { rows = 3, columns = { id = "row" } }
[mysql.workload.one]
scripts = [{ name = "a", weight = 2, script = "my script" }, { name = "b", script = "another" }]
[mysql.size.small]
settings.innodb_buffer_pool_size = "1GB"
settings.innodb_log_file_size = "2GB"
[size.small]
rows = 5
"#;

    fn plan(file: &str, size: Size, set: &[(&str, &str)]) -> Result<Plan, PlanError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let set: Vec<_> = set.iter().map(owned).collect();
        let experiment = Experiment::parse(Path::new("mine.toml"), file).unwrap_or_else(|error| panic!("{error}"));
        experiment.plan(size, &set, None, 1, 2)
    }

    /// What a dialect may change.
    fn shown(resolved: &Resolved) -> String {
        let settings = resolved.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let fills = resolved.data.fill.iter();
        let fills = fills.map(|fill| format!("{}*{}:{}", fill.table, fill.rows, fill.columns["id"]));
        let scripts = resolved.workloads.iter().flat_map(|workload| workload.scripts.iter());
        let scripts = scripts.map(|(script, weight)| format!("{weight}x {}", script.script));
        [
            settings.collect::<Vec<_>>().join(" "),
            format!(
                "{}; {}; {}",
                resolved.data.setup,
                fills.collect::<Vec<_>>().join(" "),
                resolved.data.finish
            ),
            scripts.collect::<Vec<_>>().join(", "),
        ]
        .join("\n")
    }

    fn only(size: Size, set: &[(&str, &str)]) -> String {
        let plan = plan(FILE, size, set).unwrap();
        let [cell] = &plan.cells[..] else { panic!("{plan:?}") };
        shown(&cell.experiment)
    }

    const MARIADB: (&str, &str) = ("target", "embedded:mariadb");

    #[test]
    fn a_dialect_is_for_its_database_alone() {
        assert_snapshot!(only(Size::Full, &[]), @r"
        max_connections=50 shared_buffers=10GB
        plain setup; a*1:row b*2:row; plain finish
        1x plain script, 1x second script
        ");
        assert_snapshot!(only(Size::Full, &[MARIADB]), @r"
        max_connections=60 innodb_buffer_pool_size=25% of memory
        my setup; a*1:row b*10:row + 1 c*3:row; plain finish
        2x my script, 1x another, 1x second script
        ");
        assert_eq!(
            only(Size::Full, &[MARIADB]),
            only(Size::Full, &[("target", "mysql://u@db/x")])
        );
        assert_eq!(
            only(Size::Full, &[]),
            only(Size::Full, &[("target", "host=db dbname=x")])
        );
    }

    #[test]
    fn a_size_comes_after_it_and_what_is_set_after_both() {
        assert_snapshot!(only(Size::Small, &[MARIADB]), @r"
        max_connections=60 innodb_buffer_pool_size=1GB innodb_log_file_size=2GB
        my setup; a*1:row b*5:row + 1 c*3:row; plain finish
        2x my script, 1x another, 1x second script
        ");
        let set = [
            ("innodb_buffer_pool_size", "3GB"),
            ("settings.max_connections", "70"),
            MARIADB,
        ];
        let small = only(Size::Small, &set);
        assert!(
            small.starts_with("max_connections=70 innodb_buffer_pool_size=3GB innodb_log_file_size=2GB\n"),
            "{small}"
        );
    }

    /// Which database a cell is for may follow from a level, or from what the name of a level stands for.
    #[test]
    fn each_cell_has_the_dialect_of_its_own_database() {
        let targets = [("target", "embedded:mariadb,embedded:18"), ("max_connections", "80,90")];
        let cells = plan(FILE, Size::Full, &targets).unwrap().cells;
        let settings: Vec<_> = cells.iter().map(|cell| shown(&cell.experiment)).collect();
        let first_lines: Vec<_> = settings.iter().filter_map(|shown| shown.lines().next()).collect();
        assert_snapshot!(first_lines.join("\n"), @r"
        max_connections=80 innodb_buffer_pool_size=25% of memory
        max_connections=90 innodb_buffer_pool_size=25% of memory
        max_connections=80 shared_buffers=10GB
        max_connections=90 shared_buffers=10GB
        ");
        let named = format!(
            "{FILE}[factors.server]\nmine = {{ target = \"embedded:mariadb\", settings.innodb_buffer_pool_size = \
             \"7GB\" }}\nusual = {{}}\n"
        );
        let cells = plan(&named, Size::Full, &[]).unwrap().cells;
        let has = |cell: usize, name: &str| cells[cell].experiment.settings.get(name).map(String::as_str);
        assert_eq!(has(0, "innodb_buffer_pool_size"), Some("7GB"));
        assert_eq!(
            (has(0, "shared_buffers"), has(1, "shared_buffers")),
            (None, Some("10GB"))
        );
    }

    #[test]
    fn a_setting_of_one_database_is_not_given_to_another_beside_it() {
        let both = ("target", "embedded:mariadb,embedded:18");
        let has = |set: &[(&str, &str)], name: &str| {
            let cells = plan(FILE, Size::Full, set).unwrap().cells;
            let values = cells.iter().map(|cell| cell.experiment.settings.get(name).cloned());
            values.collect::<Vec<_>>()
        };
        let some = |value: &str| Some(value.to_owned());
        for name in ["shared_buffers", "settings.shared_buffers"] {
            assert_eq!(has(&[both, (name, "3GB")], "shared_buffers"), [None, some("3GB")]);
        }
        // What both may have goes to both, and what has nowhere else to go is for the server to refuse.
        assert_eq!(
            has(&[both, ("max_connections", "70")], "max_connections"),
            [some("70"), some("70")]
        );
        assert_eq!(
            has(&[both, ("work_mem", "1MB")], "work_mem"),
            [some("1MB"), some("1MB")]
        );
        assert_eq!(
            has(&[MARIADB, ("shared_buffers", "3GB")], "shared_buffers"),
            [some("3GB")]
        );
    }

    #[test]
    fn the_name_of_a_level_stands_for_the_settings_of_each_database() {
        let named = format!(
            "{FILE}[factors.profile]\nlittle = {{ shared_buffers = \"1GB\", innodb_buffer_pool_size = \"2GB\", \
             max_connections = 80, rows = 7 }}\nusual = {{}}\n"
        );
        let of = |target: &str, size: Size| {
            let cells = plan(&named, size, &[("target", target), ("profile", "little")])
                .unwrap()
                .cells;
            cells
                .iter()
                .map(|cell| shown(&cell.experiment))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_snapshot!(of("embedded,embedded:mariadb", Size::Full), @r"
        max_connections=80 shared_buffers=1GB
        plain setup; a*1:row b*2:row; plain finish
        1x plain script, 1x second script
        max_connections=80 innodb_buffer_pool_size=2GB
        my setup; a*1:row b*7:row + 1 c*3:row; plain finish
        2x my script, 1x another, 1x second script
        ");
        // What only another size of its own section has is its own, too.
        let logs = named.replace("rows = 7", "innodb_log_file_size = \"3GB\"");
        let cells = plan(&logs, Size::Full, &[MARIADB]).unwrap().cells;
        assert_eq!(cells[0].experiment.settings["innodb_log_file_size"], "3GB");
        assert!(!cells[0].experiment.settings.contains_key("shared_buffers"));
    }

    #[test]
    fn a_file_is_for_the_databases_that_it_names_or_for_all() {
        let without = FILE.split("[postgres]").next().unwrap();
        let plain = plan(without, Size::Full, &[MARIADB]).unwrap();
        assert!(shown(&plain.cells[0].experiment).starts_with("max_connections=50\nplain setup"));
        let one = format!("{without}[postgres]\n");
        assert!(plan(&one, Size::Full, &[]).is_ok());
        let other = format!("{without}[mysql]\n[[stage]]\nname = \"s\"\nlasts = \"1s\"\n");
        assert!(plan(&other, Size::Full, &[MARIADB]).is_ok());
        let refused = |file: &str, set: &[(&str, &str)]| plan(file, Size::Full, set).unwrap_err().to_string();
        let said = [
            refused(&one, &[MARIADB]),
            refused(&one, &[MARIADB, ("rows", "1,2")]),
            refused(&one, &[("target", "embedded,embedded:mariadb")]),
            refused(&other, &[]),
        ];
        assert_snapshot!(said.join("\n\n"));
        let reason = "only_because = \"only PostgreSQL has vacuums\"\n";
        let said = refused(&format!("{one}{reason}"), &[MARIADB]);
        assert!(
            said.starts_with("`mine` runs on PostgreSQL only: only PostgreSQL has vacuums\nExperiments that run on"),
            "{said}"
        );
        assert!(plan(&format!("{one}{reason}"), Size::Full, &[]).is_ok());
    }

    #[test]
    fn what_is_wrong_with_a_dialect_is_told_with_its_place() {
        let sections = [
            "[db2]",
            "[mysql]\nsettings.a = 1",
            "[mysql]\nonly_because = 1",
            "[mysql]\nonly_because = \"it is\"\n[postgres]",
            "[mysql.server]\ntarget = \"embedded\"",
            "[postgres.server]\nlocale = \"nowhere:x\"",
            "[mysql.server]\nsettings.rows = 1",
            "[mysql.server]\nsettings.a = \"{rwos}GB\"",
            "[mysql.data]\nread_only = true",
            "[mysql.data]\nsetup = \"{rwos}\"",
            "[mysql.data]\nfill.t = { rows = 1 }",
            "[mysql.workload.on]\nscript = \"x\"",
            "[mysql.workload.one]\nclients = 2",
            "[mysql.workload.one]",
            "[[mysql.workload]]\nname = \"one\"\nscript = \"x\"",
            "[mysql.size.tiny]",
            "[mysql.size.small]\nrows = 1",
            "[mysql.server]\nsettings.a = 1\n[size.small]\nsettings.a = 2",
            "[mysql.size.full]\nsettings.a = 1\n[size.small]\na = 2",
        ];
        let start = FILE.split("[postgres]").next().unwrap();
        let complaints = sections.map(|section| {
            let file = format!("{start}{section}\n");
            let refused = Experiment::parse(Path::new("mine.toml"), &file).unwrap_err();
            format!("# {}\n{refused}\n", section.replace('\n', " | "))
        });
        assert_snapshot!(complaints.join("\n"));
    }

    #[test]
    fn the_experiments_that_are_written_for_mariadb() {
        let mut names = Vec::new();
        for builtin in builtin() {
            let experiment = find(builtin.name).unwrap();
            assert!(experiment.dialects.contains_key("postgres"), "{}", builtin.name);
            if !experiment.dialects.contains_key("mysql") {
                continue;
            }
            names.push(builtin.name);
            for size in Size::NAMES {
                let mut set = vec![MARIADB];
                // On a proxy, which is PostgreSQL, they cannot run beside those on MariaDB.
                set.extend((builtin.name == "fdw-proxy").then_some(("workload", "native")));
                let set: Vec<_> = set
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
                let resolved = experiment.resolve(size.parse().unwrap(), &set, 2).unwrap();
                if builtin.series.is_none() {
                    assert_snapshot!(format!("{}-{size}", builtin.name), shown_whole(&resolved));
                }
            }
        }
        let all = builtin().iter().map(|builtin| builtin.name);
        let others: Vec<_> = all.filter(|name| !names.contains(name)).collect();
        // Only PostgreSQL writes full page images, and has these kinds of indexes, types and notifications.
        assert_eq!(
            others,
            [
                "pk-update-checkpoints",
                "htap-trigram",
                "htap-similar",
                "htap-array",
                "htap-bloom",
                "htap-brin",
                "htap-ranges",
                "htap-nearest",
                "htap-notify",
            ]
        );
    }

    /// What is done on the server.
    fn shown_whole(resolved: &Resolved) -> String {
        let settings = resolved
            .settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}\n"));
        let data = &resolved.data;
        let fills = data
            .fill
            .iter()
            .map(|fill| format!("{}: {} rows of {:?}\n", fill.table, fill.rows, fill.columns));
        let scripts = resolved.workloads.iter().map(|workload| match workload.scripts.lua() {
            // Its text is a file of its own.
            Some(lua) => format!("{}: {}\n", lua.script.script_name, lua.options()),
            None => workload
                .scripts
                .iter()
                .map(|(script, _)| script.script.as_str())
                .collect(),
        });
        let parts = [
            settings.collect::<String>(),
            data.setup.clone(),
            fills.collect(),
            data.finish.clone(),
        ];
        parts.join("\n") + &scripts.collect::<String>()
    }
}

//! Experiments: which there are, and what one would do.

use crate::figures::{bytes, count, counted, duration, pacing};
use crate::table::{Page, table};
use dyno_analysis::room;
use dyno_archive::plan::{
    Address, Data, Factor, FurtherServer, LuaScript, Order, Plan, Resolved, Stage, State, Workload, shown_parameter,
};
use dyno_archive::summary::Pacing;
use dyno_record::Storage;
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeSet;
use std::time::Duration;

/// An experiment that can be run by name.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// What is measured, in a few words.
    pub title: String,
    /// The databases that it is for.
    pub databases: String,
    /// What it finds out.
    pub question: String,
    /// The series that it belongs to.
    pub series: Option<&'static str>,
}

/// The experiments that can be run by name; those of a series have a line each, after the others.
#[must_use]
pub fn experiments(experiments: &[Listed]) -> String {
    let by_themselves = experiments.iter().filter(|listed| listed.series.is_none());
    let rows = by_themselves.map(|listed| {
        let Listed {
            name,
            title,
            databases,
            question,
            ..
        } = listed.clone();
        vec![name, title, databases, question]
    });
    let mut text = table(&["name", "title", "databases", "question"], &[0, 1, 2, 3], rows);
    for series in experiments
        .iter()
        .filter_map(|listed| listed.series)
        .collect::<IndexSet<_>>()
    {
        let members = experiments.iter().filter(|listed| listed.series == Some(series));
        let rows = members.map(|listed| vec![listed.name.clone(), listed.title.clone(), listed.databases.clone()]);
        text.push_str(&format!("\nThe series {series}:\n"));
        text.push_str(&table(&["name", "title", "databases"], &[0, 1, 2], rows));
    }
    text
}

/// Rows that a server on two cores of a virtual machine was seen to load per second, indexes included: good for the
/// order of magnitude.
const ROWS_PER_S: f64 = 500_000.0;
/// The same of rows that a script inserts, as a million of sysbench's were seen to go in on both databases.
const PREPARED_ROWS_PER_S: f64 = 150_000.0;
/// Bytes that such a machine copies per second.
const COPIED_BYTES_PER_S: f64 = 300e6;
/// What each run takes beside: the server restarted, the data vacuumed, a checkpoint, the clients connected.
const AROUND_RUN: Duration = Duration::from_secs(10);
/// Longer lists are cut.
const MOST_CELLS: usize = 60;
/// More numbers of runs than fit into a line are cut.
const MOST_NUMBERS: usize = 12;

/// What a campaign would do, for `--dry-run`. `target` says where, without passwords, and `archive`, where anything is
/// to be kept; `storage` is how the database of a cell keeps data.
#[must_use]
pub fn plan(
    plan: &Plan,
    target: &str,
    archive: Option<&str>,
    storage: &dyn Fn(&Resolved) -> Storage,
    page: Page,
) -> String {
    let Some(first) = plan.cells.first().map(|cell| &cell.experiment) else {
        return String::new();
    };
    let size = first.size.map_or_else(String::new, |size| format!(" ({size})"));
    let mut text = format!("{}{size}: {}\n", first.name, first.title);
    text.push_str(&page.paragraph("", &first.question));
    text.push('\n');
    text.push_str(&page.table(&[], &[0, 1, 2], &[], 1, work(plan, first, target, archive)));
    if !plan.factors.is_empty() {
        text.push('\n');
        text.push_str(&cells(plan, page));
    }
    text.push('\n');
    text.push_str(&page.facts(expected(plan, storage)));
    text
}

/// What is the same in all cells, and what is varied.
fn work(plan: &Plan, first: &Resolved, target: &str, archive: Option<&str>) -> Vec<Vec<String>> {
    let row = |kind: &str, name: &str, what: String| vec![kind.to_owned(), name.to_owned(), what];
    let says = |factor: &Factor, name: &str| {
        factor.name == name || factor.meanings.values().any(|meaning| meaning.contains_key(name))
    };
    let varied = |name: &str| plan.factors.iter().any(|factor| says(factor, name));
    let mut rows = Vec::new();
    if !varied("target") {
        rows.push(row("target", "", target.to_owned()));
    }
    let databases = databases(plan, varied("target"));
    rows.extend(said_of(&databases, |cells| {
        let [experiment, ..] = cells else { return Vec::new() };
        let named = experiment.parameters.iter();
        let named = named.map(|(name, value)| ("parameter", name, shown_parameter(name, value).to_string()));
        let settings = experiment.settings.iter();
        let settings = settings.map(|(name, value)| ("setting", name, value.clone()));
        let same = named.chain(settings).filter(|(_, name, _)| !varied(name));
        same.map(|(kind, name, value)| row(kind, name, value)).collect()
    }));
    rows.extend(said_of(&databases, |cells| {
        let [experiment, ..] = cells else { return Vec::new() };
        made("data", &experiment.data)
    }));
    rows.extend(further(plan));
    let mut workloads: IndexMap<&str, Vec<(&Workload, &[Stage])>> = IndexMap::new();
    for experiment in plan.cells.iter().map(|cell| &cell.experiment) {
        for workload in &experiment.workloads {
            let cells = workloads.entry(&workload.name).or_default();
            cells.push((workload, &experiment.stages));
        }
    }
    rows.extend(
        workloads
            .into_iter()
            .map(|(name, cells)| row("workload", name, how(&cells) + &scripts(&databases, name))),
    );
    rows.extend(load_hosts(plan));
    let phases = first.phases();
    rows.extend(
        phases
            .iter()
            .map(|phase| row("phase", &phase.name, lasting(phase.duration))),
    );
    let shared = plan.defaults.values.iter();
    rows.extend(shared.map(|(key, value)| row("shared", key, format!("{value} (from {})", plan.defaults.file))));
    let metrics: IndexMap<_, _> = plan.cells.iter().flat_map(|cell| &cell.experiment.metrics).collect();
    rows.extend(
        metrics
            .into_iter()
            .map(|(name, expression)| row("metric", name, expression.clone())),
    );
    for factor in &plan.factors {
        rows.push(row("factor", &factor.name, factor.levels.join(", ")));
        for (level, meaning) in &factor.meanings {
            let values = meaning.iter().map(|(name, value)| format!("{name} {value}"));
            rows.push(row("", level, values.collect::<Vec<_>>().join(", ")));
        }
    }
    rows.push(row(
        "errors",
        "",
        format!("a run counts with at most {}", plan.max_errors),
    ));
    rows.extend(archive.map(|archive| row("archive", "", archive.to_owned())));
    rows
}

/// How data is made; it is called `kind`.
fn made(kind: &str, data: &Data) -> Vec<Vec<String>> {
    let row = |name: &str, what: String| vec![kind.to_owned(), name.to_owned(), what];
    let sql = |name: &str, text: &str| (!text.trim().is_empty()).then(|| row(name, text.trim().to_owned()));
    let fills = data.fill.iter();
    let fills = fills.map(|fill| {
        let rows = counted(fill.rows, "row");
        match &fill.file {
            Some(file) => row(&fill.table, format!("{rows} of {}", file.path.display())),
            None => row(&fill.table, rows),
        }
    });
    let prepare = data.prepare.as_ref();
    let prepare = prepare.map(|prepare| row("prepare", in_lua(&prepare.script)));
    let (setup, finish) = (sql("setup", &data.setup), sql("finish", &data.finish));
    setup.into_iter().chain(fills).chain(prepare).chain(finish).collect()
}

/// The servers beside the main one in any cell, each as it is in the first that has it, with its data where that is not
/// the same as that of the one before it.
fn further(plan: &Plan) -> Vec<Vec<String>> {
    let mut servers: IndexMap<&String, &FurtherServer> = IndexMap::new();
    for (name, server) in plan.cells.iter().flat_map(|cell| &cell.experiment.servers) {
        servers.entry(name).or_insert(server);
    }
    let mut rows = Vec::new();
    let mut before: Option<&FurtherServer> = None;
    for (name, server) in servers {
        let target = server.target.as_ref().map_or("embedded", Address::shown);
        let of = [("proxy of", &server.behind), ("replica of", &server.replica_of)];
        let of = of
            .into_iter()
            .filter_map(|(what, other)| Some(format!("{what} {}", other.as_ref()?)));
        let tables = server.foreign.tables.join(" and ");
        let tables = (!tables.is_empty()).then(|| format!("with its tables {tables}"));
        let settings = server.settings.iter().map(|(name, value)| format!("{name} = {value}"));
        let what: Vec<_> = [target.to_owned()]
            .into_iter()
            .chain(of)
            .chain(tables)
            .chain(settings)
            .collect();
        rows.push(vec!["server".to_owned(), name.clone(), what.join(", ")]);
        if before.is_none_or(|before| before.data != server.data) {
            rows.extend(made(&format!("data of {name}"), &server.data));
        }
        before = Some(server);
    }
    rows
}

/// The load hosts of the cell that has the most, with the workloads of each, where these are not all.
fn load_hosts(plan: &Plan) -> Vec<Vec<String>> {
    let cells = plan.cells.iter().map(|cell| &cell.experiment);
    let Some(experiment) = cells.max_by_key(|experiment| experiment.load_hosts.hosts.len()) else {
        return Vec::new();
    };
    let hosts = experiment.load_hosts.hosts.iter().enumerate();
    let row = |(place, host): (usize, &String)| {
        let is_its = |workload: &&Workload| workload.load_hosts.is_empty() || workload.load_hosts.contains(&place);
        let own: Vec<_> = experiment.workloads.iter().filter(is_its).collect();
        let own: Vec<_> = match own.len() == experiment.workloads.len() {
            true => Vec::new(),
            false => own.into_iter().map(|workload| workload.name.clone()).collect(),
        };
        let place = (place + 1).to_string();
        let own = match own.is_empty() {
            true => String::new(),
            false => format!(": {}", own.join(", ")),
        };
        vec!["load host".to_owned(), place, format!("{host}{own}")]
    };
    hosts.map(row).collect()
}

/// How a workload runs in all cells that have it, and its scripts.
fn how(cells: &[(&Workload, &[Stage])]) -> String {
    let Some((workload, _)) = cells.first() else {
        return String::new();
    };
    let pacing = |(workload, stages): &(&Workload, &[Stage])| pacing(Pacing::of(workload, stages));
    let protocols = cells.iter().map(|(workload, _)| workload.protocol.to_string());
    let has_driver = cells.iter().any(|(workload, _)| !workload.driver.is_default());
    let drivers = alternatives(cells.iter().map(|(workload, _)| workload.driver.to_string()));
    let drivers = match has_driver {
        true => format!(", driver {drivers}"),
        false => String::new(),
    };
    let on = workload.server.as_ref();
    let mut how = format!(
        "{}{}, {}, {}, {}",
        on.map_or_else(String::new, |server| format!("on {server}, ")),
        span(cells.iter().map(|(workload, _)| workload.clients), "client"),
        span(cells.iter().map(|(workload, _)| workload.threads), "thread"),
        alternatives(protocols) + &drivers,
        alternatives(cells.iter().map(pacing)),
    );
    let counts: Vec<String> = cells
        .iter()
        .filter_map(|(workload, _)| workload.transactions_per_client)
        .map(|number| counted(number, "transaction"))
        .collect();
    if !counts.is_empty() {
        how.push_str(&format!(", {} per client", alternatives(counts.into_iter())));
    }
    if !workload.start_delay.is_zero() {
        how.push_str(&format!(", {} after the others", duration(workload.start_delay)));
    }
    how
}

/// The cells of each database that is measured, with its address as it may be shown; all of them together if there is
/// only one.
fn databases(plan: &Plan, are_several: bool) -> IndexMap<&str, Vec<&Resolved>> {
    let mut databases: IndexMap<&str, Vec<&Resolved>> = IndexMap::new();
    for experiment in plan.cells.iter().map(|cell| &cell.experiment) {
        let target = experiment.target.as_ref().filter(|_| are_several);
        databases
            .entry(target.map_or("", Address::shown))
            .or_default()
            .push(experiment);
    }
    databases
}

/// What the first cells of the databases say, once where it is the same; what only some say, with their addresses.
fn said_of(
    databases: &IndexMap<&str, Vec<&Resolved>>,
    say: impl Fn(&[&Resolved]) -> Vec<Vec<String>>,
) -> Vec<Vec<String>> {
    let mut said: IndexMap<Vec<String>, Vec<&str>> = IndexMap::new();
    for (target, cells) in databases {
        for row in say(cells) {
            said.entry(row).or_default().push(target);
        }
    }
    let each = said.into_iter().map(|(mut row, targets)| {
        if targets.len() < databases.len()
            && let Some(what) = row.last_mut()
        {
            what.push_str(&format!(" (on {})", targets.join(", ")));
        }
        row
    });
    each.collect()
}

/// The scripts of a workload on each database, each on a line of its own.
fn scripts(databases: &IndexMap<&str, Vec<&Resolved>>, workload: &str) -> String {
    let rows = said_of(databases, |cells| {
        let mut workloads = cells.iter().flat_map(|cell| &cell.workloads);
        let known = workloads.find(|known| known.name == workload);
        if let Some(lua) = known.and_then(|known| known.scripts.lua()) {
            return vec![vec![format!("\n{}", in_lua(lua))]];
        }
        let scripts: Vec<_> = known.into_iter().flat_map(|known| known.scripts.iter()).collect();
        let several = scripts.len() > 1;
        let shown = scripts.into_iter().map(|(script, weight)| {
            let text = script.script.trim();
            match several {
                true => format!("\n{} (weight {weight}):\n{text}", script.script_name),
                false => format!("\n{text}"),
            }
        });
        shown.map(|text| vec![text]).collect()
    });
    rows.concat().concat()
}

/// A script in Lua, which is too long to be shown: its name and what its options are set to.
fn in_lua(script: &LuaScript) -> String {
    let name = &script.script.script_name;
    match script.options() {
        none if none.is_empty() => format!("{name} (Lua)"),
        options => format!("{name} (Lua): {options}"),
    }
}

/// From the least to the most of something.
fn span(numbers: impl Iterator<Item = usize> + Clone, of: &str) -> String {
    match (numbers.clone().min(), numbers.max()) {
        (Some(least), Some(most)) if least < most => format!("{} to {}", count(least as u64), counted(most as u64, of)),
        (_, most) => counted(most.unwrap_or_default() as u64, of),
    }
}

/// Each of some texts once.
fn alternatives(texts: impl Iterator<Item = String>) -> String {
    let different: Vec<_> = texts.collect::<IndexSet<_>>().into_iter().collect();
    different.join(" or ")
}

/// The cells, each with its time and the numbers of its runs in the order of the campaign.
fn cells(plan: &Plan, page: Page) -> String {
    let names: Vec<&str> = plan.factors.iter().map(|factor| factor.name.as_str()).collect();
    let header = [names.as_slice(), &["each run", "runs"]].concat();
    let rows = plan.cells.iter().take(MOST_CELLS).map(|cell| {
        let mut row: Vec<String> = cell.levels.values().cloned().collect();
        row.push(lasting(cell.experiment.duration()));
        let mut numbers = plan
            .runs
            .iter()
            .filter(|run| run.cell == cell.levels)
            .map(|run| run.number.to_string());
        let shown: Vec<_> = numbers.by_ref().take(MOST_NUMBERS).collect();
        let more = if numbers.next().is_some() { " …" } else { "" };
        row.push(shown.join(" ") + more);
        row
    });
    let texts: Vec<usize> = (0..header.len()).collect();
    let mut text = page.table(&header, &texts, &[], 1, rows);
    if plan.cells.len() > MOST_CELLS {
        text.push_str(&format!(
            "  … and {} more cells\n",
            count((plan.cells.len() - MOST_CELLS) as u64)
        ));
    }
    text
}

/// Whether every run of an experiment needs its data loaded.
fn reloads(experiment: &Resolved, storage: Storage) -> bool {
    let data = &experiment.data;
    match data.state {
        State::Keep => false,
        State::Copy => !(data.read_only || storage.makes_copies),
        State::Reload => !data.read_only,
    }
}

/// How long it would take and how much disk, as far as that can be told beforehand.
fn expected(plan: &Plan, storage: &dyn Fn(&Resolved) -> Storage) -> Vec<(&'static str, String)> {
    let experiments: Vec<_> = plan.cells_of_runs().map(|cell| &cell.experiment).collect();
    let runs = plan.runs.len() as u32;
    let phases = experiments
        .iter()
        .try_fold(Duration::ZERO, |sum, run| Some(sum.saturating_add(run.duration()?)));
    let data_bytes = |experiment: &Resolved| room::data_bytes(&experiment.data, storage(experiment));
    let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
    let sets = room::data_sets(plan.cells.iter().map(|cell| &cell.experiment));
    let (again, once): (Vec<&Resolved>, Vec<_>) = experiments
        .iter()
        .partition(|experiment| reloads(experiment, storage(experiment)));
    let loading = |experiments: &mut dyn Iterator<Item = &Resolved>| {
        let loaded_s = experiments.map(|Resolved { data, .. }| {
            let filled = data.fill.iter().map(|fill| fill.rows).fold(0, u64::saturating_add);
            filled as f64 / ROWS_PER_S + room::prepared_rows(data) as f64 / PREPARED_ROWS_PER_S
        });
        Duration::try_from_secs_f64(loaded_s.sum::<f64>().ceil()).unwrap_or(Duration::MAX)
    };
    let is_once = |experiment: &&Resolved| !reloads(experiment, storage(experiment));
    let once_loading = loading(&mut sets.iter().copied().filter(is_once));
    let again_loading = loading(&mut again.iter().copied());
    let copied = once
        .iter()
        .copied()
        .filter(|experiment| storage(experiment).makes_copies);
    let copied = sum(&mut copied.map(data_bytes));
    let copying = Duration::try_from_secs_f64((copied as f64 / COPIED_BYTES_PER_S).ceil()).unwrap_or(Duration::MAX);
    let around = AROUND_RUN.saturating_mul(runs).saturating_add(copying);
    let mut time = format!("{} for the phases of {}", lasting(phases), counted(runs.into(), "run"));
    time.push_str(&format!(", about {} for set-up and clean-up", duration(around)));
    if !once_loading.is_zero() {
        time.push_str(&format!(
            ", about {} to load the data unless it is cached",
            duration(once_loading)
        ));
    }
    if !again_loading.is_zero() {
        time.push_str(&format!(
            ", about {} to load the data anew for {}",
            duration(again_loading),
            counted(again.len() as u64, "run")
        ));
    }
    let mut lines = Vec::new();
    if !plan.factors.is_empty() || runs > 1 {
        lines.push(("order", order(plan)));
    }
    if let Some(phases) = phases {
        let loading = once_loading.saturating_add(again_loading);
        let total = phases.saturating_add(around).saturating_add(loading);
        time.push_str(&format!("; about {} in total", duration(total)));
    }
    lines.push(("time", time));
    let data = sum(&mut sets.iter().copied().map(data_bytes));
    let copies = sets
        .iter()
        .copied()
        .filter(|experiment| storage(experiment).makes_copies);
    let largest_copy = copies.map(data_bytes).max().unwrap_or_default();
    let archive = experiments
        .iter()
        .copied()
        .map(room::archive_bytes)
        .fold(0, u64::saturating_add);
    let mut disk = format!("about {} for the archive", bytes(archive));
    if data > 0 {
        let copy = match largest_copy {
            0 => String::new(),
            copy => format!(", {} for the copy that a run works on", bytes(copy)),
        };
        disk = format!(
            "about {} for {} of data{copy}, plus whatever {} adds; {disk}",
            bytes(data),
            counted(sets.len() as u64, "set"),
            if copy.is_empty() { "a run" } else { "it" },
        );
    }
    lines.push(("disk", disk));
    lines
}

/// How the order of the runs comes about.
fn order(plan: &Plan) -> String {
    let repetitions: BTreeSet<_> = plan.runs.iter().map(|run| run.repetition).collect();
    let how = match plan.order {
        Order::Interleaved => format!("shuffled within each repetition; repeat with --seed {}", plan.seed),
        Order::Random => format!("all runs shuffled; repeat with --seed {}", plan.seed),
        Order::Listed => "as listed, repetition by repetition".to_owned(),
        Order::Paired => format!(
            "beside each other until it is known which does more; repeat with --seed {}",
            plan.seed
        ),
    };
    let cells = counted(plan.cells.len() as u64, "cell");
    let times = counted(repetitions.len() as u64, "repetition");
    format!("{cells}, {times}, {how}")
}

/// How long phases last.
fn lasting(planned: Option<Duration>) -> String {
    planned.map_or_else(|| "until all transactions are done".to_owned(), duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::WIDTH;
    use dyno_archive::plan::Size;
    use dyno_lab::experiment::{builtin, find};
    use insta::assert_snapshot;

    /// As the two kinds of private servers keep their data.
    fn storage(experiment: &Resolved) -> Storage {
        let target = experiment.target.as_ref().map(Address::shown);
        let is_mariadb = target == Some("embedded:mariadb");
        Storage {
            row_bytes: if is_mariadb { 18 } else { 28 },
            is_clustered: is_mariadb,
            makes_copies: !is_mariadb,
        }
    }

    fn dry_run(set: &[(&str, &str)], repetitions: usize) -> String {
        let set: Vec<_> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let plan = find("pk-update")
            .unwrap()
            .plan(Size::Small, &set, Some(repetitions), 7, 2)
            .unwrap();
        let text = super::plan(&plan, "embedded", Some("archive"), &storage, Page::default());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        text
    }

    #[test]
    fn all_that_come_with_dyno() {
        let listed = builtin().iter().map(|builtin| {
            let experiment = find(builtin.name).unwrap();
            Listed {
                name: experiment.name().to_owned(),
                title: experiment.title().to_owned(),
                databases: experiment.servers().join(", "),
                question: experiment.question().to_owned(),
                series: builtin.series,
            }
        });
        assert_snapshot!(super::experiments(&listed.collect::<Vec<_>>()));
    }

    #[test]
    fn what_a_run_would_do() {
        assert_snapshot!(dry_run(&[], 1));
    }

    #[test]
    fn what_a_campaign_would_do() {
        let set = [
            ("clients", "1,4..8:4"),
            ("full_page_writes", "on,off"),
            ("rows", "1000000,2000000"),
        ];
        assert_snapshot!(dry_run(&set, 3));
    }

    #[test]
    fn what_differs_between_cells_is_told_apart() {
        let plan = find("os-comparison")
            .unwrap()
            .plan(Size::Full, &[], None, 7, 2)
            .unwrap();
        let text = super::plan(&plan, "embedded", Some("archive"), &storage, Page::default());
        let told: Vec<_> = text.lines().skip_while(|line| !line.contains("workload")).collect();
        assert_snapshot!(told[..told.len() - 50].join("\n"));
    }

    #[test]
    fn what_is_for_one_database_has_its_address() {
        let text = dry_run(&[("target", "embedded,embedded:mariadb"), ("plan.order", "listed")], 1);
        let told: Vec<_> = text.lines().take_while(|line| !line.contains("phase")).collect();
        assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn data_that_cannot_be_copied_is_loaded_for_each_run() {
        let text = dry_run(&[("target", "embedded:mariadb")], 3);
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("about 6 s to load the data anew for 3 runs; about"),
            "{text}"
        );
        assert!(said.contains("for 1 set of data, plus whatever a run adds;"), "{text}");
        assert!(!said.contains("copy") && !said.contains("cached"), "{text}");
    }

    #[test]
    fn many_cells_are_cut() {
        let text = dry_run(&[("clients", "1..100"), ("plan.order", "listed")], 20);
        assert!(
            text.contains("… and 40 more cells") && text.lines().count() < 130,
            "{text}"
        );
    }
}

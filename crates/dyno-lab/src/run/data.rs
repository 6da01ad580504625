//! What an experiment says of its data, as a target brings it.

use super::RunError;
use super::servers::CellServer;
use crate::experiment::file_form;
use crate::experiment::mention::{self, Mention};
use crate::lua::Prepares;
use dyno_archive::plan::{self, Resolved, State};
use dyno_target::table_file::TableFile;
use dyno_target::target::{self, Data, Fill, Maker, RowSource, Sql, Whereabouts};
use dyno_text::is_secret;
use std::collections::HashMap;
use std::sync::Arc;

/// The experiment's data.
pub(super) fn of(experiment: &Resolved) -> Data {
    let data = &experiment.data;
    let sql = |(text, name): (String, &str)| Sql {
        text,
        name: name.to_owned(),
    };
    let fill = data.fill.iter().map(|fill| Fill {
        table: fill.table.clone(),
        rows: fill.rows,
        columns: fill.columns.clone().into_iter().collect(),
        source: source_of(fill),
    });
    Data {
        experiment: experiment.name.clone(),
        setup: sql(data.placed_setup()),
        fill: fill.collect(),
        maker: data
            .prepare
            .clone()
            .map(|prepare| Arc::new(Prepares(prepare)) as Arc<dyn Maker>),
        finish: sql(data.placed_finish()),
        tablespaces: data.tablespaces.clone(),
        definition: definition(data),
        locale: experiment.locale.clone(),
        read_only: data.read_only,
        state: match data.state {
            State::Copy => target::State::Copy,
            State::Reload => target::State::Reload,
            State::Keep => target::State::Keep,
        },
        linked: false,
    }
}

/// Who makes the rows of a table.
fn source_of(fill: &plan::Fill) -> RowSource {
    match (&fill.file, fill.seed) {
        (Some(file), _) => RowSource::File(Arc::new(TableFile {
            path: file.path.clone(),
            form: file_form(file),
            rows: fill.rows,
            sha256: file.sha256.clone(),
        })),
        (None, Some(seed)) => RowSource::Seed(seed),
        (None, None) => RowSource::Server,
    }
}

/// The data of a server of a cell.
pub(super) fn of_server(server: &CellServer<'_>) -> Data {
    Data {
        linked: server.is_linked(),
        ..of(&server.experiment)
    }
}

/// The same with where other servers are, which its SQL may ask for. It is other data where they are elsewhere.
///
/// # Errors
/// Something is asked of a server that it does not have.
pub(super) fn filled(server: &CellServer<'_>, known: &HashMap<String, Whereabouts>) -> Result<Data, RunError> {
    let mut data = of_server(server);
    for sql in [&mut data.setup, &mut data.finish] {
        let part = |mention: &Mention<'_>| known.get(mention.server)?.part(mention.field).map(str::to_owned);
        let text = mention::filled(&sql.text, part).map_err(|mention| RunError::NotThere {
            server: mention.server.to_owned(),
            field: mention.field.to_owned(),
        })?;
        if text != sql.text {
            data.definition.push_str(&text);
            sql.text = text;
        }
    }
    Ok(data)
}

/// What makes the data what it is, whatever is done with it and wherever it is written.
fn definition(data: &dyno_archive::plan::Data) -> String {
    let mut fill = data.fill.clone();
    for file in fill.iter_mut().filter_map(|fill| fill.file.as_mut()) {
        // What is in it counts, not where it lies.
        file.path.clear();
    }
    // Serializing plain strings and numbers cannot fail.
    let mut definition =
        serde_json::to_string(&(&data.setup, &fill, &data.finish, &data.tablespaces)).unwrap_or_default();
    if let Some(prepared) = &data.prepare {
        let prepare = (&prepared.script.script.script, &prepared.script.lua, prepared.threads);
        let prepare = serde_json::to_string(&prepare);
        definition.push_str(&prepare.unwrap_or_default());
        // What is never serialised may still decide what the data is.
        let options = prepared.script.lua.options.iter();
        let hidden = options.filter(|(name, value)| is_secret(name, &value.to_string()));
        definition.extend(hidden.map(|(name, value)| format!("{name}={value}\n")));
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::find;
    use dyno_archive::plan::{Cache, Place, Size};

    #[test]
    fn the_same_data_is_loaded_once_whatever_is_done_with_it() {
        let mut plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 7, 2).unwrap();
        let mut data = plan.cells.remove(0).experiment.data;
        let loaded = definition(&data);
        (data.state, data.cache) = (State::Reload, Cache::Cold);
        assert_eq!(definition(&data), loaded);
        data.setup_place = Some(Place {
            name: "moved.toml".to_owned(),
            offset: (7, 0),
        });
        assert_eq!(definition(&data), loaded);
        data.fill[0].rows += 1;
        assert_ne!(definition(&data), loaded);
    }
}

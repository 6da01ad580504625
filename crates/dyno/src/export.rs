//! `dyno export`: results as rows, into a file or a table.

use crate::cli::{ExportArguments, Format};
use crate::failure::Failure;
use crate::{look, say, written};
use dyno_archive::Archive;
use dyno_report::{Export, ExportKind};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::export::{Kind, Rows};

/// `dyno export`.
pub fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let archive = Archive::new(&arguments.archive.archive);
    let campaigns = if arguments.all {
        archive.campaigns()?
    } else {
        vec![look::campaign(&archive, arguments.campaign.as_deref())?]
    };
    let export = if arguments.intervals {
        Export::of_intervals(&campaigns)
    } else {
        Export::of_runs(&campaigns)
    };
    if let (Some(url), Some(table)) = (&arguments.to, &arguments.table) {
        return into_table(&export, url, table);
    }
    let bytes = match arguments.format {
        Format::Csv => export.to_csv()?,
        Format::Json => serde_json::to_vec_pretty(&export.to_json())?,
    };
    match &arguments.output {
        Some(file) => written::write(file, bytes)?,
        None => say::result(&String::from_utf8_lossy(&bytes))?,
    }
    Ok(())
}

fn into_table(export: &Export, url: &str, table: &str) -> Result<(), Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let target = ConnectionInfo::resolve(Some(url), &variable)?;
    let kind = |kind: &ExportKind| match kind {
        ExportKind::Text => Kind::Text,
        ExportKind::Integer => Kind::Integer,
        ExportKind::Number => Kind::Number,
        ExportKind::Boolean => Kind::Boolean,
        ExportKind::Time => Kind::Time,
    };
    let rows = Rows {
        columns: export
            .columns
            .iter()
            .map(|(name, of)| (name.clone(), kind(of)))
            .collect(),
        key: Export::KEY,
        rows: export.texts(),
    };
    let written = dyno_target::postgres::export::export(&target, table, &rows)?;
    say::aside(&format!("Wrote {written} rows to the table {table}."));
    Ok(())
}

//! The experiments of the documentation are files that dyno reads, and docs/experiment-files.md has every key.

use crate::experiment::{Experiment, SCHEMA, builtin};
use dyno_archive::plan::Size;
use dyno_target::target::PRODUCTS;
use std::fs;
use std::path::Path;

const REFERENCE: &str = include_str!("../../../../../docs/experiment-files.md");

/// The README and the pages in `docs`, by name.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let paths = std::iter::once(root.join("README.md")).chain(docs);
    let pages = paths.map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()));
    pages.collect()
}

/// The examples of a page.
fn examples(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```toml\n").skip(1);
    blocks.filter_map(|rest| rest.split("```").next())
}

/// An example with what every file needs, if it does not say that itself.
fn completed(example: &str) -> String {
    let title = if example.contains("title =") {
        ""
    } else {
        "title = \"t\"\n"
    };
    let workload = if example.contains("[[workload]]") {
        ""
    } else {
        "\n[[workload]]\nscript = \"select 1;\"\n"
    };
    format!("{title}{example}{workload}")
}

#[test]
fn every_example_of_the_documentation_is_valid() {
    let (mut whole, mut parts) = (0, 0);
    let folder = tempfile::tempdir().unwrap();
    // What examples name.
    for (file, text) in [
        ("schema.sql", "-- tables"),
        ("city.csv", "id,name,population,area\n1,a,2,3\n"),
    ] {
        fs::write(folder.path().join(file), text).unwrap();
    }
    for (page, text) in pages() {
        for example in examples(&text) {
            // What has a title is to be copied as it is; only the reference shows sections by themselves under one.
            let is_whole = example.starts_with("title ") && text != REFERENCE;
            let file = match is_whole {
                true => example.to_owned(),
                false => completed(example),
            };
            *(if is_whole { &mut whole } else { &mut parts }) += 1;
            let experiment = Experiment::parse(&folder.path().join("example.toml"), &file);
            let experiment = experiment.unwrap_or_else(|error| panic!("{page}: {error}\n{example}"));
            let oracle = ("target".to_owned(), "oracle://bench@db.example/shop".to_owned());
            let target: Vec<_> = example.contains("[oracle.").then_some(oracle).into_iter().collect();
            for size in Size::NAMES {
                let plan = experiment.plan(size.parse().unwrap(), &target, None, 1, 4);
                let plan = plan.unwrap_or_else(|error| panic!("{page}, {size}: {error}\n{example}"));
                assert!(!plan.runs.is_empty(), "{page}, {size}\n{example}");
            }
        }
    }
    assert!(whole >= 6 && parts >= 20, "{whole} {parts}");
}

#[test]
fn every_key_is_in_the_reference() {
    let forms = |key: &str| [format!("`{key}`"), format!("[{key}]"), format!("`{key}.TABLE`")];
    let documented = |key: &str| forms(key).iter().any(|form| REFERENCE.contains(form));
    let keys = [
        &super::FILE_KEYS[..],
        &super::workload::WORKLOAD_KEYS,
        &super::stage::STAGE_KEYS,
        &super::load::LOAD_KEYS,
        &super::plan::PLAN_KEYS,
        &super::data::DATA_KEYS,
        &super::dialect::DIALECT_KEYS,
        &["target", "path", "locale", "warmup", "measure", "interval", "setup"],
    ];
    let databases = PRODUCTS.iter().map(|product| product.key());
    for key in keys.concat().into_iter().chain(databases).filter(|key| *key != "size") {
        assert!(documented(key), "{key}");
    }
}

#[test]
fn editors_know_every_key() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let keys_at = |pointer: &str| {
        let properties = schema.pointer(&format!("{pointer}/properties"));
        let properties = properties.and_then(|properties| properties.as_object());
        let properties = properties.unwrap_or_else(|| panic!("the schema has no {pointer}"));
        let mut keys: Vec<String> = properties.keys().cloned().collect();
        keys.sort();
        keys
    };
    let databases = PRODUCTS.map(|product| product.key());
    let server = [&["name"], &super::data::SERVER_KEYS[..]].concat();
    let further = [&super::data::SERVER_KEYS[..], &super::servers::FURTHER_KEYS].concat();
    for (pointer, keys) in [
        ("", [&super::FILE_KEYS[..], &databases].concat()),
        ("/properties/server", server),
        ("/properties/servers/additionalProperties", further),
        ("/properties/data", super::data::DATA_KEYS.to_vec()),
        ("/$defs/fill", super::data::FILL_KEYS.to_vec()),
        ("/$defs/row_file", super::rows_file::LOAD_KEYS.to_vec()),
        ("/properties/workload/items", super::workload::WORKLOAD_KEYS.to_vec()),
        (
            "/properties/workload/items/properties/scripts/items",
            super::workload::SCRIPT_KEYS.to_vec(),
        ),
        ("/properties/load", super::load::LOAD_KEYS.to_vec()),
        ("/properties/phases", super::PHASE_NAMES.to_vec()),
        ("/properties/stage/items", super::stage::STAGE_KEYS.to_vec()),
        ("/properties/plan", super::plan::PLAN_KEYS.to_vec()),
        ("/properties/check/items", super::asked::CHECK_KEYS.to_vec()),
        ("/properties/output/items", super::asked::OUTPUT_KEYS.to_vec()),
        ("/properties/published/items", super::published::PUBLISHED_KEYS.to_vec()),
        ("/$defs/dialect", super::dialect::DIALECT_KEYS.to_vec()),
        ("/$defs/dialect/properties/data", super::dialect::DATA_KEYS.to_vec()),
    ] {
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!(keys_at(pointer), keys, "{pointer}");
    }
}

#[test]
fn editors_find_nothing_wrong_with_what_dyno_reads() {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong = |text: &str| {
        let document: serde_json::Value = toml::from_str(text).unwrap();
        let errors = validator.iter_errors(&document);
        errors
            .map(|error| format!("{}: {error}\n", error.instance_path()))
            .collect::<String>()
    };
    for example in examples(REFERENCE) {
        assert_eq!(wrong(&completed(example)), "", "{example}");
    }
    for builtin in builtin() {
        assert_eq!(wrong(builtin.text), "", "{}", builtin.name);
    }
    assert_eq!(wrong(&crate::experiment::begin("a", "a.toml")), "");
    let misspelt = "title = 'a'\n[[workload]]\nclient = 8\nscript = 'select 1'";
    assert!(wrong(misspelt).contains("client"), "{}", wrong(misspelt));
}

//! What stands in files is what gets to tables.

use super::*;
use dyno_script::RowFormat;
use proptest::prelude::*;

const COMMAS: Layout = Layout::Separated(b',');

fn form(layout: Layout) -> FileForm {
    FileForm {
        layout,
        header: layout != Layout::Escaped,
        null: if layout == Layout::Escaped { "\\N" } else { "" }.to_owned(),
    }
}

fn written(text: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn look(text: &str, layout: Layout) -> Result<(TableFile, Vec<String>), String> {
    let file = written(text.as_bytes());
    let looked = TableFile::look(file.path(), form(layout));
    looked.map_err(|error| error.to_string().replace(&file.path().display().to_string(), "FILE"))
}

/// All values of a file in the columns of these numbers.
fn values(text: &str, layout: Layout, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let kept = written(text.as_bytes());
    let (file, _) = TableFile::look(kept.path(), form(layout)).unwrap();
    let number = file.rows;
    let rows = Arc::new(file)
        .rows(columns.iter().map(|column| (*column, *column)))
        .unwrap();
    let mut writer = rows.writer(RowFormat::Lines);
    (1..=number).map(|row| writer.values(row).unwrap()).collect()
}

#[test]
fn values_are_read_as_they_are_written() {
    let some = |text: &str| Some(text.to_owned());
    let csv = "\u{feff}id,name,note\r\n1,\"Ann, \"\"the\"\" first\",\n\n2,\"two\nlines\",x\n";
    let (file, names) = look(csv, COMMAS).unwrap();
    assert_eq!((file.rows, names.join(" ")), (2, "id name note".to_owned()));
    assert_eq!(
        values(csv, COMMAS, &["3", "2"]),
        [[None, some("Ann, \"the\" first")], [some("x"), some("two\nlines")]]
    );
    let tsv = "1\ta\\tb\\\\\t\\N\n2\tline\\\nbreak\\n\tNULL\r\n\\.\nnothing\n";
    assert_eq!(look(tsv, Layout::Escaped).unwrap().0.rows, 2);
    assert_eq!(
        values(tsv, Layout::Escaped, &["1", "2", "3"]),
        [
            [some("1"), some("a\tb\\"), None],
            [some("2"), some("line\nbreak\n"), some("NULL")]
        ]
    );
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_line() {
    let error = look("a,b\n1,2\n3\n", COMMAS).unwrap_err();
    assert_eq!(error, "FILE, line 3: it has 1 values, and the first 2");
    let error = look("1\t2\n1\\\n2\t3\n4\n", Layout::Escaped).unwrap_err();
    assert_eq!(error, "FILE, line 4: it has 1 values, and the first 2");
    let error = look("a,b\r\n\r\n1,2\r\n3\r\n", COMMAS).unwrap_err();
    assert_eq!(error, "FILE, line 4: it has 1 values, and the first 2");
    let missing = TableFile::look(Path::new("/nowhere"), form(COMMAS)).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "cannot read /nowhere: No such file or directory (os error 2)"
    );
    let folder = TableFile::look(Path::new("/"), form(COMMAS)).unwrap_err();
    assert_eq!(folder.to_string(), "cannot read /: it is not a regular file");
}

#[test]
fn a_file_that_has_changed_is_not_loaded() {
    let kept = written(b"a\n1\n");
    let (file, _) = TableFile::look(kept.path(), form(COMMAS)).unwrap();
    std::fs::write(kept.path(), "a\n2\n").unwrap();
    let error = Arc::new(file).rows([("a", "1")]).unwrap_err();
    assert!(error.to_string().contains("is not the file any more"), "{error}");
}

#[test]
fn a_quote_that_is_left_open_takes_no_other_rows_in() {
    let said = |text: &str| look(text, COMMAS).unwrap_err();
    let open = "the quote that begins a value there has no end";
    assert_eq!(said("a,b\n1,\"x\ny\"\n2,\"z\n3,w\n"), format!("FILE, line 4: {open}"));
    assert_eq!(said("\u{feff}\"a\n1\n"), format!("FILE, line 1: {open}"));
    assert_eq!(said("a\r\n\"1\"\r\n\""), format!("FILE, line 3: {open}"));
    // Where a later quote ends it, that is not at the end of a value.
    let error = said("a,b\n1,\"x\n2,\"y\"\n3,z\n");
    assert!(
        error.starts_with("FILE, line 2: something follows the quote"),
        "{error}"
    );
    let (file, names) = look("\u{feff}\"a,\n\",b\n1,5\"\n\"\"\"\",\"2\"", COMMAS).unwrap();
    assert_eq!((file.rows, names), (2, vec!["a,\n".to_owned(), "b".to_owned()]));
}

#[test]
fn a_row_without_an_end_is_not_kept_in_memory() {
    for layout in [COMMAS, Layout::Escaped] {
        let kept = written(b"a\n1\n");
        let file = File::options().write(true).open(kept.path()).unwrap();
        // What is not written takes no room on the disk.
        file.set_len(2 * watch::MOST_ROW_BYTES).unwrap();
        let error = TableFile::look(kept.path(), form(layout)).unwrap_err().to_string();
        assert!(error.contains("line 3: the row is longer than 64 MB"), "{error}");
    }
}

#[test]
fn a_file_that_changes_while_it_is_loaded_is_told() {
    let kept = written(b"a\n1\n2\n");
    let (file, _) = TableFile::look(kept.path(), form(COMMAS)).unwrap();
    let file = Arc::new(file);
    drop(file.rows([("a", "1")]).unwrap());
    file.check_unchanged().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(kept.path(), "a\n1\n3\n").unwrap();
    let error = file.check_unchanged().unwrap_err().to_string();
    assert!(error.contains("was changed while it was read"), "{error}");
}

#[test]
fn what_is_unchanged_is_read_once() {
    let kept = written(b"a\n1\n");
    let form = form(COMMAS);
    let earlier = SystemTime::now() - std::time::Duration::from_secs(60);
    File::options()
        .write(true)
        .open(kept.path())
        .unwrap()
        .set_modified(earlier)
        .unwrap();
    let read = || Seen::of(kept.path(), &form).unwrap();
    // Just changed, it may be changed again within a tick of the clock.
    assert!(!Arc::ptr_eq(&read(), &read()));
    std::thread::sleep(std::time::Duration::from_secs(3));
    let before = read();
    assert!(Arc::ptr_eq(&before, &read()));
    std::fs::write(kept.path(), "a\n2\n").unwrap();
    assert_ne!(read().sha256, before.sha256);
}

#[test]
fn rows_have_lines() {
    let kept = written(b"a,b\r\n\r\n1,\"x\r\ny\"\r\n2,z\r\n");
    let (file, _) = TableFile::look(kept.path(), form(COMMAS)).unwrap();
    let said = file.lines(1, 2).replace(&kept.path().display().to_string(), "FILE");
    assert_eq!(said, "FILE, lines 3 to 5");
    assert!(file.lines(2, 2).ends_with(", line 5"), "{}", file.lines(2, 2));
}

proptest! {
    #[test]
    fn rows_are_the_same_in_whatever_order_they_are_read(
        texts in prop::collection::vec(prop::option::of("[ -~\t\n\\\\]{1,12}"), 2100..2400),
        order in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let lines: Vec<String> = texts.iter().enumerate().map(|(number, text)| {
            let text = text.as_ref().map_or("\\N".to_owned(), |text| {
                text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\\n")
            });
            format!("{number}\t{text}\n")
        }).collect();
        let mut csv = csv::Writer::from_writer(vec![]);
        csv.write_record(["id", "text"]).unwrap();
        for (number, text) in texts.iter().enumerate() {
            csv.write_record([&number.to_string(), text.as_deref().unwrap_or("")]).unwrap();
        }
        let csv = csv.into_inner().unwrap();
        for (content, layout) in [(lines.concat().as_bytes(), Layout::Escaped), (&csv, COMMAS)] {
            let kept = written(content);
            let (file, _) = TableFile::look(kept.path(), form(layout)).unwrap();
            prop_assert_eq!(file.rows, texts.len() as u64);
            let rows = Arc::new(file).rows([("id", "1"), ("text", "2")]).unwrap();
            let mut writer = rows.writer(RowFormat::Lines);
            for index in &order {
                let number = index.index(texts.len());
                let read = writer.values(number as u64 + 1).unwrap();
                prop_assert_eq!(read, [Some(number.to_string()), texts[number].clone()]);
            }
        }
    }
}

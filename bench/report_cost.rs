//! Time and size of a report of a long run: eight hours with an interval each second, three workloads of several
//! statements, and all samples.
//!
//!     cargo bench --bench report_cost -- [--hours 8] [--times 5] [--keep FOLDER]
//!
//! The run is made up; nobody has to wait eight hours for it.

use dyno_archive::RunState;
use dyno_bench::{Result, Spread, archive, begin_night, dyno_binary, night_pace, option, report_wall_s};
use dyno_serve::{Options, Server};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<()> {
    let hours: u32 = option("--hours", 8)?;
    let times: usize = option("--times", 5)?;
    let keep: PathBuf = option("--keep", PathBuf::new())?;
    let dyno = dyno_binary()?;
    let folder = tempfile::tempdir()?;
    let folder = if keep.as_os_str().is_empty() {
        folder.path()
    } else {
        keep.as_path()
    };
    fs::create_dir_all(folder)?;
    let began = Instant::now();
    let failed = |error: dyno_fixtures::Error| error.to_string();
    let fixture = begin_night(folder, hours).map_err(failed)?;
    let campaign = fixture.path().to_owned();
    let mut made = fixture.run(&fixture.runs()[0], night_pace).map_err(failed)?;
    while made.step().map_err(failed)? {}
    println!(
        "made up in {:.0} s: {}",
        began.elapsed().as_secs_f64(),
        campaign.display()
    );
    began_before(&campaign, hours)?;
    let (live_s, live_mb) = live_page(folder, &campaign, times)?;
    made.finish(RunState::Complete).map_err(failed)?;
    // Its end is the end of the campaign.
    drop(fixture);

    let archive_mb = size_mb(&campaign)?;
    let mut table = "| form | wall s | size MB |\n|---|---|---|\n".to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for form in ["html", "json", "csv"] {
        let file = folder.join(format!("report.{form}"));
        let mut walls = Vec::new();
        for _ in 0..times {
            walls.push(report_wall_s(&dyno, form, &file, &campaign)?);
        }
        let wall_s = Spread::of(walls.iter().copied());
        let size = fs::metadata(&file)?.len() as f64 / 1e6;
        let row = format!("| {form} | {wall_s} | {size:.2} |\n");
        print!("{row}");
        write!(table, "{row}")?;
        results.push(json!({ "form": form, "wall_s": wall_s, "size_mb": size, "walls_s": walls }));
    }
    let row = format!("| live page's first event | {live_s} | {live_mb:.2} |\n");
    print!("{row}");
    write!(table, "{row}")?;
    results.push(json!({ "form": "live", "wall_s": live_s, "size_mb": live_mb }));
    let facts = json!({
        "summary": format!(
            "A made-up run of {hours} h with an interval each second, 3 workloads and samples: {archive_mb:.0} MB, \
             in the page cache. \
             Each cell is the median (minimum–maximum) of {times}."
        ),
        "archive_mb": archive_mb,
    });
    let kept = archive("report-cost", facts, json!(results), &table)?;
    println!("kept in {}", kept.display());
    Ok(())
}

/// Lets the run have begun when one would have that lasted for so long: the live page makes room for its figures by
/// that.
fn began_before(campaign: &Path, hours: u32) -> Result<()> {
    let record = dyno_archive::run_folders(campaign)
        .pop()
        .ok_or("no run was made up")?
        .join("run.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&record)?)?;
    let began = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours.into());
    json["load_started"] = began.to_string().into();
    fs::write(record, json.to_string())?;
    Ok(())
}

/// How long it takes to send everything that a viewer needs who comes at the end, and how much that is.
fn live_page(archive: &Path, campaign: &Path, times: usize) -> Result<(Spread, f64)> {
    let name = campaign.file_name().unwrap_or_default().to_string_lossy();
    let (mut walls, mut bytes) = (Vec::new(), 0);
    for _ in 0..times {
        let server = Server::bind(Options {
            archive: archive.to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: None,
        })?;
        let (address, stopper) = (server.address(), server.stopper());
        let thread = std::thread::spawn(move || server.run());
        let began = Instant::now();
        bytes = first_event(address, &name)?;
        walls.push(began.elapsed().as_secs_f64());
        stopper.stop();
        thread.join().map_err(|_| "the server panicked")??;
    }
    Ok((Spread::of(walls), bytes as f64 / 1e6))
}

/// Reads the first event of a campaign, which has everything so far. Gives back its length in bytes.
fn first_event(address: SocketAddr, campaign: &str) -> Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET /live/{campaign}/events HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next().transpose()? {
        if line == "event: snapshot" {
            return Ok(lines.next().ok_or("the event ends before its data")??.len());
        }
    }
    Err("no snapshot came".into())
}

fn size_mb(campaign: &Path) -> Result<f64> {
    let mut bytes = 0;
    for run in fs::read_dir(campaign)? {
        let run = run?.path();
        if run.is_dir() {
            for file in fs::read_dir(run)? {
                bytes += file?.metadata()?.len();
            }
        }
    }
    Ok(bytes as f64 / 1e6)
}

//! `dyno serve`: what visitors see, and what they may not.

use crate::support::unmeasured::Campaign;
use crate::support::web::Server;
use crate::support::{Desk, database};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpStream;

const TOKEN: &str = "0123456789abcdef";
const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// A campaign that is over. Gives back its name.
fn made(desk: &Desk, second: u32, title: &str) -> String {
    let campaign = Campaign::begin(&desk.archive(), second, 1, title);
    let mut load = campaign.run(1);
    load.go_on(10, 1_000);
    load.finish();
    campaign.name()
}

/// The values of the first series of a snapshot's throughput.
fn tps(snapshot: &Value) -> Vec<f64> {
    let figures = snapshot["figures"].as_array().unwrap();
    let figure = figures.iter().find(|figure| figure["id"] == "throughput").unwrap();
    let mean = figure["data"]["lanes"][0]["series"][0]["mean"].as_array().unwrap();
    mean.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn campaigns_are_listed_and_filtered() {
    let desk = Desk::new();
    let server = Server::start(&desk, &[]);
    server.get("/").expect(200).says("There is no campaign in archive yet");
    let (first, second) = (made(&desk, 1, "Title"), made(&desk, 2, HOSTILE));
    let running = Campaign::begin(&desk.archive(), 3, 4, "Title");
    let list = server
        .get("/")
        .expect(200)
        .says_not(HOSTILE)
        .says("&lt;img src=x onerror");
    let place = |name: &str| list.body.find(&format!("/campaigns/{name}")).unwrap();
    assert!(place(&running.name()) < place(&second) && place(&second) < place(&first));
    list.says(&format!("/live/{}", running.name()))
        .says("0 of 4")
        .says("1,000");
    let complete = server.get("/?state=complete&text=pk-update").expect(200);
    complete.says(&first).says_not(&running.name());
    server
        .get("/?text=nothing")
        .expect(200)
        .says("None of the 3 campaigns matches");
    server.end().expect(0);
}

#[test]
fn campaigns_and_runs_have_reports() {
    let desk = Desk::new();
    let (name, other) = (made(&desk, 1, HOSTILE), made(&desk, 2, "Title"));
    let server = Server::start(&desk, &[]);
    let report = server
        .get(&format!("/campaigns/{name}"))
        .expect(200)
        .says_not(HOSTILE)
        .says("1,000");
    assert!(
        report.head.contains("content-security-policy: default-src 'none'"),
        "{}",
        report.head
    );
    server
        .get(&format!("/campaigns/{name}/001-rep1"))
        .expect(200)
        .says("1,000");
    let both = format!("/report?campaign={name}&campaign={other}&baseline={other}");
    server.get(&both).expect(200).says(&name).says(&other);
    let compared = server.get(&format!("/compare?a={name}&b={other}")).expect(200);
    compared.says(&format!("{other} against {name}")).says("Verdict");
    server
        .get(&format!("/compare?a={name}&b={name}"))
        .expect(400)
        .says("with itself");
    server.get("/report").expect(400).says("Choose at least one campaign");
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let desk = Desk::new();
    let name = made(&desk, 1, "Title");
    desk.file("secret.txt", "secret");
    let server = Server::start(&desk, &[]);
    server.get("/campaigns/nothing").expect(404).says(&name);
    server
        .get(&format!("/campaigns/{name}/nothing"))
        .expect(404)
        .says("001-rep1");
    for path in [
        "/campaigns/..",
        "/campaigns/..%2F..%2Fetc",
        "/campaigns/%2Fetc%2Fpasswd",
        "/campaigns/../secret.txt",
        "/campaigns/%2E%2E%2Fsecret.txt",
        "/live/..%2F",
        "/live/..%2F/events",
        "/assets/..%2Fserve.css",
        "/report?campaign=..%2F",
        "/nothing",
    ] {
        server.get(path).expect(404).says_not("secret\n");
    }
    server.get("/campaigns/%ff").expect(400);
}

#[test]
fn only_reading_and_only_for_this_machine() {
    let desk = Desk::new();
    let server = Server::start(&desk, &[]);
    let host = ("Host", server.address.as_str());
    server.ask("POST", "/", &[host]).expect(405);
    server.ask("DELETE", "/campaigns/x", &[host]).expect(405);
    server
        .ask("GET", "/", &[("Host", "evil.example:7878")])
        .expect(403)
        .says("by a name that is not this machine");
    server.ask("GET", "/", &[]).expect(403);
    let foreign = [host, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")];
    server.ask("GET", "/metrics", &foreign).expect(403);
    let head = server.get("/").expect(200).head;
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(head.contains(header), "{head}");
    }
}

#[test]
fn a_request_without_end_is_cut_off() {
    let desk = Desk::new();
    let server = Server::start(&desk, &[]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let mut sent = stream.write_all(b"GET / HTTP/1.1\r\nX-Endless: ");
    // Were it not cut off, this would go on for ever.
    while sent.is_ok() {
        sent = stream.write_all(&[b'x'; 4096]);
    }
    server.get("/").expect(200);
}

#[test]
fn silent_visitors_and_followers_keep_nobody_out() {
    let desk = Desk::new();
    let campaign = Campaign::begin(&desk.archive(), 1, 1, "Title");
    let server = Server::start(&desk, &[]);
    // More than there are places for, none of which asks for anything.
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    server.get("/metrics").expect(200);
    server.get("/").expect(200).says(&campaign.name());
    let mut followers: Vec<_> = (0..32).map(|_| server.events(&campaign.name())).collect();
    let path = format!("/live/{}/events", campaign.name());
    server
        .get(&path)
        .expect(503)
        .says("Too many visitors are following campaigns");
    server.get("/metrics").expect(200);
    // Followers are not among those who give way.
    followers[0].expect("snapshot");
    followers.pop();
    drop(silent);
    server.end().expect(0);
}

#[test]
fn a_whole_address_is_taken_at_its_word() {
    let desk = Desk::new();
    let name = made(&desk, 1, "Title");
    let server = Server::start(&desk, &[]);
    let page = format!("http://{}/campaigns/{name}", server.address);
    let report = server.ask("GET", &page, &[("Host", "evil.example")]).expect(200);
    assert!(report.head.contains("frame-ancestors 'none'"), "{}", report.head);
    server
        .ask("GET", "http://evil.example/", &[("Host", &server.address)])
        .expect(403);
}

#[test]
fn a_token_is_asked_for_and_never_said() {
    let desk = Desk::new();
    made(&desk, 1, "Title");
    let server = Server::of(&desk, &[], &[("DYNO_TOKEN", TOKEN)]);
    let host = ("Host", server.address.as_str());
    let bearer = format!("Bearer {TOKEN}");
    server
        .get("/")
        .expect(401)
        .says("requires a token")
        .says_not("pk-update");
    server
        .get("/?token=0123456789abcdeF")
        .expect(401)
        .says("token is wrong");
    server
        .ask("GET", "/metrics", &[host, ("Authorization", &bearer)])
        .expect(200);
    let welcome = server.get(&format!("/?token={TOKEN}")).expect(200).says_not(TOKEN);
    let cookie = welcome
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    server
        .ask("GET", "/", &[host, ("Cookie", cookie)])
        .expect(200)
        .says("pk-update")
        .says_not(TOKEN);
    let ended = server.end().expect(0);
    assert!(
        !ended.stderr.contains(TOKEN) && !ended.stdout.contains(TOKEN),
        "{ended:?}"
    );
}

#[test]
fn it_is_refused_to_serve_everybody_without_a_token() {
    let desk = Desk::new();
    let ended = desk.dyno("serve --listen 0.0.0.0:0").expect(1);
    ended.says("can be reached from other machines").says("DYNO_TOKEN");
    desk.dyno("serve --listen 0.0.0.0:0 --token short")
        .expect(1)
        .says("at least 16 characters");
    desk.dyno("serve --listen somewhere").expect(1);
}

#[test]
fn a_port_in_use_is_said_with_what_to_do() {
    let desk = Desk::new();
    let server = Server::start(&desk, &[]);
    let again = desk.dyno(&format!("serve --listen {}", server.address)).expect(1);
    again.says("another program is listening").says("--listen 127.0.0.1:0");
}

#[test]
fn signals_end_it_at_once_even_with_viewers() {
    let desk = Desk::new();
    let campaign = Campaign::begin(&desk.archive(), 1, 1, "Title");
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::start(&desk, &[]);
        let mut events = server.events(&campaign.name());
        events.expect("snapshot");
        server.end_by(signal).expect(0);
        assert!(events.next().is_none());
    }
}

#[test]
fn a_campaign_is_followed_from_run_to_run() {
    let desk = Desk::new();
    let campaign = Campaign::begin(&desk.archive(), 1, 2, HOSTILE);
    let server = Server::start(&desk, &[]);
    let page = server.get(&format!("/live/{}", campaign.name())).expect(200);
    page.says(&campaign.name()).says_not(HOSTILE);
    let mut first = server.events(&campaign.name());
    let preparing = first.expect("snapshot");
    assert_eq!(preparing["status"]["state"], "preparing", "{preparing}");

    let mut load = campaign.run(1);
    load.go_on(3, 1_000);
    let begun = first.until(|_, data| data["status"]["tps"] == "1,000");
    assert_eq!(begun["status"]["state"], "running");
    assert!(
        begun["status"]["what"].as_str().unwrap().starts_with("Run 1 of 2"),
        "{begun}"
    );

    // A line that is torn when it is read comes whole the next time.
    load.go_on(1, 2_000);
    let mut waits = OpenOptions::new()
        .create(true)
        .append(true)
        .open(load.path().join("waits.csv"))
        .unwrap();
    waits
        .write_all(b"at_s,backend,wait_event_type,wait_event,sessions\n1.0,client,Lock,rel")
        .unwrap();
    let grown = first.until(|event, data| event == "update" && data["status"]["tps"] == "2,000");
    assert!(grown.to_string().len() < 4_000, "{grown}");
    waits.write_all(b"ation,3.0\n").unwrap();
    load.go_on(1, 2_500);
    first.until(|event, data| event == "update" && data.to_string().contains("\"Lock\""));

    // Others, and those who come again, begin with everything.
    let mut second = server.events(&campaign.name());
    let snapshot = second.expect("snapshot");
    assert_eq!(tps(&snapshot), [1_000.0, 1_000.0, 1_000.0, 2_000.0, 2_500.0]);
    assert_eq!(snapshot["status"]["phase"], "warmup");
    drop(first);
    load.go_on(2, 3_000);
    second.until(|event, data| event == "update" && data["status"]["tps"] == "3,000");
    let mut again = server.events(&campaign.name());
    assert_eq!(tps(&again.expect("snapshot")).len(), 7);

    load.finish();
    second.until(|event, data| event == "update" && data["status"]["state"] == "preparing");
    let mut load = campaign.run(2);
    load.go_on(1, 500);
    second.until(|_, data| data["status"]["tps"] == "500");
    assert_eq!(tps(&server.events(&campaign.name()).expect("snapshot")), [500.0]);
    load.finish();
    let name = campaign.name();
    drop(campaign);
    for viewer in [&mut second, &mut again] {
        let last = viewer.until(|event, _| event == "ended");
        assert_eq!(last["status"]["state"], "ended");
        assert!(viewer.next().is_none());
    }
    let mut late = server.events(&name);
    assert_eq!(late.expect("ended")["status"]["state"], "ended");
    assert!(late.next().is_none());
}

#[test]
fn the_newest_campaign_under_way_is_found() {
    let desk = Desk::new();
    let server = Server::start(&desk, &[]);
    server.get("/live").expect(200).says("No campaign is running");
    made(&desk, 1, "Title");
    let _old = Campaign::begin(&desk.archive(), 2, 1, "Title");
    let new = Campaign::begin(&desk.archive(), 3, 1, "Title");
    let found = server.get("/live").expect(303);
    let place = found
        .head
        .lines()
        .find_map(|line| line.strip_prefix("location: "))
        .unwrap()
        .to_owned();
    server.get(&place).expect(200).says(&new.name());
}

#[test]
fn prometheus_finds_what_is_under_way() {
    let desk = Desk::new();
    made(&desk, 1, "Title");
    let campaign = Campaign::begin(&desk.archive(), 2, 3, "Title");
    let server = Server::start(&desk, &[]);
    let text = server.get("/metrics").expect(200).body;
    assert_eq!(text, "# EOF\n");
    let mut load = campaign.run(2);
    load.go_on(2, 1_000);
    load.go_on(1, 2_000);
    let labels = format!("campaign=\"{}\",run=\"002-rep2\"", campaign.name());
    let answer = server.get("/metrics").expect(200);
    assert!(
        answer
            .head
            .contains("content-type: application/openmetrics-text; version=1.0.0"),
        "{}",
        answer.head
    );
    let workload = format!("{labels},workload=\"update\"");
    let answer = answer
        .says(&format!("dyno_transactions_total{{{workload}}} 4000\n"))
        .says(&format!("dyno_errors_total{{{workload}}} 0\n"))
        .says(&format!(
            "dyno_throughput_transactions_per_second{{{workload}}} 2000.0\n"
        ))
        .says(&format!("dyno_clients{{{workload}}} 8\n"))
        .says(&format!("dyno_run_number{{{labels}}} 2\n"))
        .says(&format!("dyno_runs_planned{{{labels}}} 3\n"));
    answer.says(&format!("dyno_latency_seconds{{{workload},quantile=\"0.99\"}} 0.00"));
    load.go_on(1, 500);
    server
        .get("/metrics")
        .expect(200)
        .says(&format!("dyno_transactions_total{{{workload}}} 4500\n"));
}

#[test]
fn a_run_can_be_watched_from_its_first_second() {
    let (desk, database) = (Desk::new(), database("e2e_live"));
    desk.experiment("short.toml", "", "select 1;", "3s");
    let mut command = desk.command_on(&database.target(), ["short.toml", "--live"]);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let server = Server::at(crate::support::Running::start(command));
    crate::support::wait_for("the campaign", || server.get("/live").status == 303);
    let place = server.get("/live").head;
    let name = place
        .lines()
        .find_map(|line| line.strip_prefix("location: /live/"))
        .unwrap()
        .to_owned();
    let mut events = server.events(&name);
    let last = events.until(|event, _| event == "ended");
    assert_eq!(last["status"]["state"], "ended");
    server.wait().expect(0).says("Watch at http://127.0.0.1:");
}

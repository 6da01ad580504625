//! A Ray cluster, as its dashboard shows it: the Jobs API over HTTP.
//!
//! Source: Ray's documentation, "Ray Jobs REST API", and the requests that `ray job submit` of Ray 2.60 makes.

use crate::dial::random;
use dyno_text::one_line;
use reqwest::blocking::{Client, RequestBuilder};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Cursor, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::Url;
use zip::write::SimpleFileOptions;

/// What the job runs on the cluster.
const AGENTS: &str = include_str!("agents.py");

/// How long the cluster may take to answer, also to take a package.
const ANSWER: Duration = Duration::from_secs(60);

/// The same for a log, which is asked for while a load runs.
const LOG_ANSWER: Duration = Duration::from_secs(2);

/// So much of a job's log is told.
const LOG_LINES: usize = 6;

/// A Ray cluster that cannot be used, or does not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum RayError {
    /// No address.
    #[error("`{0}` is no Ray cluster: expected the address of its dashboard, for example http://head:8265")]
    Address(String),
    /// No token, though one was named.
    #[error("cannot read the token for the Ray cluster from {}: {cause}", path.display())]
    Token {
        /// Where it was to be.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// It cannot be reached.
    #[error("the Ray cluster at {address} cannot be reached while {doing}: {cause}")]
    Unreachable {
        /// Its address.
        address: String,
        /// What was to be done.
        doing: &'static str,
        /// Why not.
        cause: String,
    },
    /// It refused.
    #[error("the Ray cluster at {address} refused while {doing}: {status}{said}{hint}")]
    Refused {
        /// Its address.
        address: String,
        /// What was to be done.
        doing: &'static str,
        /// The answer's status.
        status: StatusCode,
        /// What it said.
        said: String,
        /// What to do.
        hint: &'static str,
    },
    /// What answers is no Ray.
    #[error("what answers at {0} is no Ray dashboard with a Jobs API")]
    NoRay(String),
    /// The program cannot be packed.
    #[error("cannot pack {} for the Ray cluster: {cause}", program.display())]
    Package {
        /// The program.
        program: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Agents cannot dial in here.
    #[error("cannot wait for agents at {listen}: {cause}; name an address of this machine by --listen")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The system's reason.
        cause: io::Error,
    },
    /// The job has ended before all agents had come.
    #[error("the Ray job {id} ended as {how} before its agents had come; its log ends: {said}")]
    Ended {
        /// The job.
        id: String,
        /// Its status.
        how: String,
        /// The end of its log.
        said: String,
    },
    /// Agents do not come.
    #[error(
        "{come} of {agents} agents of the Ray job {id} have come. If its nodes cannot reach {listen}, name an address \
         of this machine that they can reach by --listen; the job's log ends: {said}"
    )]
    Missing {
        /// The job.
        id: String,
        /// How many have come.
        come: usize,
        /// Of how many.
        agents: usize,
        /// Where they were to dial in.
        listen: SocketAddr,
        /// The end of its log.
        said: String,
    },
}

/// How far a job is.
pub(super) enum Status {
    /// It has not ended.
    Running,
    /// It has, so.
    Ended(String),
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    address: Url,
    client: Client,
    token: Option<Secret>,
}

/// A word that is not to be shown.
#[derive(Clone)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl Cluster {
    /// The cluster whose dashboard is there, for example `http://head:8265`. Its token is where Ray's own tools look
    /// for it: `RAY_AUTH_TOKEN`, the file named by `RAY_AUTH_TOKEN_PATH`, `~/.ray/auth_token`.
    ///
    /// # Errors
    /// It is no address, or the token cannot be read.
    pub fn new(address: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, RayError> {
        let url = address_of(address).ok_or_else(|| RayError::Address(one_line(address, 80)))?;
        let refused = |cause: &dyn std::fmt::Display| RayError::Unreachable {
            address: url.to_string(),
            doing: "getting ready",
            cause: cause.to_string(),
        };
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| refused(&error))?)
            .connect_timeout(Duration::from_secs(10))
            .timeout(ANSWER)
            .build()
            .map_err(|error| refused(&error))?;
        Ok(Self {
            token: token(environment)?,
            address: url,
            client,
        })
    }

    /// How many nodes it has that are up and have a CPU.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn nodes(&self) -> Result<usize, RayError> {
        let answer = self.ask("counting its nodes", self.request(Method::GET, "nodes?view=summary"))?;
        let nodes = answer["data"]["summary"].as_array().ok_or_else(|| self.is_no_ray())?;
        let is_up = |node: &&Value| {
            let raylet = &node["raylet"];
            raylet["state"] == "ALIVE" && raylet["resourcesTotal"]["CPU"].as_f64().is_some_and(|cpus| cpus >= 1.0)
        };
        Ok(nodes.iter().filter(is_up).count())
    }

    /// The address of this machine from which the cluster is reached.
    pub(super) fn own_address(&self) -> Result<IpAddr, RayError> {
        let connect = || {
            let host = self.address.host_str().unwrap_or_default().trim_matches(['[', ']']);
            let port = self.address.port_or_known_default().unwrap_or(80);
            let mut last = io::Error::from(io::ErrorKind::NotFound);
            for address in (host, port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, Duration::from_secs(10)) {
                    Ok(stream) => return stream.local_addr(),
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        connect()
            .map(|address| address.ip())
            .map_err(|cause| self.unreachable("connecting", &cause))
    }

    /// Makes sure that the cluster has the program, and gives the address that the package has there.
    pub(super) fn upload(&self, dyno: &Path) -> Result<String, RayError> {
        let version = self.ask("asking its version", self.request(Method::GET, "api/version"))?;
        if !version["ray_version"].is_string() {
            return Err(self.is_no_ray());
        }
        let failed = |cause| RayError::Package {
            program: dyno.to_owned(),
            cause,
        };
        let program = fs::read(dyno).map_err(failed)?;
        let digest = Sha256::new().chain_update(&program).chain_update(AGENTS).finalize();
        // Ray takes no other names.
        let name = format!("_ray_pkg_{}.zip", &hex::encode(digest)[..32]);
        let path = format!("api/packages/gcs/{name}");
        let doing = "looking for its copy of dyno";
        let answer = self.send(doing, self.request(Method::GET, &path))?;
        if answer.status() == StatusCode::NOT_FOUND {
            let package = packed(&program).map_err(failed)?;
            let upload = self.request(Method::PUT, &path).body(package);
            self.taken("uploading dyno", self.send("uploading dyno", upload)?)?;
        } else {
            self.taken(doing, answer)?;
        }
        Ok(format!("gcs://{name}"))
    }

    /// Begins a job of this name that starts an agent for each of these invitations, one a line.
    pub(super) fn submit(&self, id: &str, package: &str, invitations: &str) -> Result<(), RayError> {
        let job = json!({
            "submission_id": id,
            "entrypoint": "python agents.py",
            "runtime_env": { "working_dir": package, "env_vars": { "DYNO_INVITATIONS": invitations } },
            "metadata": { "name": "dyno" },
        });
        let request = self.request(Method::POST, "api/jobs/").body(job.to_string());
        let request = request.header("content-type", "application/json");
        self.ask("submitting a job", request)?;
        Ok(())
    }

    /// How far a job is.
    pub(super) fn status(&self, id: &str) -> Result<Status, RayError> {
        let answer = self.ask(
            "looking at its job",
            self.request(Method::GET, &format!("api/jobs/{id}")),
        )?;
        Ok(match answer["status"].as_str() {
            Some(how @ ("SUCCEEDED" | "FAILED" | "STOPPED")) => Status::Ended(how.to_owned()),
            Some(_) => Status::Running,
            None => return Err(self.is_no_ray()),
        })
    }

    /// The last lines of a job's log.
    pub(super) fn log_end(&self, id: &str) -> Result<String, RayError> {
        let request = self.request(Method::GET, &format!("api/jobs/{id}/logs"));
        let answer = self.ask("reading its job's log", request.timeout(LOG_ANSWER))?;
        let lines: Vec<String> = answer["logs"]
            .as_str()
            .unwrap_or_default()
            .lines()
            .map(|line| one_line(line.trim(), 300))
            .filter(|line| !line.is_empty())
            .collect();
        Ok(lines[lines.len().saturating_sub(LOG_LINES)..].join("; "))
    }

    /// Ends a job.
    pub(super) fn stop(&self, id: &str) -> Result<(), RayError> {
        self.ask(
            "stopping its job",
            self.request(Method::POST, &format!("api/jobs/{id}/stop")),
        )?;
        Ok(())
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        // Paths are made here, of plain letters.
        let request = self.client.request(method, format!("{}{path}", self.address));
        match &self.token {
            Some(Secret(token)) => request.bearer_auth(token),
            None => request,
        }
    }

    fn send(&self, doing: &'static str, request: RequestBuilder) -> Result<reqwest::blocking::Response, RayError> {
        request.send().map_err(|error| {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            self.unreachable(doing, cause)
        })
    }

    /// The text of an answer that is no refusal.
    fn taken(&self, doing: &'static str, answer: reqwest::blocking::Response) -> Result<String, RayError> {
        let status = answer.status();
        let text = answer.text().map_err(|error| self.unreachable(doing, &error))?;
        if status.is_success() {
            return Ok(text);
        }
        let said = one_line(text.trim(), 300);
        Err(RayError::Refused {
            address: self.address.to_string(),
            doing,
            status,
            said: if said.is_empty() { said } else { format!(": {said}") },
            hint: match status {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    "; give its token as Ray's own tools take it, for example in RAY_AUTH_TOKEN"
                }
                _ => "",
            },
        })
    }

    fn ask(&self, doing: &'static str, request: RequestBuilder) -> Result<Value, RayError> {
        let text = self.taken(doing, self.send(doing, request)?)?;
        serde_json::from_str(&text).map_err(|_| self.is_no_ray())
    }

    fn unreachable(&self, doing: &'static str, cause: &dyn std::fmt::Display) -> RayError {
        RayError::Unreachable {
            address: self.address.to_string(),
            doing,
            cause: cause.to_string(),
        }
    }

    fn is_no_ray(&self) -> RayError {
        RayError::NoRay(self.address.to_string())
    }
}

/// Makes sure that this is the address of a dashboard.
///
/// # Errors
/// It is none.
pub fn check_ray(address: &str) -> Result<(), RayError> {
    match address_of(address) {
        Some(_) => Ok(()),
        None => Err(RayError::Address(one_line(address, 80))),
    }
}

/// What begins with `http://` or `https://`, and has neither a password nor a question in it.
fn address_of(text: &str) -> Option<Url> {
    let mut url = Url::parse(text).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let is_http = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    if !(is_plain && is_http && url.fragment().is_none()) {
        return None;
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Some(url)
}

/// A name for a job that no other has.
pub(super) fn new_id() -> io::Result<String> {
    Ok(format!("dyno-{}", hex::encode(random::<8>()?)))
}

/// Who is at the other end of https is for the system's authorities to say.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt;
    let builder = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into());
    let config = builder
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}

/// The cluster's token, if there is one.
fn token(environment: &dyn Fn(&str) -> Option<String>) -> Result<Option<Secret>, RayError> {
    let given = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(token) = given("RAY_AUTH_TOKEN") {
        return Ok(Some(Secret(token.trim().to_owned())));
    }
    let (path, is_named) = match (given("RAY_AUTH_TOKEN_PATH"), given("HOME")) {
        (Some(path), _) => (PathBuf::from(path), true),
        (None, Some(home)) => (Path::new(&home).join(".ray/auth_token"), false),
        (None, None) => return Ok(None),
    };
    match fs::read_to_string(&path) {
        Ok(token) => Ok(Some(Secret(token.trim().to_owned()))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && !is_named => Ok(None),
        Err(cause) => Err(RayError::Token { path, cause }),
    }
}

/// The program and what starts it, as the folder in which a job runs.
fn packed(program: &[u8]) -> io::Result<Vec<u8>> {
    let mut package = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    package.start_file("agents.py", options.unix_permissions(0o644))?;
    package.write_all(AGENTS.as_bytes())?;
    package.start_file("dyno", options.unix_permissions(0o755))?;
    package.write_all(program)?;
    Ok(package.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_dashboards() {
        let known = |text: &str| address_of(text).map(|url| url.to_string());
        assert_eq!(known("http://head:8265").unwrap(), "http://head:8265/");
        assert_eq!(known("https://ray.example/one").unwrap(), "https://ray.example/one/");
        for word in [
            "head:8265",
            "ray://head:10001",
            "http://me:secret@head",
            "http://head/?x=1",
            "",
        ] {
            assert_eq!(known(word), None, "{word}");
        }
    }

    #[test]
    fn tokens_are_where_ray_looks_for_them() {
        let home = tempfile::tempdir().unwrap();
        let found = |set: &[(&str, &str)]| {
            let find = |name: &str| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            token(&find).map(|token| token.map(|Secret(word)| word))
        };
        let at_home = home.path().to_str().unwrap();
        assert_eq!(found(&[("HOME", at_home)]).unwrap(), None);
        fs::create_dir(home.path().join(".ray")).unwrap();
        fs::write(home.path().join(".ray/auth_token"), "kept\n").unwrap();
        assert_eq!(found(&[("HOME", at_home)]).unwrap().unwrap(), "kept");
        let both = [("HOME", at_home), ("RAY_AUTH_TOKEN", "given")];
        assert_eq!(found(&both).unwrap().unwrap(), "given");
        let missing = found(&[("RAY_AUTH_TOKEN_PATH", "/nowhere/token")]).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/token"), "{missing}");
        assert_eq!(format!("{:?}", Secret("word".to_owned())), "…");
    }

    #[test]
    fn a_package_has_a_program_that_may_run() {
        let package = packed(b"program").unwrap();
        let mut package = zip::ZipArchive::new(Cursor::new(package)).unwrap();
        assert_eq!(package.by_name("dyno").unwrap().unix_mode().unwrap() & 0o777, 0o755);
        assert_eq!(package.by_name("agents.py").unwrap().size(), AGENTS.len() as u64);
    }
}

//! Agents on the nodes of a Ray cluster: a job that runs this dyno's own program once on each of so many nodes, where
//! it dials in.
//!
//! Ray does what it is for: it carries the program to the nodes, finds those that have a CPU free, starts, keeps the
//! logs, and ends what is left. What is used of it is its Jobs API, over HTTP, as `ray job submit` does.

mod cluster;

use super::{Channel, Stands, StartError};
use crate::dial::Reception;
pub use cluster::{Cluster, RayError, check_ray};
use cluster::{Status, new_id};
use dyno_engine::Stop;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// How long it may take until all agents have come: longer than nodes are waited for by the job, as Ray has to unpack
/// the program and to start Python.
const COMING: Duration = Duration::from_secs(180);

/// How often the job is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(500);

/// How long a job may take to end when its agents have.
const LEAVING: Duration = Duration::from_secs(10);

/// A cluster to start agents on, and where they dial in.
#[derive(Clone, Debug)]
pub struct Ray {
    /// The cluster.
    pub cluster: Cluster,
    /// The address of this machine that its nodes can reach; `None`: the one from which the cluster is reached, and any
    /// port.
    pub listen: Option<SocketAddr>,
}

/// An agent that has come, or why it does not.
type Come = Result<Channel, Arc<RayError>>;

/// An agent that is about to come.
pub(crate) struct Coming(Receiver<Come>);

impl Coming {
    /// Waits for it.
    pub fn wait(self) -> Result<Channel, StartError> {
        match self.0.recv() {
            Ok(come) => come.map_err(StartError::Ray),
            Err(_) => Err(StartError::Stopped),
        }
    }
}

impl Ray {
    /// Starts so many agents, each on another node, with the program `dyno`. A raised `stop` ends the waiting for them.
    ///
    /// # Errors
    /// The cluster does not do as asked. That agents do not come is for each to tell.
    pub(crate) fn start(&self, agents: usize, dyno: &Path, stop: &Stop) -> Result<Vec<Coming>, Arc<RayError>> {
        let package = self.cluster.upload(dyno)?;
        let listen = match self.listen {
            Some(listen) => listen,
            None => SocketAddr::new(self.cluster.own_address()?, 0),
        };
        let cannot = |cause| RayError::Listen { listen, cause };
        let reception = Reception::open(listen, agents).map_err(cannot)?;
        let invitations: Vec<String> = reception
            .invitations()
            .map(|invitation| invitation.to_string())
            .collect();
        // From here on it is ended on every way out, also if nothing is heard of it.
        let job = Arc::new(Job {
            cluster: self.cluster.clone(),
            id: new_id().map_err(cannot)?,
        });
        self.cluster.submit(&job.id, &package, &invitations.join("\n"))?;
        let (come, coming): (Vec<_>, Vec<_>) = (0..agents).map(|_| mpsc::channel()).unzip();
        let arrivals = Arrivals {
            reception,
            job,
            come: come.into_iter().map(Some).collect(),
        };
        let stop = stop.clone();
        std::thread::Builder::new()
            .name("ray-arrivals".to_owned())
            .spawn(move || arrivals.gather(&stop))
            .map_err(cannot)?;
        Ok(coming.into_iter().map(Coming).collect())
    }
}

/// The agents that have not come yet.
struct Arrivals {
    reception: Reception,
    job: Arc<Job>,
    /// For each how that is told; `None`: it has come.
    come: Vec<Option<Sender<Come>>>,
}

impl Arrivals {
    fn gather(mut self, stop: &Stop) {
        let deadline = Instant::now() + COMING;
        while self.come.iter().any(Option::is_some) && !stop.requested() {
            if let Some((number, mut channel)) = self.reception.arrival(LOOK) {
                channel.stands = Some(Box::new(Part(Arc::clone(&self.job))));
                if let Some(come) = self.come[number].take() {
                    // If nobody waits any more, it is sent away.
                    let _ = come.send(Ok(channel));
                }
            } else if let Err(error) = self.look(deadline) {
                let error = Arc::new(error);
                for come in self.come.iter().flatten() {
                    let _ = come.send(Err(Arc::clone(&error)));
                }
                break;
            }
        }
        if self.come.iter().any(Option::is_some) {
            let _ = self.job.cluster.stop(&self.job.id);
        }
    }

    /// Whether agents can still come.
    fn look(&self, deadline: Instant) -> Result<(), RayError> {
        let Job { cluster, id } = &*self.job;
        if let Status::Ended(how) = cluster.status(id)? {
            return Err(RayError::Ended {
                id: id.clone(),
                how,
                said: self.job.said(),
            });
        }
        if Instant::now() > deadline {
            return Err(RayError::Missing {
                id: id.clone(),
                come: self.come.iter().filter(|come| come.is_none()).count(),
                agents: self.come.len(),
                listen: self.reception.address(),
                said: self.job.said(),
            });
        }
        Ok(())
    }
}

/// A job on a cluster. It is ended with the last agent.
struct Job {
    cluster: Cluster,
    id: String,
}

impl Job {
    /// What the job has said last.
    fn said(&self) -> String {
        self.cluster.log_end(&self.id).unwrap_or_default()
    }
}

impl Drop for Job {
    /// It ends by itself, as its agents have ended; one that does not is stopped.
    fn drop(&mut self) {
        let deadline = Instant::now() + LEAVING;
        loop {
            match self.cluster.status(&self.id) {
                Ok(Status::Ended(_)) => return,
                Ok(Status::Running) if Instant::now() < deadline => std::thread::sleep(LOOK / 5),
                // If it cannot be reached, its agents notice that nobody is here any more.
                _ => break,
            }
        }
        let _ = self.cluster.stop(&self.id);
    }
}

/// What stands for an agent here: the job, of which it is a part.
struct Part(Arc<Job>);

impl Stands for Part {
    fn said(&self) -> String {
        self.0.said()
    }

    fn kill(&mut self) {
        // Its connection is cut, with which it ends; the others of the job go on.
    }
}

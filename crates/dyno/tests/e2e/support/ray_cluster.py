"""A Ray cluster of three nodes of this machine, for the cases fleet_ray of e2e; it ends with this program.

It listens on 127.0.0.1:8265, or the port that is given. Run it with a Python that has ray[default]; that Python has
to be the first in PATH, as jobs start it by its name.
"""

import signal
import sys

from ray.cluster_utils import Cluster

MEMORY_BYTES = 100 << 20

port = int(sys.argv[1]) if len(sys.argv) > 1 else 8265
head = {
    "num_cpus": 2,
    "include_dashboard": True,
    "dashboard_host": "127.0.0.1",
    "dashboard_port": port,
    "object_store_memory": MEMORY_BYTES,
}
cluster = Cluster(initialize_head=True, head_node_args=head)
for _ in range(2):
    cluster.add_node(num_cpus=2, object_store_memory=MEMORY_BYTES)
print(f"export DYNO_RAY=http://127.0.0.1:{port}", flush=True)
signal.sigwait({signal.SIGINT, signal.SIGTERM})
cluster.shutdown()

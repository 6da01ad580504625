"""Starts a dyno agent on each of so many nodes of a Ray cluster, and waits until all have ended.

dyno submits this as a job. DYNO_INVITATIONS has a line for each agent, which it is told in its environment.
"""

import os
import subprocess
import sys

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

# For so long nodes may be busy with something else.
PATIENCE_S = 60


# Each agent has a worker of its own, and another one if the program was not there: nodes that share a disk unpack it
# over each other. An agent that has ended is not begun again: its invitation counts once.
@ray.remote(num_cpus=1, max_calls=1, max_retries=3, retry_exceptions=[FileNotFoundError])
def drive(invitation):
    program = os.path.join(os.getcwd(), "dyno")
    environment = dict(os.environ, DYNO_INVITATION=invitation)
    environment.pop("DYNO_INVITATIONS", None)
    # An agent ends with its standard input, which ends with this worker, however that ends.
    agent = subprocess.Popen([program, "agent", "--dial-in"], env=environment, stdin=subprocess.PIPE)
    return agent.wait()


def main():
    invitations = os.environ["DYNO_INVITATIONS"].split("\n")
    ray.init(log_to_driver=True)
    group = placement_group([{"CPU": 1}] * len(invitations), strategy="STRICT_SPREAD")
    if not group.wait(PATIENCE_S):
        sys.exit(f"dyno: there are no {len(invitations)} nodes with a free CPU each within {PATIENCE_S} s")
    agents = [
        drive.options(
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number)
        ).remote(invitation)
        for number, invitation in enumerate(invitations)
    ]
    failed = sum(code != 0 for code in ray.get(agents))
    if failed:
        sys.exit(f"dyno: {failed} of {len(agents)} agents have failed")


main()

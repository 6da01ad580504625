"""Runs the real pgbench against a stand-in for a server, and tells what its clients computed and sent.

The stand-in accepts everything and answers every query with an empty result, so no PostgreSQL server is needed and no
statement can fail. Needs pgbench 15 (`PGBENCH` names another program).
"""

import os
import re
import socket
import struct
import subprocess
import tempfile
import threading

PGBENCH = os.environ.get("PGBENCH", "/usr/bin/pgbench")
# A script that draws for several clients begins with `\set mark debug(1000000000 + :client_id)`.
MARK = 1_000_000_000


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


READY = message(b"Z", b"I")


class Server:
    """Keeps the query texts of every connection, in the order in which the connections were made."""

    def __init__(self, folder):
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/.s.PGSQL.5432")
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            queries = []
            self.connections.append(queries)
            threading.Thread(target=self.serve, args=(connection, queries), daemon=True).start()

    def serve(self, connection, queries):
        stream = connection.makefile("rwb")
        try:
            (length,) = struct.unpack("!i", stream.read(4))
            stream.read(length - 4)
            parameters = b"".join(
                message(b"S", key + b"\0" + value + b"\0")
                for key, value in [(b"server_version", b"15.0"), (b"client_encoding", b"UTF8")]
            )
            stream.write(message(b"R", struct.pack("!i", 0)) + parameters + READY)
            stream.flush()
            while kind := stream.read(1):
                (length,) = struct.unpack("!i", stream.read(4))
                body = stream.read(length - 4)
                if kind == b"Q":
                    queries.append(body[:-1].decode("utf-8", "surrogateescape"))
                    stream.write(message(b"C", b"SELECT 0\0") + READY)
                elif kind == b"P":
                    queries.append(body.split(b"\0")[1].decode("utf-8", "surrogateescape"))
                    stream.write(message(b"1"))
                elif kind == b"S":
                    stream.write(READY)
                elif kind == b"B":
                    stream.write(message(b"2"))
                elif kind == b"D":
                    stream.write(message(b"n"))
                elif kind == b"E":
                    stream.write(message(b"C", b"SELECT 0\0"))
                elif kind == b"X":
                    return
                stream.flush()
        except (OSError, struct.error):
            return
        finally:
            connection.close()


class Result:
    """`status` (negative: pgbench crashed), `debugged` and `sent` per client, the first error's message, if any, and all of stderr."""

    def __init__(self, status, debugged, sent, error, stderr):
        self.status = status
        self.debugged = debugged
        self.sent = sent
        self.error = error
        self.stderr = stderr

    def said(self):
        """The lines of all error messages, without what is before each of them and without the last one, which is about the run."""
        lines = [line.removeprefix("pgbench: error: ") for line in self.stderr.split("\n") if line]
        others = ("Run was aborted", "pgbench: setting random seed", "debug(")
        return [line for line in lines if not line.startswith(others)]


def run(scripts, seed, clients=1, transactions=1, protocol="simple", options=(), folder=None):
    """Runs script files (as many as given) and returns a Result."""
    with tempfile.TemporaryDirectory() as sockets:
        server = Server(sockets)
        command = [PGBENCH, "-h", sockets, "-U", "x", "-n", "-c", str(clients), "-t", str(transactions)]
        command += ["-M", protocol, f"--random-seed={seed}", *options]
        for script in scripts:
            command += ["-f", script]
        # Bytes: a script may contain anything.
        done = subprocess.run([*command, "x"], capture_output=True, timeout=60, cwd=folder)
        # Closing alone would leave the accepting thread waiting.
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
    stderr = done.stderr.decode("utf-8", "replace")
    debugged = {}
    client = 0
    for line in stderr.splitlines():
        found = re.fullmatch(r"debug\(script=\d+,command=\d+\): (.*)", line)
        if found:
            shown = found.group(1)
            kind, _, value = shown.partition(" ")
            if kind == "int" and 0 <= int(value) - MARK < 1000:
                client = int(value) - MARK
            debugged.setdefault(client, []).append(shown)
    error = re.search(r"^pgbench: error: (.*)$", stderr, re.M)
    # The first connection is pgbench's own.
    return Result(done.returncode, debugged, server.connections[1:], error and error.group(1), stderr)

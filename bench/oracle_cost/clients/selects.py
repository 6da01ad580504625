"""Selects by key with python-oracledb (thin) until it is killed, a thread for each connection.
Usage: selects.py PORT CONNECTIONS ROWS STATEMENT"""

import random
import sys
import threading

import oracledb

PORT, CONNECTIONS, ROWS, STATEMENT = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def work(connection):
    cursor = connection.cursor()
    while True:
        cursor.execute(STATEMENT, [int(random.random() * ROWS) + 1])
        cursor.fetchone()


def connect():
    return oracledb.connect(user="bench", password="secret", host="127.0.0.1", port=PORT, service_name="standin")


for connection in [connect() for _ in range(CONNECTIONS)]:
    threading.Thread(target=work, args=[connection]).start()

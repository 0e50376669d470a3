"""A store of keys and values, behind a socket in the file system.

    store.py serve SOCKET FILE    serves the lines of the file, each a key and its value
    store.py get SOCKET KEY
"""
import os
import socket
import sys


def serve(path, file):
    with open(file, encoding="utf-8") as lines:
        values = dict(line.split() for line in lines)
    if os.path.exists(path):
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    print("serving", len(values), "keys", flush=True)
    while True:
        client, _ = server.accept()
        with client, client.makefile("rw") as stream:
            key = stream.readline().strip()
            stream.write(values.get(key, "") + "\n")
            print("asked for", key, flush=True)


def get(path, key):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        with client.makefile("rw") as stream:
            stream.write(key + "\n")
            stream.flush()
            print(stream.readline().strip())


if sys.argv[1] == "serve":
    serve(sys.argv[2], sys.argv[3])
else:
    get(sys.argv[2], sys.argv[3])

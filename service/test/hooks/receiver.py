#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A receiver of webhooks for test_hooks.sh, with an implementation of Standard
# Webhooks of its own.
#
# usage: receiver.py FOLDER [PORT]
#
# Prints its port.  FOLDER/keys has the keys, whsec_BASE64; FOLDER/mode is what to
# do, read for each request: a status, perhaps with a value of Retry-After, or
# "silent", or "long": a reply that does not end.  Each request becomes a line of
# FOLDER/told: JSON with mode, path, id, valid (how many of the signatures are
# right), signatures (how many there are) and event, the body.
import base64
import hashlib
import hmac
import http.server
import json
import os
import random
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()


def read(name):
    with open(os.path.join(folder, name)) as file:
        return file.read().strip()


def count_valid(headers, body):
    head = headers["webhook-id"] + "." + headers["webhook-timestamp"] + "."
    if abs(time.time() - int(headers["webhook-timestamp"])) > 300:
        return 0
    right = set()
    for line in read("keys").split():
        key = base64.b64decode(line.removeprefix("whsec_"))
        digest = hmac.new(key, head.encode() + body, hashlib.sha256).digest()
        right.add("v1," + base64.b64encode(digest).decode())
    return len(right & set(headers["webhook-signature"].split(" ")))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mode = read("mode")
        with lock, open(os.path.join(folder, "told"), "a") as told:
            told.write(json.dumps({
                "mode": mode,
                "path": self.path,
                "id": self.headers["webhook-id"],
                "valid": count_valid(self.headers, body),
                "signatures":
                    len(self.headers["webhook-signature"].split(" ")),
                "type": self.headers["Content-Type"],
                "event": json.loads(body),
            }) + "\n")
        if mode == "silent":
            time.sleep(60)
        self.send_response(200 if mode == "long" else int(mode.split()[0]))
        if " " in mode:
            self.send_header("Retry-After", mode.split()[1])
        if mode == "302":
            self.send_header("Location", "/moved")
        self.send_header("Content-Length", str(1 << 30) if mode == "long"
                         else "3")
        self.end_headers()
        try:
            self.wfile.write(b"ok\n")
            while mode == "long":
                self.wfile.write(b"." * 65536)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):  # a client that was killed
        pass


def bind():
    # Not a port that the kernel gives to connections: the same receiver must be
    # able to come back.
    for _ in range(100):
        try:
            return Server(("127.0.0.1", random.randrange(20000, 32000)),
                          Handler)
        except OSError:
            pass
    raise SystemExit("no free port")


server = (Server(("127.0.0.1", int(sys.argv[2])), Handler)
          if len(sys.argv) > 2 else bind())
print(server.server_port, flush=True)
server.serve_forever()

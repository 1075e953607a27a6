"""An IPython kernel behind a UNIX socket, asked by one short-lived client per call: how `docker exec` systems work."""

import io
import json
import socket
import sys
from contextlib import redirect_stdout

PATH = "/tmp/kernel.sock"


def serve() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    server = socket.socket(socket.AF_UNIX)
    server.bind(PATH)
    server.listen()
    while True:
        connection, _ = server.accept()
        with connection, connection.makefile("rw") as stream:
            code = json.loads(stream.readline())["code"]
            out = io.StringIO()
            with redirect_stdout(out):
                result = shell.run_cell(code)
            stream.write(json.dumps({"stdout": out.getvalue(), "result": repr(result.result)}) + "\n")


def ask(code: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(PATH)
        with client.makefile("rw") as stream:
            stream.write(json.dumps({"code": code}) + "\n")
            stream.flush()
            sys.stdout.write(stream.readline())


serve() if sys.argv[1] == "serve" else ask(sys.argv[2])

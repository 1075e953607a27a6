"""The network between client and server fails for real: a proxy cuts every connection."""

import contextlib
import os
import socket
import threading
from urllib.parse import urlsplit

import pytest

import sandbar
from sandbar import Sandbar

COUNTING = "n = globals().get('n', 0) + 1\nimport time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.1)\nn"
PRINTED = "".join(f"{i}\n" for i in range(20))


class Proxy:
    def __init__(self, target):
        self._target = target
        self._pairs = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            self.accepted += 1
            far = socket.create_connection(self._target)
            self._pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                end.close()

    def cut(self):
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def close(self):
        self._server.close()
        self.cut()


@pytest.fixture
def proxy():
    address = urlsplit(os.environ["SANDBAR_URL"])
    proxy = Proxy((address.hostname, address.port))
    yield proxy
    proxy.close()


@pytest.fixture
def session(proxy):
    with Sandbar(proxy.url) as client, client.session() as session:
        yield session


def test_a_wait_that_is_cut_goes_on_and_the_code_ran_once(proxy, session):
    timers = [threading.Timer(delay, proxy.cut) for delay in (0.5, 1.0, 1.5)]
    for timer in timers:
        timer.start()
    execution = session.run(COUNTING)
    for timer in timers:
        timer.join()
    assert (execution.status, execution.stdout, execution.text) == ("ok", PRINTED, "1")
    assert session.run("n").text == "1" and proxy.accepted >= 3


def test_a_stream_that_is_cut_goes_on_without_gap_or_repeat(proxy, session):
    events = []
    for event in session.stream(COUNTING):
        events.append(event)
        if event.type == "stdout" and len(events) % 5 == 0:
            proxy.cut()
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert "".join(event.text for event in events if event.type == "stdout") == PRINTED
    assert events[-1].execution.text == "1" and proxy.accepted >= 3


def test_a_server_that_is_gone_is_an_error_that_names_it():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with Sandbar(f"http://127.0.0.1:{port}", "x", max_retries=2) as client:
        with pytest.raises(sandbar.ConnectionFailedError) as caught:
            client.session()
    assert (caught.value.code, caught.value.retryable) == ("NETWORK_ERROR", True)

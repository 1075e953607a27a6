import pytest

import sandbar
from sandbar import AsyncSandbar

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def client():
    async with AsyncSandbar.from_env() as client:
        yield client


@pytest.fixture(scope="module")
async def session(client):
    async with await client.session() as session:
        yield session


async def test_a_process_is_written_to_heard_and_waited_for(session):
    process = await session.processes.start("read line; echo got $line; exit 3", env={"A": "b"})
    assert process.running and process.id in [one.id for one in await session.processes.list()]
    await process.write("this\n", eof=True)
    events = [event async for event in process.events()]
    assert "".join(event.text for event in events) == "got this\n"
    assert (events[-1].type, events[-1].data["exit_code"]) == ("exit", 3)
    assert (await process.wait()).exit_code == 3
    assert (await session.processes.get(process.id)).info.status == "exited"
    await process.kill()
    with pytest.raises(sandbar.NotFoundError):
        await session.processes.get(process.id)


async def test_a_process_gets_signals_and_a_terminal(session):
    process = await session.processes.start(["sleep", "60"], pty=(80, 24))
    assert process.info.pty == {"cols": 80, "rows": 24}
    await process.resize(100, 30)
    assert (await process.refresh()).pty == {"cols": 100, "rows": 30}
    await process.signal("SIGTERM")
    assert (await process.wait()).signal == "SIGTERM"


async def test_a_terminal_is_typed_into_and_left_and_found_again(session):
    async with session.terminal(cols=90, rows=20) as terminal:
        await terminal.write("stty size; x=kept\n")
        seen = b""
        async for data in terminal:
            seen += data
            if b"20 90" in seen:
                break
    assert terminal.process_id and terminal.exit is None
    async with session.terminal(process=terminal.process_id) as again:
        await again.write("echo $x is here; exit 4\n")
        seen = b"".join([data async for data in again])
    assert b"kept is here" in seen
    assert (again.exit.exit_code, again.exit.signal) == (4, None)


async def test_a_terminal_that_is_refused_says_why(session):
    with pytest.raises(sandbar.NotFoundError):
        async with session.terminal(process="prc_00000000000000000000000000"):
            pass
    with pytest.raises(sandbar.InvalidRequestError) as caught:
        async with session.terminal(cols=0):
            pass
    assert caught.value.code == "VALIDATION_FAILED" and caught.value.errors


async def test_a_port_answers_as_its_server_does(session):
    code = """
import http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(418); self.end_headers()
        self.wfile.write(self.path.encode() + b" " + body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
server.server_port
"""
    port = int((await session.run(code, check=True)).text)
    answer = await session.port_request(port, "/a/b", method="POST", params={"q": "1"}, content=b"hi")
    assert (answer.status_code, answer.text) == (418, "/a/b?q=1 hi")
    assert session.port_url(port, "x").endswith(f"/v1/sessions/{session.id}/ports/{port}/x")


async def test_folders_are_made_moved_and_watched(session):
    await session.files.mkdir("watched/deep")
    began = []
    changes = session.files.watch("watched", recursive=True, on_ready=lambda: began.append(True))
    writing = "for i in $(seq 600); do echo $i > watched/deep/new.txt; sleep 0.1; done"
    writer = await session.processes.start(writing, cwd="/session")
    async for change in changes:
        if change.path == "deep/new.txt":
            break
    await writer.kill()
    assert began == [True] and change.type in ("created", "modified") and not change.directory
    moved = await session.files.move("watched/deep/new.txt", "watched/moved.txt")
    assert moved.path.endswith("watched/moved.txt")
    await session.files.write("other.txt", "2", mode="600")
    with pytest.raises(sandbar.ConflictError):
        await session.files.move("other.txt", "watched/moved.txt")
    await session.files.move("other.txt", "watched/moved.txt", overwrite=True)
    assert await session.files.read_text("watched/moved.txt") == "2"


async def test_sessions_are_found_and_stopped_by_their_key(client, unique):
    assert await client.find_session(unique) is None
    await client.stop_session(key=unique)
    session = await client.session(unique)
    assert (await client.find_session(unique)).id == session.id
    async for event in session.session_events():
        if event.type == "ready" or event.data.get("status") == "ready":
            break
    await client.stop_session(key=unique)
    assert (await session.refresh()).status == "stopped"
    await client.stop_session(session.id)
    assert await client.find_session(unique) is None


async def test_volumes_outlive_sessions(client, unique):
    name = unique[-20:]
    volume = await client.volumes.create(name, size_mb=8)
    try:
        mount = [{"name": name, "path": "/mnt/kept"}]
        async with await client.session(volumes=mount) as session:
            await session.run("open('/mnt/kept/a', 'w').write('here'); None", check=True)
        assert (volume.name, volume.size_mb) == (name, 8)
        assert name in [one.name async for one in client.volumes.list()]
    finally:
        await client.volumes.delete(name)
    assert name not in [one.name async for one in client.volumes.list()]


async def test_operators_see_hosts_keys_and_use(client, unique):
    [host, *_] = [one async for one in client.hosts.list()]
    assert (await client.hosts.get(host.id)).status == "online"
    assert (await client.hosts.load(host.id)).memory_bytes > 0
    await client.hosts.cordon(host.id)
    assert (await client.hosts.get(host.id)).cordoned
    await client.hosts.uncordon(host.id)
    assert (await client.hosts.enroll()).token
    key = await client.keys.create(unique, ["agent"])
    assert key.secret and key.secret not in repr(key)
    assert key.id in [one.id async for one in client.keys.list()]
    await client.keys.delete(key.id)
    source = await client.dataset_sources.create(unique[-20:], "https://data.example.org/{id}")
    assert source.id in [one.id async for one in client.dataset_sources.list()]
    await client.dataset_sources.delete(source.id)
    assert (await client.usage()).executions >= 0 and "sandbar" in await client.metrics()
    assert (await client.health())["status"] == "ok"

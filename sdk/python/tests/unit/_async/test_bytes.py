import hashlib
import io
import tarfile

import httpx
import pytest
from fake_sandbar import Cut, FakeSandbar, problem

import sandbar
from sandbar import AsyncSandbar
from sandbar._async import _artifacts, _files, _http

pytestmark = pytest.mark.anyio

DATA = bytes(range(256)) * 40
ARTIFACT = {
    "id": "art_1",
    "session_id": "ses_1",
    "execution_id": None,
    "name": "../plot.png",
    "size": len(DATA),
    "mime": "image/png",
    "sha256": hashlib.sha256(DATA).hexdigest(),
    "created_at": "",
    "url": "/artifacts/art_1?token=t",
}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    async def pause(seconds):
        pass

    for module in (_http, _artifacts, _files):
        monkeypatch.setattr(module, "sleep", pause)


async def a_session(*answers):
    fake = FakeSandbar(*answers)
    client = AsyncSandbar("http://sandbar.test", "secret", transport=fake)
    return fake, await client.session("k")


def link(url="/artifacts/art_1?token=t"):
    return httpx.Response(200, json={"url": url, "expires_at": "2026-01-01T00:00:00Z"})


async def sent(request):
    return await request.aread()


async def test_a_file_is_replaced_only_as_it_was_seen():
    written = httpx.Response(201, json={"size": 1, "sha256": "", "etag": "b-1"})
    fake, session = await a_session(written, written, problem(412, "ETAG_MISMATCH"))
    assert (await session.files.write("a", "x", if_match="a-1")).etag == "b-1"
    await session.files.write("a", "x", if_match='"b-1"')
    with pytest.raises(sandbar.SandbarError, match="ETAG_MISMATCH"):
        await session.files.write("a", "x", if_match="*")
    assert [request.headers["if-match"] for request in fake.requests[1:]] == ['"a-1"', '"b-1"', "*"]


async def test_listening_ports_are_told():
    port = {"port": 8000, "addresses": ["::"], "pid": 7, "command": "python3", "process_id": None}
    fake, session = await a_session(httpx.Response(200, json={"data": [port], "next_cursor": None}))
    [listening] = await session.ports()
    assert (listening.port, listening.addresses, listening.pid) == (8000, ("::",), 7)
    assert fake.requests[-1].url.path.endswith("/ports")


async def test_files_are_written_from_anything(tmp_path):
    local = tmp_path / "local file"
    local.write_bytes(DATA)
    sources = [DATA, "grüße", local, io.BytesIO(DATA), iter([b"a", b"b"])]
    fake, session = await a_session(*[httpx.Response(204)] * len(sources))
    for source in sources:
        await session.files.write("/session/odd näme?&#.bin", source)
    bodies = [await sent(request) for request in fake.requests[1:]]
    assert bodies == [DATA, "grüße".encode(), DATA, DATA, b"ab"]
    assert fake.requests[1].url.params["path"] == "/session/odd näme?&#.bin"
    assert [request.headers.get("content-length") for request in fake.requests[1:]] == [
        str(len(DATA)),
        "7",
        str(len(DATA)),
        str(len(DATA)),
        None,
    ]


async def test_an_upload_that_can_be_read_again_is_sent_again(tmp_path):
    fake, session = await a_session(problem(503, "HOST_UNREACHABLE", retryable=True), httpx.Response(204))
    file = io.BytesIO(b"skip" + DATA)
    file.seek(4)
    await session.files.write("a", file)
    assert await sent(fake.requests[2]) == DATA


async def test_a_one_way_stream_is_sent_once():
    fake, session = await a_session(problem(503, "HOST_UNREACHABLE", retryable=True))
    with pytest.raises(sandbar.UnavailableError):
        await session.files.write("a", iter([b"x"]))
    assert len(fake.requests) == 2


async def test_upload_of_a_folder_keeps_its_tree(tmp_path):
    (tmp_path / "in" / "sub dir").mkdir(parents=True)
    (tmp_path / "in" / "a").write_bytes(b"1")
    (tmp_path / "in" / "sub dir" / "b").write_bytes(b"2")
    fake, session = await a_session(httpx.Response(204), httpx.Response(204))
    await session.files.upload(tmp_path / "in", "/session/in")
    assert [request.url.params["path"] for request in fake.requests[1:]] == [
        "/session/in/a",
        "/session/in/sub dir/b",
    ]


async def test_a_download_that_is_cut_starts_over(tmp_path):
    _, session = await a_session(
        httpx.Response(200, stream=Cut([b"ha"], httpx.ReadError("cut"))),
        httpx.Response(200, content=b"whole"),
    )
    target = await session.files.download("/session/a", tmp_path)
    assert target == tmp_path / "a" and target.read_bytes() == b"whole"


async def test_a_download_that_is_always_cut_leaves_nothing(tmp_path):
    cuts = [httpx.Response(200, stream=Cut([b"half"], httpx.ReadError("cut"))) for _ in range(5)]
    _, session = await a_session(*cuts)
    with pytest.raises(sandbar.ConnectionFailedError):
        await session.files.download("/session/a", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


async def test_exists_by_head():
    fake, session = await a_session(
        httpx.Response(200, headers={"content-length": "7", "etag": '"x"'}), httpx.Response(404)
    )
    assert (await session.files.stat("a")).size == 7
    assert not await session.files.exists("b")
    assert fake.calls[-1] == "HEAD /v1/sessions/ses_1/files"


async def test_a_folder_comes_as_files_and_never_through_links(tmp_path):
    def tar(*members):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, kind, body in members:
                info = tarfile.TarInfo(name)
                info.type, info.size = kind, len(body) if kind == tarfile.REGTYPE else 0
                info.linkname = body.decode() if kind == tarfile.SYMTYPE else ""
                archive.addfile(info, io.BytesIO(body))
        return httpx.Response(200, content=buffer.getvalue())

    outside = tmp_path / "outside"
    outside.mkdir()
    _, session = await a_session(
        tar(
            ("./sub", tarfile.DIRTYPE, b""),
            ("sub/a b", tarfile.REGTYPE, b"1"),
            ("link", tarfile.SYMTYPE, str(outside).encode()),
            ("link/b", tarfile.REGTYPE, b"2"),
        ),
        tar(("../evil", tarfile.REGTYPE, b"3")),
        tar(("/evil", tarfile.REGTYPE, b"3")),
        tar(("link/evil", tarfile.REGTYPE, b"3")),
    )
    target = tmp_path / "in"
    await session.files.download_folder("/session", target)
    assert (target / "sub" / "a b").read_bytes() == b"1"
    assert (target / "link" / "b").read_bytes() == b"2" and not (target / "link").is_symlink()
    for _ in range(2):
        with pytest.raises(sandbar.SandbarError, match="archive holds"):
            await session.files.download_folder("/session", tmp_path / "other")
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "link").symlink_to(outside)
    with pytest.raises(sandbar.SandbarError, match="leads through a link"):
        await session.files.download_folder("/session", tmp_path / "third")
    assert list(outside.iterdir()) == []


async def test_an_artifact_is_read_by_link_without_the_api_key_and_checked():
    fake, session = await a_session(
        httpx.Response(200, json=ARTIFACT), link(), httpx.Response(200, content=DATA)
    )
    assert await session.artifacts.read("art_1") == DATA
    assert "authorization" not in fake.requests[-1].headers
    assert str(fake.requests[-1].url) == "http://sandbar.test/artifacts/art_1?token=t"


async def test_other_bytes_are_refused():
    _, session = await a_session(
        httpx.Response(200, json=ARTIFACT), link(), httpx.Response(200, content=DATA[:-1] + b"x")
    )
    with pytest.raises(sandbar.CorruptDownloadError):
        await session.artifacts.read("art_1")


async def test_save_goes_on_where_it_was_cut_and_keeps_its_folder(tmp_path):
    fake, session = await a_session(
        link("https://blobs.test/x"),
        httpx.Response(200, stream=Cut([DATA[:1000]], httpx.ReadError("cut"))),
        httpx.Response(206, stream=Cut([DATA[1000:]])),
    )
    target = await session.artifacts.save(sandbar.Artifact.parse(ARTIFACT), tmp_path)
    assert target == tmp_path / "plot.png" and target.read_bytes() == DATA
    assert fake.requests[-1].headers["range"] == "bytes=1000-"
    assert [path.name for path in tmp_path.iterdir()] == ["plot.png"]


async def test_an_empty_artifact_can_be_saved(tmp_path):
    empty = {**ARTIFACT, "size": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    _, session = await a_session(link(), httpx.Response(200, content=b""))
    target = await session.artifacts.save(sandbar.Artifact.parse(empty), tmp_path / "e")
    assert target.read_bytes() == b""


async def test_datasets_come_from_the_callers_function_or_the_server():
    loaded = {"id": "d/1", "status": "LOADED", "path": "/session/data/d", "size": 1}
    fake, session = await a_session(*[httpx.Response(200, json=loaded) for _ in range(3)])
    await session.datasets.select("d/1", lambda dataset_id: dataset_id.encode())
    await session.datasets.select(
        "d/1", lambda client, dataset_id: client + dataset_id.encode(), client=b"c:"
    )
    dataset = await session.datasets.select("d/1", source="lake", version="2")
    assert dataset.status == "LOADED"
    assert fake.requests[1].url.raw_path.endswith(b"/datasets/d%2F1")
    assert [await sent(request) for request in fake.requests[1:3]] == [b"d/1", b"c:d/1"]
    assert await sent(fake.requests[3]) == b'{"id":"d/1","source":"lake","version":"2"}'

import hashlib

import httpx
import pytest

import sandbar
from sandbar import AsyncSandbar

pytestmark = pytest.mark.anyio

ODD = "/session/odd näme & co #1?.bin"
DATA = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
async def client():
    async with AsyncSandbar.from_env() as client:
        yield client


@pytest.fixture(scope="module")
async def session(client):
    async with await client.session(datasets="API") as session:
        yield session


async def test_files(session, needs, tmp_path):
    needs("/v1/sessions/{id}/files")
    await session.files.write(ODD, DATA)
    assert await session.files.read(ODD) == DATA
    assert (await session.files.stat(ODD)).size == len(DATA)
    assert (await session.run(f"len(open({ODD!r}, 'rb').read())")).text == str(len(DATA))
    names = [entry.path or entry.name for entry in await session.files.list("/session")]
    assert any("odd näme & co #1?.bin" in name for name in names)
    target = await session.files.download(ODD, tmp_path)
    assert target.read_bytes() == DATA
    assert (await session.files.write(ODD, "")).size == 0 and await session.files.read(ODD) == b""
    await session.files.delete(ODD)
    assert not await session.files.exists(ODD)
    with pytest.raises(sandbar.NotFoundError):
        await session.files.read(ODD)


async def test_a_folder_there_and_back(session, needs, tmp_path):
    needs("/v1/sessions/{id}/files")
    (tmp_path / "in" / "sub dir").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("grüße")
    (tmp_path / "in" / "sub dir" / "b.bin").write_bytes(DATA)
    await session.files.upload(tmp_path / "in", "/session/in")
    assert await session.files.read_text("in/a.txt") == "grüße"
    await session.files.download_folder("/session/in", tmp_path / "out")
    found = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert found == {"a.txt": "grüße".encode(), "b.bin": DATA}
    listed = {entry.path: entry.type for entry in await session.files.list("/session/in", depth=2)}
    assert len(listed) == 3 and set(listed.values()) == {"file", "directory"}
    await session.files.delete("/session/in", recursive=True)
    assert not await session.files.exists("/session/in")


async def test_large_files_are_streamed_both_ways(session, needs, tmp_path):
    needs("/v1/sessions/{id}/files")
    local = tmp_path / "large"
    local.write_bytes(DATA * 80)
    written = await session.files.write("/session/large", local)
    assert written.size == local.stat().st_size
    assert written.sha256 == hashlib.sha256(DATA * 80).hexdigest()
    target = await session.files.download("/session/large", tmp_path / "back")
    assert target.read_bytes() == local.read_bytes()
    await session.files.write("/session/chunks", iter([b"a" * 100_000, b"b"]))
    assert (await session.files.stat("/session/chunks")).size == 100_001


async def test_artifacts(client, session, needs, tmp_path):
    needs("/v1/artifacts/{id}")
    execution = await session.run("open('/session/artifacts/a b.txt', 'w').write('kept'); None")
    [artifact] = execution.artifacts
    assert (artifact.name, artifact.size, artifact.sha256) == (
        "a b.txt",
        4,
        hashlib.sha256(b"kept").hexdigest(),
    )
    assert artifact.id in [item.id for item in await session.artifacts.list()]
    assert (await client.artifacts.get(artifact.id)).sha256 == artifact.sha256
    assert await client.artifacts.read(artifact) == b"kept"
    assert await client.artifacts.read_range(artifact, 1, 3) == b"ep"
    rest = [chunk async for chunk in client.artifacts.stream(artifact, start=1)]
    assert b"".join(rest) == (await client.artifacts.read(artifact))[1:]
    assert (await session.artifacts.save(artifact.id, tmp_path)).read_bytes() == b"kept"
    link = await session.artifacts.link(artifact, expires_in_s=60)
    assert httpx.get(link.url, follow_redirects=True).content == b"kept"
    await client.artifacts.delete(artifact)
    with pytest.raises(sandbar.NotFoundError):
        await client.artifacts.get(artifact.id)


async def test_import(client, session, needs):
    needs("/v1/sessions/{id}/import")
    execution = await session.run("open('/session/artifacts/b', 'w').write('artifact'); None")
    async with await client.session() as other:
        await other.files.write("/session/o", b"other")
        answers = await session.import_files(
            [
                {"destination": "/session/in.txt", "content": "hello"},
                {"destination": "in.bin", "content": "AAEC", "encoding": "base64"},
                {"destination": "from other", "session_id": other.id, "path": "/session/o"},
                {"destination": "from artifact", "artifact_id": execution.artifacts[0].id},
                {"destination": "missing", "artifact_id": "art_00000000000000000000000000"},
            ]
        )
    assert [(answer.ok, answer.size) for answer in answers[:4]] == [
        (True, 5),
        (True, 3),
        (True, 5),
        (True, 8),
    ]
    assert not answers[4].ok and answers[4].error["code"] == "NOT_FOUND"
    assert await session.files.read("in.bin") == b"\0\1\2"
    assert await session.files.read("from other") == b"other"
    assert await session.files.read("from artifact") == b"artifact"


async def test_export(session, needs):
    needs("/v1/sessions/{id}/export")
    await session.files.write("/session/out.txt", "hello")
    good, bad = await session.export_files(["/session/out.txt", {"source": "/session/missing"}])
    assert good.ok and good.artifact.size == 5 and not bad.ok
    assert await session.artifacts.read(good.artifact) == b"hello"


async def test_datasets(session, needs):
    needs("/v1/sessions/{id}/datasets")
    dataset = await session.datasets.select("sales", lambda dataset_id: f"{dataset_id},1\n")
    assert dataset.status == "LOADED"
    listing = await session.datasets.list()
    assert listing.access == "API" and [item.id for item in listing.data] == ["sales"]
    assert (await session.run(f"open({dataset.path!r}).read()")).text == "'sales,1\\n'"
    exported = await session.datasets.export("sales")
    assert await session.artifacts.read(exported) == b"sales,1\n"

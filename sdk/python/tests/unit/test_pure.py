import base64
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sandbar
from sandbar._config import Config, parse_env_file
from sandbar._errors import ENDINGS, class_for, error_from_answer, parse_retry_after
from sandbar._retry import backoff_s
from sandbar._sse import SseDecoder

ROOT = Path(__file__).resolve().parents[2]
ERROR_TABLE = ROOT / "../../shared/src/errors.ts"


def record(**fields):
    return sandbar.Execution.parse({"id": "exe_1", "status": "ok", **fields})


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_sse_whatever_the_chunks_and_line_ends(size, end):
    text = ": hello||retry: 1500||id: 1|event: stdout|data: ü\u2028x|data:  y||data: z||event: lost|id: 9".replace(
        "|", end
    )
    decoder = SseDecoder()
    body = text.encode()
    events = [event for at in range(0, len(body), size) for event in decoder.feed(body[at : at + size])]
    assert [(event.id, event.event, event.data) for event in events] == [
        ("1", "stdout", "ü\u2028x\n y"),
        ("1", "message", "z"),
    ]
    assert decoder.retry_ms == 1500


def test_backoff_grows_within_bounds():
    assert [backoff_s(attempt, lambda: 1.0) for attempt in range(6)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    assert backoff_s(0, lambda: 0.0) == 0.1


@pytest.mark.parametrize(
    ("value", "seconds"), [("2", 2.0), ("0.5", 0.5), ("-1", None), ("soon", None), (None, None)]
)
def test_retry_after_in_seconds(value, seconds):
    assert parse_retry_after(value) == seconds


def test_retry_after_as_a_date():
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert parse_retry_after("Wed, 21 Oct 2099 07:28:00 GMT") > 1e6


def test_a_proxys_page_is_an_unexpected_answer():
    error = error_from_answer(502, {}, b"<html>Bad gateway</html>")
    assert isinstance(error, sandbar.ServerError)
    assert (error.code, error.retryable) == ("UNEXPECTED_ANSWER", True)


def test_an_execution_says_what_a_terminal_would_show():
    execution = record(stdout="a\n", stderr="b\n", text="'c'")
    assert str(execution) == "a\nb\n'c'" and execution.output == "a\nb\n"
    failed = record(status="error", stdout="a", error={"name": "E", "value": "v", "traceback": "T\nE: v"})
    assert str(failed) == "a\nT\nE: v"


def test_results_by_mime_type():
    png = b"\x89PNG\r\n"
    encoded = base64.b64encode(png).decode()
    execution = record(
        results=[{"image/png": "AAAA"}, {"image/png": encoded, "text/html": "<b>"}, {"text/plain": "1"}]
    )
    assert execution.png() == png and len(execution.pngs()) == 2
    assert execution.html() == "<b>" and execution.json() is None
    assert record().png() is None


def test_fields_by_name():
    execution = record(exit_code=3)
    assert execution["exit_code"] == 3 and execution["status"] == "ok"
    for name in ("nothing", "_repr_mimebundle_"):
        with pytest.raises(KeyError):
            execution[name]


def test_unknown_fields_are_kept():
    assert record(new="x").raw["new"] == "x" and record(new="x").to_dict()["id"] == "exe_1"


def test_a_notebook_shows_it_without_running_what_the_sandbox_says():
    execution = record(
        stdout="<script>alert(1)</script>\x1b[31mred\x1b[0m",
        results=[
            {"text/html": '<script>"x"</script>', "text/plain": "plain"},
            {"image/png": 'AAAA" onerror="alert(1)', "text/plain": "no image"},
            {"image/png": "AA\nAA"},
            {"image/svg+xml": "<svg onload='alert(1)'/>"},
            {"application/javascript": "alert(1)"},
        ],
        truncated={"stdout": 100, "results": 1, "image/png": 2000000},
    )
    bundle = execution._repr_mimebundle_()
    page = bundle["text/html"]
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<script" not in page and "onerror" not in page and "onload" not in page and "\x1b" not in page
    assert (
        '<iframe sandbox="" ' in page
        and "data:image/png;base64,AAAA" in page
        and "stdout was cut: 100 characters" in page
    )
    assert "left out: image/png of 2000000 characters" in page and "results" not in page


def test_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "api-key").write_text("local-key\n")
    env = {"SANDBAR_HOME": str(tmp_path / "home")}
    assert Config.from_env(environ=env) == Config("http://127.0.0.1:8787", "local-key")
    assert Config.from_env(environ={**env, "SANDBAR_PORT": "9"}).url == "http://127.0.0.1:9"
    # The local key is not shown to other servers.
    assert Config.from_env(environ={**env, "SANDBAR_URL": "https://sandbar.example"}).api_key is None
    given = {"SANDBAR_URL": "https://sandbar.example/", "SANDBAR_API_KEY": "k"}
    assert Config.from_env(environ=given) == Config("https://sandbar.example", "k")
    (tmp_path / ".env").write_text("# c\nexport SANDBAR_URL='http://a.test'\nSANDBAR_API_KEY=file # note\n")
    assert Config.from_env(tmp_path / ".env", environ={}) == Config("http://a.test", "file")
    assert Config.from_env(tmp_path / ".env", environ={"SANDBAR_API_KEY": "env"}).api_key == "env"
    assert "k" not in repr(Config("http://a.test", "kkk")).replace("api_key", "")
    assert parse_env_file('A="x # y"\nB = z\nnothing') == {"A": "x # y", "B": "z"}
    with pytest.raises(sandbar.SandbarError, match="not an http"):
        Config.from_env(url="localhost:8787")
    assert Config.from_env(api_key="sbk_1\r\n", environ={}).api_key == "sbk_1"
    for key in ("a\nsecret", "sécret", "two secrets"):
        with pytest.raises(sandbar.SandbarError) as caught:
            Config.from_env(api_key=key, environ={})
        assert caught.value.code == "INVALID_KEY" and key not in str(caught.value)


def test_from_env_reads_the_process_environment(monkeypatch):
    monkeypatch.setenv("SANDBAR_URL", "http://b.test")
    monkeypatch.setenv("SANDBAR_API_KEY", "k")
    with sandbar.Sandbar.from_env(max_retries=0) as client:
        assert client.config == Config("http://b.test", "k", 30.0, 0)


def test_errors_survive_pickling():
    failed = sandbar.ExecutionFailed(record(status="timeout"))
    assert pickle.loads(pickle.dumps(failed)).execution.status == "timeout"
    refused = sandbar.NotFoundError("NOT_FOUND", "no", status=404, hint="look", request_id="req_1")
    again = pickle.loads(pickle.dumps(refused))
    assert type(again) is sandbar.NotFoundError and str(again) == str(refused) and again.status == 404


def test_the_seeds_client_name_and_argument():
    sandbox = sandbar.SandboxClient(server_url="http://localhost:5000")
    assert sandbox._client.config.url == "http://localhost:5000"
    sandbox.close()


@pytest.mark.skipif(not ERROR_TABLE.exists(), reason="only in the repository")
def test_the_servers_error_table_is_known():
    table = {}
    for code, body in re.findall(r"^  ([A-Z_]+): \{(.*?)^  \},", ERROR_TABLE.read_text(), re.S | re.M):
        table[code] = {
            "status": int(re.search(r"status: (\d+)", body).group(1)),
            "retryable": "retryable: true" in body,
            "hint": re.search(r"hint:\s*(\"|')(.*?)\1,", body, re.S).group(2),
        }
    assert len(table) > 30
    for code, entry in ENDINGS.items():
        assert entry == {"hint": table[code]["hint"], "retryable": table[code]["retryable"]}, code
    for code, entry in table.items():
        assert class_for(entry["status"]) is not sandbar.APIError, code


def test_the_blocking_client_is_current():
    subprocess.run([sys.executable, str(ROOT / "scripts/unasync.py"), "--check"], check=True)

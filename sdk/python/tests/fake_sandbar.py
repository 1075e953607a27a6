"""A fake of the server, for what the real one does not do on demand: cuts, refusals, lost answers."""

import json

import httpx

EXECUTION = {
    "id": "exe_1",
    "session_id": "ses_1",
    "context": "python",
    "language": "python",
    "status": "ok",
    "stdout": "hi\n",
    "stderr": "",
    "text": "42",
    "results": [{"text/plain": "42"}],
    "error": None,
    "truncated": {},
    "artifacts": [],
    "artifacts_skipped": [],
    "state": {"variables": "kept", "files": "kept"},
    "queued_at": "2026-01-01T00:00:00Z",
    "started_at": "2026-01-01T00:00:00Z",
    "finished_at": "2026-01-01T00:00:01Z",
    "duration_ms": 1000,
}
SESSION = {"id": "ses_1", "key": "k", "runtime": "python", "status": "ready", "new_field": 1}


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Bytes, and then the connection is gone (or simply ends)."""

    def __init__(self, chunks, error=None):
        self.chunks = chunks
        self.error = error

    def __iter__(self):
        yield from self.chunks
        if self.error is not None:
            raise self.error

    async def __aiter__(self):
        for chunk in self:
            yield chunk


class FakeSandbar(httpx.MockTransport):
    """Answers with what the test lined up, in order, and remembers what it was asked."""

    def __init__(self, *answers, session=SESSION):
        self.answers = list(answers)
        self.session = session
        self.requests = []
        super().__init__(self._answer)

    def _answer(self, request):
        request.read() if not isinstance(request.stream, httpx.AsyncByteStream) else None
        self.requests.append(request)
        if request.method == "POST" and request.url.path == "/v1/sessions":
            return httpx.Response(200, json=self.session)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def calls(self):
        return [f"{request.method} {request.url.path}" for request in self.requests]


def problem(status, code, *, retryable=False, headers=None, **extra):
    body = {
        "type": f"/docs/errors#{code}",
        "title": code.title(),
        "status": status,
        "code": code,
        "detail": "because",
        "hint": "do this",
        "retryable": retryable,
        "request_id": "req_1",
        **extra,
    }
    return httpx.Response(status, json=body, headers=headers)


def execution(**fields):
    return httpx.Response(200, json={**EXECUTION, **fields})


def sse(*events, error=None, preamble="retry: 10\n\n"):
    text = preamble + "".join(
        f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for number, kind, data in events
    )
    body = text.encode()
    # Odd pieces, so that events and characters are split somewhere.
    chunks = [body[at : at + 7] for at in range(0, len(body), 7)]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Cut(chunks, error))

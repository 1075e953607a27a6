"""Questions that may simply fail. Add a method: a function of (guest, params, reply) in METHODS."""

import languages
import limits
from shortage import shortage
from wire_json import dumps, encode

STATE_TIMEOUT_MS = 2000
STATE_VARIABLES = 500
STATE_REPR = 200
STATE_SHARE = 8
"""One variable's share of the time, so that a few slow ones leave some for the others."""


class CallError(Exception):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Calls:
    def __init__(self, guest) -> None:
        self._guest = guest
        self._in_flight = 0

    def handle(self, message: dict) -> None:
        ident = str(message.get("id"))
        done = []

        def reply(result=None, error: "str | None" = None, code: "str | None" = None) -> None:
            if done:
                return
            done.append(True)
            self._in_flight -= 1
            answer = {"type": "answer", "id": ident}
            if error is None:
                answer["result"] = result
            else:
                answer.update(error=error, code=code or "FAILED")
            line = encode(dumps(answer)) + b"\n"
            if len(line) > limits.LINE_BYTES:
                line = encode(dumps({"type": "answer", "id": ident, "error": "the answer is too large", "code": "TOO_LARGE"})) + b"\n"
            self._guest.link.send(line)

        self._in_flight += 1
        try:
            method = METHODS.get(message.get("method"))
            if method is None:
                raise CallError("UNKNOWN_METHOD", "the guest has no such method")
            if self._in_flight > limits.CALLS_IN_FLIGHT:
                raise CallError("BUSY", "too many calls in flight")
            method(self._guest, message.get("params") or {}, reply)
        except CallError as error:
            reply(error=str(error), code=error.code)
        except (KeyError, TypeError, ValueError) as error:
            reply(error="bad parameters: %r" % error, code="BAD_PARAMS")


def ping(_guest, _params: dict, reply) -> None:
    reply({})


def state(guest, params: dict, reply) -> None:
    context = guest.contexts.get(params.get("context"))
    if context is None:
        raise CallError("UNKNOWN_CONTEXT", "no such context")
    if not languages.LANGUAGES[context.language].answers:
        raise CallError("VALIDATION_FAILED", "a %s context cannot list its variables" % context.language)
    if not context.idle():
        raise CallError("BUSY", "the kernel is busy")
    timeout_s = min(30_000, max(10, int(params.get("timeout_ms", STATE_TIMEOUT_MS)))) / 1000

    def answered(message: dict) -> None:
        result = message.get("result")
        if isinstance(result, dict):
            reply(_bounded_state(result))
        else:
            missing = shortage()
            why, code = ("; " + missing["detail"], missing["code"]) if missing else ("", "FAILED")
            reply(error=str(message.get("error", "no answer"))[:1000] + why, code=code)

    request = {"op": "state", "variables": STATE_VARIABLES, "repr": STATE_REPR, "each_s": timeout_s / STATE_SHARE}
    context.ask(request, timeout_s, answered)


def _bounded_state(result: dict) -> dict:
    variables = []
    for entry in (result.get("variables") or [])[:STATE_VARIABLES]:
        size = entry.get("size")
        variables.append(
            {
                "name": str(entry.get("name"))[:200],
                "type": str(entry.get("type"))[:200],
                "repr": str(entry.get("repr"))[:STATE_REPR],
                "size": size if isinstance(size, int) and size >= 0 else None,
            }
        )
    imports = [str(name)[:200] for name in (result.get("imports") or [])[:STATE_VARIABLES]]
    total = result.get("total")
    if not isinstance(total, int) or total < len(variables):
        total = len(variables)
    return {"variables": variables, "total": total, "imports": imports, "cwd": str(result.get("cwd", ""))[:4096]}


METHODS = {"ping": ping, "state": state}

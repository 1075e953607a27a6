"""Questions that may simply fail."""

from guest import limits
from guest.io.call_error import CallError
from guest.io.wire_json import dumps, encode


class Calls:
    def __init__(self, guest, methods: dict) -> None:
        self._guest = guest
        self._methods = methods
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
            method = self._methods.get(message.get("method"))
            if method is None:
                raise CallError("UNKNOWN_METHOD", "the guest has no such method")
            if self._in_flight > limits.CALLS_IN_FLIGHT:
                raise CallError("BUSY", "too many calls in flight")
            method(self._guest, message.get("params") or {}, reply)
        except CallError as error:
            reply(error=str(error), code=error.code)
        except (KeyError, TypeError, ValueError) as error:
            reply(error="bad parameters: %r" % error, code="BAD_PARAMS")

"""What a context's kernel has in its namespace."""

from guest.io.call_error import CallError
from guest.kernels import languages
from guest.system.shortage import shortage

TIMEOUT_MS = 2000
VARIABLES = 500
REPR = 200
SHARE = 8
"""One variable's share of the time, so that a few slow ones leave some for the others."""


def state(guest, params: dict, reply) -> None:
    context = guest.contexts.get(params.get("context"))
    if context is None:
        raise CallError("UNKNOWN_CONTEXT", "no such context")
    if not languages.LANGUAGES[context.language].answers:
        raise CallError("VALIDATION_FAILED", "a %s context cannot list its variables" % context.language)
    if not context.idle():
        raise CallError("BUSY", "the kernel is busy")
    timeout_s = min(30_000, max(10, int(params.get("timeout_ms", TIMEOUT_MS)))) / 1000

    def answered(message: dict) -> None:
        result = message.get("result")
        if isinstance(result, dict):
            reply(_bounded(result))
        else:
            missing = shortage()
            why, code = ("; " + missing["detail"], missing["code"]) if missing else ("", "FAILED")
            reply(error=str(message.get("error", "no answer"))[:1000] + why, code=code)

    request = {"op": "state", "variables": VARIABLES, "repr": REPR, "each_s": timeout_s / SHARE}
    context.ask(request, timeout_s, answered)


def _bounded(result: dict) -> dict:
    variables = []
    for entry in (result.get("variables") or [])[:VARIABLES]:
        size = entry.get("size")
        variables.append(
            {
                "name": str(entry.get("name"))[:200],
                "type": str(entry.get("type"))[:200],
                "repr": str(entry.get("repr"))[:REPR],
                "size": size if isinstance(size, int) and size >= 0 else None,
            }
        )
    imports = [str(name)[:200] for name in (result.get("imports") or [])[:VARIABLES]]
    total = result.get("total")
    if not isinstance(total, int) or total < len(variables):
        total = len(variables)
    return {"variables": variables, "total": total, "imports": imports, "cwd": str(result.get("cwd", ""))[:4096]}

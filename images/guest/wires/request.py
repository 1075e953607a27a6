"""What a kernel is told to run."""

from guest.wires.ticket import Ticket


def run_message(execution, ticket: Ticket) -> dict:
    request = execution.request
    return {
        "op": "run",
        "id": ticket.name,
        "code": code_of(request),
        "env": request.get("env") or {},
        "mime_value_limit": int(request.get("mime_value_limit", 1_000_000)),
        "mime_total_limit": int(request.get("mime_total_limit", 8_000_000)),
    }


def code_of(request: dict) -> str:
    """Without the mark that some editors put before it, which no shell and not every language takes."""
    code = request["code"]
    return code[1:] if code[:1] == "\ufeff" else code


def prefixed(payload: bytes) -> bytes:
    return b"%010d" % len(payload) + payload

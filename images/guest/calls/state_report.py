"""What a kernel says of its variables while it saves or loads them: lines of JSON, from user code as likely as not, so bounded and checked."""

from guest.io.wire_json import loads

LINE_BYTES = 4 * 1024 * 1024
TOTAL_BYTES = 64 * 1024 * 1024
VARIABLES = 2000
NAMES = 500
TEXT = 200
REASON = 300
PATH = 4096
STATUSES = ("saved", "degraded", "lost")


class StateReport:
    def __init__(self) -> None:
        self._rest = b""
        self._total = 0
        self._too_long = False
        self.at = ""
        """The variable that it is at."""
        self.heard = False
        self.failed = None
        self.done = None

    def feed(self, data: bytes) -> None:
        self._total += len(data)
        if self._total > TOTAL_BYTES or len(self._rest) + len(data) > LINE_BYTES:
            self._too_long = True
        if self._too_long:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                message = loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                self.heard = True
                self._take(message)

    def _take(self, message: dict) -> None:
        if "at" in message:
            self.at = _text(message["at"], TEXT)
        if "failed" in message:
            self.failed = _text(message["failed"], 1000)
        if isinstance(message.get("done"), dict):
            self.done = _bounded(message["done"])


def _bounded(said: dict) -> dict:
    variables = []
    entries = said.get("variables")
    for entry in entries[:VARIABLES] if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or entry.get("status") not in STATUSES:
            continue
        variable = {"name": _text(entry.get("name"), TEXT), "type": _text(entry.get("type"), TEXT), "status": entry["status"]}
        if entry["status"] != "saved":
            variable["reason"] = _text(entry.get("reason") or "for a reason that nobody gave", REASON)
        variables.append(variable)
    more = said.get("more")
    if not isinstance(more, int) or isinstance(more, bool) or not 0 <= more <= 1_000_000_000:
        more = 0
    around = said.get("environment")
    around = around if isinstance(around, dict) else {}
    cwd = around.get("cwd")
    environment = {
        "cwd": cwd[:PATH] if isinstance(cwd, str) else None,
        **{key: [_text(name, TEXT) for name in around[key][:NAMES]] if isinstance(around.get(key), list) else [] for key in ("set", "unset")},
    }
    return {"variables": variables, "more": more, "environment": environment}


def _text(value, most: int) -> str:
    return value[:most] if isinstance(value, str) else "?"

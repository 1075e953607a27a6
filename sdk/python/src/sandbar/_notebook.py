"""An execution as HTML for notebooks.

What the sandbox printed is not trusted: a script in a notebook page can run code in the notebook's own kernel. So
text is escaped, images are ``<img>``, and HTML goes into a frame without scripts and without an origin.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from ._left_out import left_out

if TYPE_CHECKING:
    from ._models import Execution

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def html_of(execution: Execution) -> str:
    parts = []
    if execution.stdout:
        parts.append(_pre(execution.stdout))
    if execution.stderr:
        parts.append(_pre(execution.stderr, "background:rgba(255,0,0,.1)"))
    parts.extend(_bundle(bundle) for bundle in execution.results)
    if execution.error:
        error = execution.error
        parts.append(_pre(error.traceback or f"{error.name}: {error.value}", "background:rgba(255,0,0,.1)"))
    for name, total in execution.truncated.items():
        if "/" not in name and name != "results":
            parts.append(f"<small>{html.escape(name)} was cut: {total} characters in all</small>")
    parts.extend(f"<small>{html.escape(line)}</small>" for line in left_out(execution.truncated))
    if execution.artifacts:
        names = ", ".join(f"{item.name} ({item.size} bytes)" for item in execution.artifacts)
        parts.append(f"<small>artifacts: {html.escape(names)}</small>")
    return "\n".join(part for part in parts if part) or f"<small>{html.escape(execution.status)}</small>"


def _bundle(bundle: Mapping[str, Any]) -> str:
    for mime in _IMAGES:
        value = bundle.get(mime)
        if isinstance(value, str) and _BASE64.fullmatch(value):
            return f'<img src="data:{mime};base64,{"".join(value.split())}">'
    svg = _text(bundle, "image/svg+xml")
    if svg is not None:
        # Scripts in an SVG do not run inside <img>.
        encoded = base64.b64encode(svg.encode()).decode()
        return f'<img src="data:image/svg+xml;base64,{encoded}">'
    page = _text(bundle, "text/html")
    if page is not None:
        height = min(480, 48 + 28 * page.count("<tr") + 20 * page.count("<br"))
        return (
            f'<iframe sandbox="" style="border:0;width:100%;height:{height}px" '
            f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
        )
    text = _text(bundle, "text/plain")
    return _pre(text) if text is not None else ""


def _text(bundle: Mapping[str, Any], mime: str) -> Optional[str]:
    value = bundle.get(mime)
    return value if isinstance(value, str) else None


def _pre(text: str, style: str = "") -> str:
    return f'<pre style="{style}">{html.escape(_ANSI.sub("", text))}</pre>'

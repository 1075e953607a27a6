"""Where the server is and who is asking."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from ._errors import SandbarError

DEFAULT_URL = "http://127.0.0.1:8787"


@dataclass(frozen=True)
class Config:
    url: str = DEFAULT_URL
    api_key: Optional[str] = None
    #: Seconds for one answer, except where the server is expected to think longer.
    timeout_s: float = 30.0
    max_retries: int = 4

    def __repr__(self) -> str:
        return f"Config(url={self.url!r}, api_key={'…' if self.api_key else None!r})"

    @classmethod
    def from_env(
        cls,
        env_file: Union[str, Path, None] = None,
        *,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        environ: Optional[Mapping[str, str]] = None,
    ) -> Config:
        """``SANDBAR_URL``, ``SANDBAR_API_KEY``; without a key, the one in ``$SANDBAR_HOME/api-key``.

        Arguments win over the environment, which wins over ``env_file`` (lines of ``NAME=value``).
        """
        env: dict[str, str] = {}
        if env_file is not None:
            env.update(parse_env_file(Path(env_file).read_text(encoding="utf-8")))
        env.update(os.environ if environ is None else environ)
        found = url or env.get("SANDBAR_URL") or f"http://127.0.0.1:{env.get('SANDBAR_PORT') or 8787}"
        key = api_key or env.get("SANDBAR_API_KEY")
        # The key of this machine's own server goes to no other.
        if not key and _is_local(found):
            key = _read_key(Path(env.get("SANDBAR_HOME") or ".sandbar") / "api-key")
        return cls(url=normal_url(found), api_key=plain_key(key))


def normal_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise SandbarError(
            "INVALID_URL", f"not an http(s) URL: {url!r}", hint="Set SANDBAR_URL or pass url=."
        )
    return url.rstrip("/")


def plain_key(key: Optional[str]) -> Optional[str]:
    """Line ends around a key are no part of it; other than visible characters cannot be sent."""
    key = (key or "").strip()
    if not all("!" <= char <= "~" for char in key):
        raise SandbarError(
            "INVALID_KEY",
            "the API key has characters that no key has",
            hint="Set SANDBAR_API_KEY or pass api_key=, one like sbk_….",
        )
    return key or None


def _is_local(url: str) -> bool:
    host = url.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]
    return host.rsplit(":", 1)[0] in ("127.0.0.1", "localhost", "[::1]")


def _read_key(path: Path) -> Optional[str]:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def parse_env_file(text: str) -> dict[str, str]:
    env = {}
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("export "):
            line = line[7:].lstrip()
        name, equals, value = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = value.split(" #", 1)[0].rstrip()
        env[name.strip()] = value
    return env

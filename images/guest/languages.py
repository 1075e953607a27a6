"""How each language's kernel is started, and the clean environment that all of them get."""

import os
import sys

from processes import ENV_TAG
from wires import FifoWire, FileWire, PassedPipesWire, SharedStdinWire

KERNELS = os.environ.get("SANDBAR_KERNELS") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kernels"
)
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = (
    "PATH LANG LC_ALL LANGUAGE TZ TMPDIR VIRTUAL_ENV MPLCONFIGDIR MPLBACKEND JAVA_HOME NODE_PATH R_HOME R_LIBS R_LIBS_SITE "
    "LD_LIBRARY_PATH PYTHONPATH SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT "
    "PIP_INDEX_URL NPM_CONFIG_REGISTRY HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"
).split()


def _which(name: str) -> "str | None":
    for folder in os.environ.get("PATH", DEFAULT_PATH).split(":"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return None


class Language:
    def __init__(self, program: "str | None", script: str, wire, options: "list[str]") -> None:
        self.program = program
        self.script = os.path.join(KERNELS, script)
        self.wire = wire
        self.takes_env = program is not None and script.startswith("python/")
        """While it runs; the others start again, as nothing has run in them yet."""
        self.forks = self.takes_env
        """Its kernels can come from the fork parent."""
        self.keeps_dead_children = self.takes_env
        """Until the code asks for them; the other runtimes reap by themselves."""
        self.answers = not script.startswith("bash/")
        """Its kernels take questions, not only code."""
        self.options = [option.replace("{script}", self.script) for option in options]

    def available(self) -> bool:
        return self.program is not None and os.path.exists(self.script)

    def argv(self) -> "list[str]":
        return [self.program, *self.options]


# At top level, not in a function, where `declare` would make variables local. A snippet that breaks out ends the shell like `exit`.
# Not `while :`, since a snippet may make a function of that name. With `set -n` a shell runs nothing any more, and takes what it does
# not run for a success: `until` ends then.
BASH_LOOP = (
    '. "{script}"; until ((0)); do __sb_take; builtin eval "$__sb_code" 40>&-; '
    '{ __sb_status=${__sb_status:-$?} __sb_flags=$-; builtin trap - DEBUG; __sb_give "$__sb_status" "$__sb_flags"; } >/dev/null 2>&1; done'
)

# Code that an interrupt ends inside a callback leaves Node's async bookkeeping one level too deep, for which it would abort.
NODE_OPTIONS = ["--no-force-async-hooks-checks"]

LANGUAGES = {
    "python": Language(sys.executable, "python/main.py", PassedPipesWire, ["{script}"]),
    "node": Language(_which("node"), "node/main.js", SharedStdinWire, [*NODE_OPTIONS, "{script}"]),
    "r": Language(_which("Rscript"), "r/main.R", FileWire, ["--vanilla", "{script}"]),
    "bash": Language(_which("bash"), "bash/kernel.sh", FifoWire, ["--norc", "--noprofile", "-c", BASH_LOOP, "bash"]),
}

FORK_PARENT = Language(sys.executable, "python/fork_parent.py", None, ["{script}"])


def available() -> "list[str]":
    return [name for name, language in LANGUAGES.items() if language.available()]


def environment(extra: "dict[str, str]", tag: str) -> "dict[str, str]":
    env = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    env.setdefault("PATH", DEFAULT_PATH)
    env.setdefault("LANG", "C.UTF-8")
    env["HOME"] = home()
    env["PYTHONIOENCODING"] = "utf-8"
    env["USER"] = env["LOGNAME"] = "sandbox"
    env["SHELL"] = _which("bash") or "/bin/sh"
    env["TERM"] = "dumb"
    for key, value in extra.items():
        if isinstance(key, str) and isinstance(value, str) and "\0" not in key + value and key and "=" not in key:
            env[key] = value
    env[ENV_TAG] = tag
    return env


def home() -> str:
    for folder in ("/session/.home", "/tmp/.home"):
        try:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            pass
    return "/tmp"

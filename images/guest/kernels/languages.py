"""How each language's kernel is started."""

import os
import sys

from guest.system.environment import which
from guest.wires.fifo_wire import FifoWire
from guest.wires.file_wire import FileWire
from guest.wires.passed_pipes_wire import PassedPipesWire
from guest.wires.shared_stdin_wire import SharedStdinWire

KERNELS = os.environ.get("SANDBAR_KERNELS") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "kernels"
)


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
    "node": Language(which("node"), "node/main.js", SharedStdinWire, [*NODE_OPTIONS, "{script}"]),
    "r": Language(which("Rscript"), "r/main.R", FileWire, ["--vanilla", "{script}"]),
    "bash": Language(which("bash"), "bash/kernel.sh", FifoWire, ["--norc", "--noprofile", "-c", BASH_LOOP, "bash"]),
}

FORK_PARENT = Language(sys.executable, "python/fork_parent.py", None, ["{script}"])


def available() -> "list[str]":
    return [name for name, language in LANGUAGES.items() if language.available()]

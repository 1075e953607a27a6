"""Start of the process that forks Python kernels: fd 3 is its control socket, its arguments are the modules that it imports first."""

import os
import sys

sys.dont_write_bytecode, _write_bytecode = True, sys.dont_write_bytecode
sys.path[0] = os.path.dirname(os.path.abspath(__file__))
# Nothing that user code can write may get into the process from which its kernels come.
_path, sys.path[1:] = sys.path[1:], [entry for entry in sys.path[1:] if not os.access(entry, os.W_OK)]

from sandbar_kernel.forks import ForkParent  # noqa: E402

ForkParent(sys.argv[1:], _path, _write_bytecode).serve()

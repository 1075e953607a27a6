"""From a new process to a kernel that takes code."""

import os
import sys

from .kernel import Kernel

KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def start(write_bytecode: bool) -> None:
    """Until here `sys.path` began with our own folder, so nothing that lies in the session has been imported."""
    kernel = Kernel()
    # User code imports from its working directory, as in any interactive Python.
    sys.path[:] = ["", *(entry for entry in sys.path if entry not in ("", KERNELS))]
    sys.dont_write_bytecode = write_bytecode
    sys.argv = [""]
    kernel.serve()

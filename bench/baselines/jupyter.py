"""Times a trivial cell in a local Jupyter kernel driven by jupyter_client. Reads a number of cells a line, writes milliseconds."""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")


def cell(code: str) -> float:
    began = time.perf_counter()
    message = client.execute(code)
    while True:
        reply = client.get_iopub_msg(timeout=10)
        if reply["parent_header"].get("msg_id") == message and reply["msg_type"] == "status":
            if reply["content"]["execution_state"] == "idle":
                break
    client.get_shell_msg(timeout=10)
    return (time.perf_counter() - began) * 1000


print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps([cell("1+1") for _ in range(int(line))]), flush=True)
manager.shutdown_kernel(now=True)

"""Every bound of the guest. The first block repeats shared/src/limits.ts."""

LINE_BYTES = 4 * 1024 * 1024
EVENT_TEXT = 32 * 1024
CONTEXTS = 16

UNACKED_BYTES = 16 * 1024 * 1024
"""More than this unacknowledged: kernels' pipes are not read."""
RESUME_BYTES = 12 * 1024 * 1024
EXECUTIONS_REMEMBERED = 10_000
QUEUED_PER_CONTEXT = 256
CALLS_IN_FLIGHT = 64

PROXY_PORT = 61080
"""On the sandbox's loopback, outside the range from which the kernel takes ports; repeats shared/src/limits.ts."""
PROXIED = 64
"""Connections through it at once."""

KERNEL_LINE_BYTES = 32 * 1024 * 1024
OLD_PIPES_PER_CONTEXT = 16
LATE_BYTES_QUEUED = 256 * 1024
LATE_BURST = 256 * 1024
LATE_PER_S = 32 * 1024
LATE_REST_S = 0.05
"""A process left behind that writes without end is read slowly, and most of it dropped: it must not wear out guest and daemon."""
RESULT_BYTES = 1_400_000
"""Of one result as JSON: the daemon lets no more through, since it must fit a frame."""
ERROR_NAME = 256
ERROR_VALUE = 16 * 1024
ERROR_TRACEBACK = 64 * 1024
RESULTS_PER_EXECUTION = 10_000

COALESCE_S = 0.004
"""Output waits this long for more of it before it becomes an event, a cell's last value for its `done`."""
KERNEL_START_S = 60
FAILED_STARTS = 3

FORK_PARENT_MEMORY = 512 * 1024 * 1024
"""With less, its 100 MB are better left to user code."""
FORK_PARENT_GIVES_WAY = 0.75
"""With so much of the memory in use it ends."""
FORK_PARENT_WATCH_S = 0.05
"""How often that is looked at while code runs."""
FORK_PARENT_DELAY_S = 1.0
FORK_PARENT_STARTS = 3
FORK_S = 0.5
"""The guest stands still for so long at most; a fork takes a few milliseconds."""

"""PID 1 of a sandbox, in rooms: limits, io, system, executions, files, artifacts, wires, kernels, processes, tunnels, calls."""

"""Ports of this sandbox on which something listens, and who that is."""

import os
import socket
import sys

from guest import limits
from guest.system import process_tree

TABLES = (("/proc/net/tcp", socket.AF_INET), ("/proc/net/tcp6", socket.AF_INET6))
LISTEN = "0A"
RESOLVER = "127.0.0.11"
"""Docker's own, in every network of its making."""
OWN = ("127.0.0.1", limits.PROXY_PORT)
PORTS = 200
COMMAND = 1000
ANCESTORS = 1000


def ports(owners: "dict[int, str]") -> dict:
    """`owners`: pids of the API's processes, and their ids."""
    found = {}
    for table, family in TABLES:
        for address, port, inode in _listening(table, family):
            if address != RESOLVER and (address, port) != OWN:
                found.setdefault(port, []).append((address, inode))
    shown = sorted(found.items())[:PORTS]
    holders = _holders({inode for _port, sockets in shown for _address, inode in sockets})
    return {"ports": [_described(port, sockets, holders, owners) for port, sockets in shown]}


def _described(port: int, sockets: "list[tuple[str, str]]", holders: "dict[str, int]", owners: "dict[int, str]") -> dict:
    pid = next((holders[inode] for _address, inode in sockets if inode in holders), None)
    return {
        "port": port,
        "addresses": sorted({address for address, _inode in sockets})[:PORTS],
        "pid": pid,
        "command": None if pid is None else _command(pid),
        "process_id": None if pid is None else _owner(pid, owners),
    }


def _listening(table: str, family: int):
    try:
        with open(table, encoding="ascii") as file:
            next(file, None)
            for line in file:
                fields = line.split()
                if len(fields) > 9 and fields[3] == LISTEN:
                    address, port = fields[1].rsplit(":", 1)
                    yield _address(address, family), int(port, 16), fields[9]
    except OSError:
        return


def _address(text: str, family: int) -> str:
    """Words of 32 bits, each as this machine would write its number."""
    words = (int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8))
    return socket.inet_ntop(family, b"".join(words))


def _holders(inodes: "set[str]") -> "dict[str, int]":
    """Which process has a socket open; of several the oldest, which began to listen."""
    wanted = {"socket:[%s]" % inode: inode for inode in inodes}
    holders = {}
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        folder = "/proc/%d/fd" % pid
        try:
            for fd in os.listdir(folder):
                inode = wanted.get(_link(os.path.join(folder, fd)))
                if inode is not None:
                    holders.setdefault(inode, pid)
        except OSError:
            continue
        if len(holders) == len(wanted):
            break
    return holders


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _command(pid: int) -> "str | None":
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = file.read(4 * COMMAND)
    except OSError:
        return None
    return words.replace(b"\0", b" ").strip().decode("utf-8", "replace")[:COMMAND] or None


def _owner(pid: int, owners: "dict[int, str]") -> "str | None":
    for _ in range(ANCESTORS):
        fields = process_tree.stat_fields(pid)
        if pid in owners or not fields:
            return owners.get(pid)
        session = int(fields[3])
        if session in owners:
            return owners[session]
        pid = int(fields[1])
    return None

"""Every question that the daemon may ask, and the function of (guest, params, reply) that answers it."""

from guest.artifacts import reading
from guest.artifacts.artifacts import ARTIFACTS
from guest.calls import process_calls, state_transfer
from guest.calls.complete import complete
from guest.calls.enter import enter
from guest.calls.file_calls import FileCalls
from guest.calls.state import state
from guest.files import archives, files, transfers, watches
from guest.system import listening
from guest.tunnels.tunnels import open_tunnel


def methods(on_files: FileCalls) -> dict:
    return {
        "ping": lambda _guest, _params, reply: reply({}),
        "state": state,
        "complete": complete,
        "state.dump": state_transfer.dump(on_files),
        "state.load": state_transfer.load(on_files),
        "session.enter": enter,
        "ps.start": process_calls.start,
        "ps.get": process_calls.get,
        "ps.list": process_calls.listing,
        "ps.remove": process_calls.remove,
        "ps.stdin": process_calls.stdin,
        "ps.signal": process_calls.send_signal,
        "ps.resize": process_calls.resize,
        "ps.output": process_calls.output,
        "ports.list": _ports(on_files),
        "tunnel.open": open_tunnel,
        "fs.stat": on_files.quickly(files.status),
        "fs.list": on_files.quickly(files.listing),
        "fs.mkdir": on_files.quickly(files.mkdir),
        "fs.move": on_files.quickly(files.move),
        "fs.remove": on_files.quickly(files.remove),
        "fs.read": on_files.reading(transfers.read),
        "fs.write": on_files.streaming(transfers.write),
        "fs.tar": on_files.streaming(archives.tar),
        "fs.untar": on_files.streaming(archives.untar),
        "fs.watch": on_files.watching(watches.watch),
        "artifacts.scan": on_files.quickly(ARTIFACTS.scan_call),
        "artifacts.read": on_files.keeping(reading.read),
        # On the loop itself, so that whatever the daemon sends next finds the files gone.
        "artifacts.settle": lambda _guest, params, reply: reply(ARTIFACTS.settle(params)),
    }


def _ports(on_files: FileCalls):
    """Who listens is found by looking at every process, which may take a while."""

    def method(guest, params, reply) -> None:
        owners = {process.pid: process.id for process in guest.processes.all() if process.exit is None}
        on_files.quickly(lambda _params, _answer: listening.ports(owners))(guest, params, reply)

    return method

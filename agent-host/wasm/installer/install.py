"""pip for Python in WebAssembly, on the host: it unpacks wheels and runs none of their code. Its argument is JSON.

Markers are judged as that Python would, and connections go only where a session with network could go.
"""

import ipaddress
import json
import socket
import sys

from pip._internal.cli.main import main
from pip._vendor.packaging import markers

request = json.loads(sys.argv[1])
_refused = [ipaddress.ip_network(one) for one in request["refused"]]
_never = [ipaddress.ip_network(one) for one in request["never"]]
_allowed = [ipaddress.ip_network(one) for one in request["allowed"]]
_look_up = socket.getaddrinfo
_environment = markers.default_environment


def _may_reach(text: str) -> bool:
    address = ipaddress.ip_address(text.split("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    lies_in = lambda ranges: any(address.version == one.version and address in one for one in ranges)
    return not lies_in(_never) and (lies_in(_allowed) or not lies_in(_refused))


def _guarded(host, *args, **kwargs):
    """Where names become the addresses of the connection itself: one that changes between two looks gains nothing."""
    found = _look_up(host, *args, **kwargs)
    for *_, place in found:
        if not _may_reach(place[0]):
            raise OSError("error: %s is at a private address; SANDBAR_EGRESS_ALLOW opens it" % host)
    return found


socket.getaddrinfo = _guarded
markers.default_environment = lambda: {**_environment(), **request["markers"]}
sys.exit(main(request["arguments"]))

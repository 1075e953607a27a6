"""`urllib.request` in WebAssembly, where there are no sockets: it asks JavaScript's `fetch`, once code imports it."""

import importlib.abc
import importlib.util
import sys

MODULE = "urllib.request"
_OWN = {"connection", "host", "content-length"}


class UrllibOverFetch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module) -> None:
            # One loader may serve a whole library.
            del loader.exec_module
            execute(module)
            handler = module.HTTPHandler
            handler.http_open = handler.https_open = _open
            handler.https_request = handler.http_request

        loader.exec_module = exec_module
        return spec


def _open(_handler, request):
    import email.message
    import http.client
    import io
    import urllib.error
    import urllib.response

    import js
    from pyodide.ffi import JsException, run_sync, to_js

    headers = [[name, value] for name, value in request.header_items() if name.lower() not in _OWN]
    # Redirects are urllib's own affair.
    options = {"method": request.get_method(), "headers": headers, "redirect": "manual"}
    if request.data is not None:
        options["body"] = bytes(request.data) if hasattr(request.data, "__len__") else b"".join(request.data)
    try:
        answer = run_sync(js.fetch(request.full_url, to_js(options, dict_converter=js.Object.fromEntries)))
        body = run_sync(answer.arrayBuffer()).to_bytes()
    except JsException as failure:
        raise urllib.error.URLError(failure.message) from None
    found = http.client.HTTPMessage()
    for name, value in answer.headers:
        email.message.Message.add_header(found, name, value)
    response = urllib.response.addinfourl(io.BytesIO(body), found, request.full_url, answer.status)
    response.msg = answer.statusText or http.client.responses.get(answer.status, "")
    return response

"""Serves the bundled pages from an origin of their own, as a developer's frontend is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from guides.bundles import PageSource, build

__all__ = ["PageServer", "page_server"]

HTML = b"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A client of Mobox</title><link rel="icon" href="data:,"></head>
<body><div id="root"></div><script type="module" src="page.js"></script></body>
</html>
"""


class PageServer:
    """Builds pages when they are first opened, and knows their addresses."""

    def __init__(self, node: str, origin: str, folders: dict[str, Path]) -> None:
        self.origin = origin
        self._node = node
        self._folders = folders

    def address(self, name: str, page: PageSource, **settings: str) -> str:
        """Where a page is; its code reads the settings from its address."""
        if name not in self._folders:
            self._folders[name] = build(self._node, page)
        return f"{self.origin}/{name}/?{urlencode(settings)}"


@contextmanager
def page_server(node: str) -> Iterator[PageServer]:
    folders: dict[str, Path] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _, name, file, *_ = [*urlsplit(self.path).path.split("/"), "", ""]
            folder = folders.get(name)
            is_script = file.endswith(".js")
            if folder is None or not (file == "" or (is_script and (folder / file).is_file())):
                self.send_error(404)
                return
            body = (folder / file).read_bytes() if is_script else HTML
            kind = "text/javascript" if is_script else "text/html"
            self.send_response(200)
            self.send_header("content-type", f"{kind}; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, *_: object) -> None:
            """Nothing: the tests read no access log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield PageServer(node, f"http://127.0.0.1:{server.server_port}", folders)
        server.shutdown()
        thread.join()

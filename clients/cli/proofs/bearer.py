"""Passes requests on with an API key, for clients of MCP that cannot send one: bearer.py URL KEY. Prints its own address first."""

import http.client
import http.server
import sys
import urllib.parse

target, key = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2]


class Handler(http.server.BaseHTTPRequestHandler):
    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        for name, value in headers.items():
            # Names of this process become those of the target; others stay, so that the target refuses them.
            if name.lower() in ("host", "origin"):
                headers[name] = value.replace(f":{server.server_port}", f":{target.port}")
        connection = http.client.HTTPConnection(target.hostname, target.port)
        connection.request(self.command, self.path, body, headers | {"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = pass_on

    def log_message(self, *_: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}{target.path}", flush=True)
server.serve_forever()

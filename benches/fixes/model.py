"""A scripted model that knows the fix: it makes the edits, submits them, and gives up if they are refused.

It speaks chat completions, streamed or not, and keeps what it was told about its submission.
"""

import difflib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_CONTEXT = 40


def edits(before, after):
    """Pairs of an old text, which is in the file once, and its replacement."""
    found, text = [], before
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    shift = 0
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        lines = text.splitlines(keepends=True)
        start, end = i + shift, j + shift
        for context in range(1, MAX_CONTEXT):
            first, last = max(start - context, 0), min(end + context, len(lines))
            was = "".join(lines[first:last])
            if was and text.count(was) == 1:
                break
        now = "".join(lines[first:start]) + "".join(new[k:m]) + "".join(lines[end:last])
        found.append((was, now))
        text = text.replace(was, now, 1)
        shift += (m - k) - (j - i)
    assert text == after
    return found


class Model:
    """The server, and the script of one fix at a time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.turns, self.told = [], []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.answer(self, asked)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def learn(self, path, before, after):
        with self.lock:
            self.told = []
            self.turns = [("edit_file", {"path": path, "old": old, "new": new}) for old, new in edits(before, after)]
            self.turns.append(("submit", {"summary": "The fix."}))

    def answer(self, handler, asked):
        with self.lock:
            for message in asked["messages"]:
                said = message.get("content")
                if message["role"] in ("tool", "user") and isinstance(said, str) and said not in self.told:
                    self.told.append(said)
            give_up = ("submit", {"summary": "It was refused.", "no_fix": True})
            tool, arguments = self.turns.pop(0) if self.turns else give_up
        call = {"id": f"call_{id(arguments)}", "type": "function"}
        call["function"] = {"name": tool, "arguments": json.dumps(arguments)}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "answer", "model": "scripted", "usage": usage, "created": 1}
        if asked.get("stream"):
            delta = {"role": "assistant", "tool_calls": [{"index": 0, **call}]}
            chunks = [
                {**answer, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]},
                {
                    **answer,
                    "object": "chat.completion.chunk",
                    "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
                },
            ]
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
            kind = "text/event-stream"
        else:
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            body, kind = json.dumps({**answer, "object": "chat.completion", "choices": [choice]}), "application/json"
        body = body.encode()
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

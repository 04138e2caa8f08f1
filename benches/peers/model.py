"""A scripted model that answers at once, in the three formats that agents speak: chat completions, responses, and
messages. It sees a failing test, corrects one operator, runs the tests again, and stops.

Only requests that offer a tool for shell commands follow the script; agents also ask for titles and the like."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TESTS = "python3 -m pytest -q"
EDIT = "sed -i 's/a - b/a + b/' calc.py"
COMMANDS = [TESTS, EDIT, TESTS]
FINISHED = "The operator was wrong; the tests pass."
# For an agent that takes edits as text, and runs the tests itself.
EDIT_AS_TEXT = """calc.py
```python
<<<<<<< SEARCH
    return a - b
=======
    return a + b
>>>>>>> REPLACE
```
"""
# greenlight's own tools, for the same steps: it runs the tests itself before, and after.
OWN_STEPS = [
    ("read_file", {"path": "calc.py"}),
    ("edit_file", {"path": "calc.py", "old": "return a - b", "new": "return a + b"}),
    ("run_tests", {}),
    ("submit", {"summary": "Add instead of subtracting"}),
]
# How an agent's own tool for commands is called.
SHELL = re.compile(r"(^|_)(shell|bash|exec_command|terminal)", re.IGNORECASE)


class Script:
    """What one run of an agent is answered. `last` is how it is told that nothing is left to do."""

    def __init__(self, last=None):
        self.last = last
        self.turn = 0
        self.first_call = None
        self.prompt_bytes = 0

    def answer(self, request, size):
        """The text and the tool call (name and arguments) for a request."""
        tools = [described(tool) for tool in request.get("tools") or []]
        names = [name for name, _ in tools]
        shell = next(((name, schema) for name, schema in tools if SHELL.search(name)), None)
        own = "submit" in names
        if tools and not own and shell is None:
            return "ok", None
        if not tools and self.last != "text":
            return "ok", None
        if self.first_call is None:
            self.first_call = time.monotonic()
            self.prompt_bytes = size
        turn, self.turn = self.turn, self.turn + 1
        if own:
            return ("", OWN_STEPS[turn]) if turn < len(OWN_STEPS) else (FINISHED, None)
        if not tools:
            return (EDIT_AS_TEXT if turn == 0 else FINISHED), None
        commands = COMMANDS + ([self.last] if self.last else [])
        if turn >= len(commands):
            return FINISHED, None
        return "Next.", (shell[0], arguments(shell[1], commands[turn]))


def described(tool):
    """The name of a tool and the schema of its arguments, in any of the three formats."""
    tool = tool.get("function") or tool
    schema = tool.get("parameters") or tool.get("input_schema") or {}
    return tool.get("name") or tool.get("type") or "", schema


def arguments(schema, command):
    properties = schema.get("properties") or {}
    name = next((name for name in ("command", "cmd", "script") if name in properties), "command")
    is_list = (properties.get(name) or {}).get("type") == "array"
    made = {name: ["bash", "-c", command] if is_list else command}
    for other in schema.get("required") or []:
        if other not in made and (properties.get(other) or {}).get("type") == "string":
            made[other] = "Run it"
    return made


def completions(text, call, streams):
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    message = {"role": "assistant", "content": text or None}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [{"index": 0, "id": "call-1", "type": "function", "function": function}]
    reason = "tool_calls" if call else "stop"
    base = {"id": "c", "created": 1_700_000_000, "model": "scripted"}
    if not streams:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    base["object"] = "chat.completion.chunk"
    chunks = [
        {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**base, "choices": [], "usage": usage},
    ]
    return [(None, chunk) for chunk in chunks] + [(None, "[DONE]")]


def responses(text, call, _streams):
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0]}
        item |= {"arguments": json.dumps(call[1]), "status": "completed"}
    else:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    events = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [(event["type"], event) for event in events]


def messages(text, call, streams):
    block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]} if call else None
    block = block or {"type": "text", "text": text}
    reason = "tool_use" if call else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 10}
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "usage": usage}
    if not streams:
        return {**base, "content": [block], "stop_reason": reason, "stop_sequence": None}
    if call:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    else:
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
    events = [
        {"type": "message_start", "message": {**base, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


FORMATS = {"/chat/completions": completions, "/responses": responses, "/messages": messages}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments):
        pass

    def send(self, body, kind, status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
        self.send(json.dumps(models).encode(), "application/json")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        form = next((form for end, form in FORMATS.items() if path.endswith(end)), None)
        if form is None:
            return self.send(b"{}", "application/json", 404)
        request = json.loads(body)
        with self.server.lock:
            text, call = self.server.script.answer(request, len(body))
        answer = form(text, call, request.get("stream", False))
        if isinstance(answer, dict):
            return self.send(json.dumps(answer).encode(), "application/json")
        lines = []
        for name, event in answer:
            data = event if isinstance(event, str) else json.dumps(event)
            lines.append((f"event: {name}\n" if name else "") + f"data: {data}\n\n")
        return self.send("".join(lines).encode(), "text/event-stream")


def serve():
    """A server on a free port. Its `script` is replaced before each run."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.lock = threading.Lock()
    server.script = Script()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

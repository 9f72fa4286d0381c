"""A double of the parts of Hermes (0.23) that a plugin meets: the context, hook dispatch, one tool call, and the checks
of `hermes plugins validate` and `doctor --ci`. Written from the observed contract; nothing of Hermes is in it."""

import contextlib
import importlib.util
import inspect
import json
import pathlib
import socket
import subprocess
import sys
import types

sys.dont_write_bytecode = True  # the plugin's tree stays as it is shipped

PLUGIN = pathlib.Path(__file__).resolve().parent.parent / "hermes"
VALID_HOOKS = {"pre_tool_call", "post_tool_call", "on_session_start", "on_session_end"}


def manifest():
    """plugin.yaml, as far as this one goes: text, one-line lists, and nested names."""
    top, found = None, {}
    for line in (PLUGIN / "plugin.yaml").read_text().splitlines():
        name, _, value = line.strip().partition(":")
        value = value.strip()
        if value.startswith("["):
            value = [v.strip() for v in value.strip("[]").split(",")]
        elif value.startswith('"'):
            value = value.strip('"')
        if not line.startswith(" "):
            top, found[name] = name, value
        else:
            found[top] = found[top] or {}
            found[top][name] = value
    return found


class Context:
    """What register() is given. It records, and refuses what the real one refuses."""

    def __init__(self, settings=None):
        self.settings, self.tools, self.hooks = settings or {}, {}, {}

    def get_config(self, key, default=None):
        return self.settings.get(key, default)

    def register_tool(self, name, toolset, schema, handler, check_fn=None, requires_env=None, is_async=False,
                      description="", emoji="", override=False):
        assert name not in self.tools, "registered twice: " + name
        assert schema["name"] == name and schema["parameters"]["type"] == "object", schema
        assert toolset and description and callable(handler) and not override and not is_async
        self.tools[name] = (schema, handler)

    def register_hook(self, name, callback):
        assert name in VALID_HOOKS, "no such hook: " + name
        kinds = [p.kind for p in inspect.signature(callback).parameters.values()]
        assert inspect.Parameter.VAR_KEYWORD in kinds, name + " does not take **kwargs"
        self.hooks.setdefault(name, []).append(callback)

    # One call, as the tool executor makes it.

    def pre(self, tool, args, **ids):
        """The message of the first veto, or None. A callback that raises is a veto; a veto without a message is none."""
        for callback in self.hooks.get("pre_tool_call", []):
            try:
                said = callback(tool_name=tool, args=args, **ids, middleware_trace=[], telemetry_schema_version="hermes.observer.v1")
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                return "pre_tool_call plugin callback raised " + type(problem).__name__
            if isinstance(said, dict) and said.get("action") == "block" and said.get("message"):
                return said["message"]
        return None

    def post(self, tool, args, **fields):
        for callback in self.hooks.get("post_tool_call", []):
            with contextlib.suppress(Exception):
                callback(tool_name=tool, args=args, **fields)

    def call(self, tool, args, session="sess-1", call="call_1"):
        ids = {"task_id": "task-1", "session_id": session, "tool_call_id": call, "turn_id": "turn-1", "api_request_id": "api-1"}
        veto = self.pre(tool, args, **ids)
        if veto:
            result = json.dumps({"error": veto})
            status = {"status": "blocked", "error_type": "plugin_block", "error_message": veto}
        else:
            result = self.tools[tool][1](args, task_id="task-1", session_id=session, user_task="")  # no tool_call_id here
            assert isinstance(result, str), result
            failed = json.loads(result).get("error")
            status = {"status": "error" if failed else "ok", "error_type": "tool_error" if failed else None, "error_message": failed}
        self.post(tool, args, result=result, duration_ms=1, **status, **ids)
        return json.loads(result)


@contextlib.contextmanager
def quarantine():
    """register() may neither connect anywhere nor start anything."""

    def refuse(*_, **__):
        raise AssertionError("a socket or a process during registration")

    saved = socket.socket.connect, subprocess.Popen.__init__
    socket.socket.connect, subprocess.Popen.__init__ = refuse, refuse
    try:
        yield
    finally:
        socket.socket.connect, subprocess.Popen.__init__ = saved


def storage(root):
    """plugins.plugin_storage, with its data under root."""
    module = types.ModuleType("plugins.plugin_storage")

    def plugin_data_dir(name):
        path = pathlib.Path(root) / "plugin-data" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    module.plugin_data_dir = plugin_data_dir
    sys.modules["plugins"] = types.ModuleType("plugins")
    sys.modules["plugins.plugin_storage"] = module


def load(settings=None):
    """Import the plugin as Hermes does, and register it."""
    spec = importlib.util.spec_from_file_location("hermes_plugins.sallyport", PLUGIN / "__init__.py", submodule_search_locations=[str(PLUGIN)])
    module = importlib.util.module_from_spec(spec)
    ctx = Context(settings)
    with quarantine():
        spec.loader.exec_module(module)
        module.register(ctx)
    return ctx, module

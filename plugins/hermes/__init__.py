"""Sallyport for Hermes: eight tools and two hooks, each a call of the sallyport binary, which alone decides.

The binary gets the environment of Hermes as it is: SALLYPORT_TIER says what it may do, and SALLYPORT_DAEMON where to ask.
Whatever goes wrong before a call blocks it. Handlers always return a JSON object as text and never raise.
"""

import json
import os
import pathlib
import subprocess

ORDER_TOOLS = ("paper_place_order_a", "paper_place_order_b")
CONTROL_TOOLS = ("trade_propose", "kill_switch_engage")
# limit:hermes-hook-seconds A hook that the binary has not answered within 5 seconds blocks; the binary itself denies after 2.
HOOK_SECONDS = 5
# limit:hermes-tool-seconds A tool that the binary has not answered within 60 seconds is an error; the binary bounds each step below.
TOOL_SECONDS = 60
# limit:hermes-event-bytes Arguments of over 1,000,000 bytes are not passed on; the binary then denies them if the tool is guarded.
EVENT_BYTES = 1_000_000
EVENT_NAMES = ("tool_name", "args", "session_id", "tool_call_id", "result", "status", "error_type", "error_message")


def _home():
    """The data directory: a configured one, else the plugin's own, which only its owner may read. None leaves it to the
    binary, which asks a configured daemon."""
    configured = os.environ.get("SALLYPORT_HOME")
    if configured or os.environ.get("SALLYPORT_DAEMON"):
        return configured or None
    from plugins.plugin_storage import plugin_data_dir

    home = pathlib.Path(plugin_data_dir("sallyport"))
    home.chmod(0o700)
    return str(home)


def _binary(ctx):
    name = ctx.get_config("binary", "sallyport")
    if not isinstance(name, str) or not name:
        raise ValueError("the setting binary is not a path")
    return name


def _run(ctx, words, text, seconds):
    home = _home()
    command = [_binary(ctx), *words, *(["--data-dir", home] if home else [])]
    return subprocess.run(command, input=text.encode(), capture_output=True, timeout=seconds, check=False)


def _object(raw):
    """One JSON object, or None."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _event(name, kwargs):
    """The event as the binary reads it. Arguments that cannot be passed on are left out: then no order is allowed."""
    event = {"hook_event_name": name, **{k: kwargs[k] for k in EVENT_NAMES if k in kwargs}}
    try:
        text = json.dumps(event, default=str, allow_nan=False)
        if len(text) <= EVENT_BYTES:
            return text
    except (TypeError, ValueError, RecursionError):
        pass
    return json.dumps({**event, "args": None, "result": None, "error_message": None}, default=str)


def _blocked(why):
    why = why.strip() if isinstance(why, str) else ""
    return {"action": "block", "message": why or "sallyport gave no answer; the call is blocked"}


def _decide(ctx, kwargs):
    """Ask the binary about a call. None lets it pass; everything else blocks it."""
    home = _home()
    if kwargs.get("tool_name") in ORDER_TOOLS and home and not os.path.exists(os.path.join(home, "journal.db")):
        _run(ctx, ["init"], "", HOOK_SECONDS)
    done = _run(ctx, ["hook", "hermes"], _event("pre_tool_call", kwargs), HOOK_SECONDS)
    if done.returncode == 0 and not done.stdout:
        return None
    answer = _object(done.stdout)
    if done.returncode == 0 and answer == {"decision": "allow"}:
        return None
    said = answer.get("message") if answer else None
    return _blocked(said or done.stderr.decode(errors="replace")[:1200])


def _failed(name, why):
    """The answer of a tool that has none: for an order that may have been sent, it says so."""
    text = "sallyport gave no answer: " + why
    if name in ORDER_TOOLS:
        text += "; whether an order was sent is not known, so look it up with trade_audit before anything else"
    elif name in CONTROL_TOOLS:
        text += "; whether it was done is not known, so look it up with trade_audit, or call it again"
    state = "EXECUTION_OUTCOME_UNKNOWN" if name in ORDER_TOOLS else "EXECUTION_BLOCKED"
    reason = {"code": "INTERNAL_ERROR", "message": text}
    return json.dumps({"error": text, "verdict": "deny", "state": state, "order": None, "reasons": [reason]})


def _handler(ctx, name):
    def handler(args=None, **kwargs):
        try:
            words = ["tool", name, "--surface", "plugin", "--harness", "hermes"]
            for flag, key in (("--session", "session_id"), ("--tool-call-id", "tool_call_id")):
                if kwargs.get(key):
                    words += [flag + "=" + str(kwargs[key])]
            done = _run(ctx, words, json.dumps({} if args is None else args, default=str), TOOL_SECONDS)
            text = done.stdout.decode()
            if _object(text) is None:
                return _failed(name, done.stderr.decode(errors="replace").strip()[:400] or "exit code %d" % done.returncode)
            return text.strip()
        except BaseException as problem:  # an interrupted order may have been sent, so even then there is an answer
            return _failed(name, "%s: %s" % (type(problem).__name__, str(problem)[:400]))

    return handler


def register(ctx):
    """Register the hooks first: without the tools nothing is lost, without the hooks nothing is guarded."""

    def pre_tool_call(**kwargs):
        try:
            return _decide(ctx, kwargs)
        except KeyboardInterrupt:
            raise  # the person stops the agent, and the call with it
        except BaseException as problem:
            return _blocked("sallyport cannot be asked, so the call is blocked: %s: %s" % (type(problem).__name__, str(problem)[:400]))

    def post_tool_call(**kwargs):
        try:
            _run(ctx, ["hook", "hermes"], _event("post_tool_call", kwargs), HOOK_SECONDS)
        except Exception:
            pass  # the gate shows an outcome that never arrived as unknown
        return None

    ctx.register_hook("pre_tool_call", pre_tool_call)
    ctx.register_hook("post_tool_call", post_tool_call)
    for tool in json.loads(pathlib.Path(__file__).with_name("tools.json").read_text(encoding="utf-8")):
        ctx.register_tool(tool["name"], "sallyport", tool, _handler(ctx, tool["name"]), description=tool["description"])

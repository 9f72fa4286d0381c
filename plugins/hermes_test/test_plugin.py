"""The Hermes plugin against a double of its host, with stub binaries and with the real one (SALLYPORT_BINARY)."""

import json
import os
import pathlib
import stat
import subprocess
import tempfile
import time
import unittest
from unittest import mock

import double
import scan

ORDER = {"symbol": "AAPL", "side": "buy", "quantity": 10, "order_type": "limit", "limit_price": "150.00"}
TOOLS = ["paper_place_order_a", "paper_place_order_b", "trade_check", "trade_policy_get", "trade_audit", "proposal_get", "trade_propose",
         "kill_switch_engage"]


class Base(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        double.storage(self.root)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SALLYPORT")}
        patch = mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        self.home = self.root / "plugin-data" / "sallyport"

    def stub(self, body):
        """A binary that logs how it was called and then does what body says."""
        path = self.root / "sallyport"
        path.write_text('#!/bin/sh\necho "$@" >> "%s"\ncat > "%s"\n%s\n' % (self.root / "calls", self.root / "stdin", body))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def calls(self):
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def stdin(self):
        return json.loads((self.root / "stdin").read_text())

    def loaded(self, body):
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "journal.db").touch()
        return double.load({"binary": self.stub(body)})


class Contract(Base):
    def test_what_is_declared_is_what_is_registered(self):
        ctx, _ = double.load()
        declared = double.manifest()
        self.assertEqual(declared["provides_tools"], list(ctx.tools))
        self.assertEqual(declared["provides_hooks"], list(ctx.hooks))
        self.assertEqual(list(ctx.tools), TOOLS)
        self.assertEqual(declared["name"], "sallyport")
        self.assertEqual(declared["requires_hermes"], ">=0.23.1")
        self.assertEqual(set(declared["config_schema"]), {"binary", "type", "default", "description"})

    def test_manifest_has_only_known_fields(self):
        known = {"name", "version", "description", "license", "kind", "requires_hermes", "provides_tools", "provides_hooks", "config_schema"}
        self.assertEqual(set(double.manifest()) - known, set())

    def test_registration_starts_nothing_and_survives_a_missing_host_module(self):
        with mock.patch.dict("sys.modules", {"plugins": None, "plugins.plugin_storage": None}):
            ctx, _ = double.load()
            self.assertIn("cannot be asked", ctx.pre("terminal", {}))  # Hermes before 0.21 has no storage
            self.assertIn("error", json.loads(ctx.tools["trade_check"][1]({})))

    def test_hooks_stand_before_the_tools(self):
        order = []

        class Watch(double.Context):
            def register_tool(self, name, *a, **k):
                order.append("tool")

            def register_hook(self, name, callback):
                order.append("hook")

        _, module = double.load()
        module.register(Watch())
        self.assertEqual(order[:2], ["hook", "hook"])

    def test_install_scanner_finds_it_safe(self):
        verdict, found = scan.scan(double.PLUGIN)
        self.assertEqual(verdict, "safe", found)
        self.assertEqual([f[1] for f in found], ["__init__.py"], found)  # the one start of a process
        size = sum(f.stat().st_size for f in double.PLUGIN.rglob("*"))
        self.assertLess(size, 32 * 1024)

    def test_scanner_double_sees_what_the_real_one_does(self):
        for bad, want in {
            'x = os.environ["A"]': "caution", "for k in os.environ: pass": "caution", 'os.environ.get("API_KEY")': "dangerous",
            'os.environ.get("BROKER_TOKEN")': "dangerous", "s.socket.connect((h, 1))": "caution", "os.system('x')": "caution",
            "# see AGENTS.md": "dangerous", "# rm -rf /": "dangerous", "eval('1')": "caution", "subprocess.run(['x'])": "safe",
            'os.environ.get("SALLYPORT_HOME")': "safe", "# plain": "safe",
        }.items():
            with self.subTest(bad), tempfile.TemporaryDirectory() as d:
                (pathlib.Path(d) / "a.py").write_text(bad + "\n")
                self.assertEqual(scan.scan(d)[0], want)
        with tempfile.TemporaryDirectory() as d:
            (pathlib.Path(d) / "lib.so").write_bytes(b"\x7fELF")
            self.assertEqual(scan.scan(d)[0], "dangerous")


class Hooks(Base):
    def test_silent_binary_lets_the_call_pass(self):
        ctx, _ = self.loaded("exit 0")
        self.assertIsNone(ctx.pre("terminal", {"command": "ls"}, session_id="s", tool_call_id="c"))
        self.assertEqual(self.calls(), ["hook hermes --data-dir %s" % self.home])
        self.assertEqual(self.stdin(), {"hook_event_name": "pre_tool_call", "tool_name": "terminal", "args": {"command": "ls"},
                                        "session_id": "s", "tool_call_id": "c"})

    def test_allow_is_no_veto(self):
        ctx, _ = self.loaded("""echo '{"decision":"allow"}'""")
        self.assertIsNone(ctx.hooks["pre_tool_call"][0](tool_name="paper_place_order_a", args=ORDER))

    def test_everything_else_blocks_with_a_message(self):
        for name, body in {
            "the universal deny": """echo '{"decision":"block","reason":"R","action":"block","message":"R"}'; echo R >&2; exit 2""",
            "exit 2 without output": "exit 2",
            "exit 2 with a reason": "echo why >&2; exit 2",
            "exit 1": "exit 1",
            "exit 1 with an allow": """echo '{"decision":"allow"}'; exit 1""",
            "exit 2 with an allow": """echo '{"decision":"allow"}'; exit 2""",
            "garbage": "echo 'Traceback {{{'",
            "two objects": """echo '{"decision":"allow"}{"decision":"allow"}'""",
            "an array": "echo '[]'",
            "null": "echo null",
            "an empty object": "echo '{}'",
            "an empty message": """echo '{"action":"block","message":""}'; exit 2""",
            "a blank message": """echo '{"action":"block","message":"  "}'; exit 2""",
            "a message of another kind": """echo '{"action":"block","message":7}'; exit 2""",
            "an allow with more": """echo '{"decision":"allow","action":"modify"}'""",
            "another decision": """echo '{"decision":"approve"}'""",
            "bytes that are no text": r"printf '\377\376'; printf '\377' >&2; exit 2",
            "white space": "echo",
            "killed": "kill -9 $$",
        }.items():
            with self.subTest(name):
                ctx, _ = self.loaded(body)
                said = ctx.hooks["pre_tool_call"][0](tool_name="paper_place_order_a", args=ORDER)
                self.assertEqual(said["action"], "block")
                self.assertTrue(isinstance(said["message"], str) and said["message"].strip())
                if name == "the universal deny":
                    self.assertEqual(said["message"], "R")

    def test_missing_binary_and_bad_settings_block(self):
        for settings in ({"binary": "/no/such/sallyport"}, {"binary": ""}, {"binary": None}, {"binary": 7}, {"binary": str(self.root)}):
            ctx, _ = double.load(settings)
            self.assertIn("cannot be asked", ctx.pre("terminal", {}))

    # attack:hermes-hook-seconds
    # attack:hermes-tool-seconds
    def test_slow_binary_blocks(self):
        ctx, module = self.loaded("exec sleep 30")
        self.assertEqual((module.HOOK_SECONDS, module.TOOL_SECONDS), (5, 60))
        module.HOOK_SECONDS = module.TOOL_SECONDS = 0.2
        began = time.monotonic()
        self.assertIn("TimeoutExpired", ctx.pre("terminal", {}))
        self.assertIn("TimeoutExpired", json.loads(ctx.tools["trade_audit"][1]({}))["error"])
        ctx.post("terminal", {})
        self.assertLess(time.monotonic() - began, 20)

    def test_every_exception_blocks_except_the_persons_own_interrupt(self):
        ctx, module = self.loaded("exit 0")
        for problem in (RuntimeError("x"), SystemExit(3), MemoryError(), GeneratorExit(), UnicodeError(), OSError()):
            with mock.patch.object(module, "_run", side_effect=problem):
                said = ctx.hooks["pre_tool_call"][0](tool_name="terminal", args={})
                self.assertEqual(said["action"], "block")
                self.assertIn(type(problem).__name__, said["message"])
                for name in TOOLS:
                    self.assertIn("error", json.loads(ctx.tools[name][1]({})))
        with mock.patch.object(module, "_run", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            ctx.pre("terminal", {})

    # attack:hermes-event-bytes
    def test_what_cannot_be_passed_on_is_left_out_and_never_allows(self):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        for args in ({"x": float("nan")}, {"x": "y" * 2_000_000}, {"x": deep}, {1: {(): 2}}):
            ctx, _ = self.loaded("exit 0")
            self.assertIsNone(ctx.pre("write_file", args))  # a tool without a guard is not held up
            self.assertIsNone(self.stdin()["args"])

    def test_after_a_call_nothing_is_returned_whatever_happens(self):
        for body in ("exit 0", "exit 1", "echo '{\"action\":\"block\",\"message\":\"late\"}'; exit 2"):
            ctx, _ = self.loaded(body)
            said = ctx.hooks["post_tool_call"][0](tool_name="t", args={}, result="{}", status="ok", session_id="s", tool_call_id="c", duration_ms=3)
            self.assertIsNone(said)
            self.assertEqual(self.stdin(), {"hook_event_name": "post_tool_call", "tool_name": "t", "args": {}, "session_id": "s",
                                            "tool_call_id": "c", "result": "{}", "status": "ok"})
        ctx, _ = double.load({"binary": "/no/such"})
        self.assertIsNone(ctx.hooks["post_tool_call"][0](tool_name="t"))

    def test_configured_home_wins(self):
        ctx, _ = self.loaded("exit 0")
        with mock.patch.dict(os.environ, {"SALLYPORT_HOME": "/elsewhere"}):
            ctx.pre("terminal", {})
        self.assertEqual(self.calls(), ["hook hermes --data-dir /elsewhere"])

    def test_environment_reaches_the_binary(self):
        ctx, _ = self.loaded('echo "$SALLYPORT_TIER $SALLYPORT_DAEMON $SALLYPORT_TOKEN_FILE $SALLYPORT_AGENT" >> "%s"' % (self.root / "seen"))
        wanted = {"SALLYPORT_TIER": "1", "SALLYPORT_DAEMON": "unix:/run/s.sock", "SALLYPORT_TOKEN_FILE": "/t", "SALLYPORT_AGENT": "desk"}
        with mock.patch.dict(os.environ, wanted):
            ctx.pre("paper_place_order_a", ORDER)
            ctx.tools["trade_propose"][1](ORDER)
            ctx.post("terminal", {})
        self.assertEqual((self.root / "seen").read_text().splitlines(), ["1 unix:/run/s.sock /t desk"] * 3)

    def test_configured_daemon_wins_over_the_plugins_own_directory(self):
        ctx, _ = self.loaded("exit 0")
        (self.home / "journal.db").unlink()
        with mock.patch.dict(os.environ, {"SALLYPORT_DAEMON": "unix:/run/s.sock"}):
            ctx.pre("paper_place_order_a", ORDER)
        with mock.patch.dict(os.environ, {"SALLYPORT_DAEMON": "unix:/run/s.sock", "SALLYPORT_HOME": str(self.home)}):
            ctx.pre("terminal", {})
        self.assertEqual(self.calls(), ["hook hermes", "hook hermes --data-dir %s" % self.home])

    def test_data_directory_is_the_owners_alone(self):
        ctx, _ = self.loaded("exit 0")
        self.home.chmod(0o777)
        ctx.pre("terminal", {})
        self.assertEqual(stat.S_IMODE(self.home.stat().st_mode), 0o700)

    def test_first_order_makes_the_data_directory(self):
        ctx, _ = self.loaded("exit 0")
        (self.home / "journal.db").unlink()
        ctx.pre("terminal", {})
        self.assertEqual(len(self.calls()), 1)
        ctx.pre("paper_place_order_a", ORDER)
        self.assertEqual([c.split(" --")[0] for c in self.calls()[1:]], ["init", "hook hermes"])


class Tools(Base):
    def test_the_answer_is_passed_on_as_it_is(self):
        ctx, _ = self.loaded("""echo '{"verdict":"deny","n":1}'; exit 1""")
        self.assertEqual(ctx.tools["paper_place_order_a"][1](ORDER, session_id="-s 1", task_id="t"), '{"verdict":"deny","n":1}')
        self.assertEqual(self.calls(), ["tool paper_place_order_a --surface plugin --harness hermes --session=-s 1 --data-dir %s" % self.home])
        self.assertEqual(self.stdin(), ORDER)
        ctx.tools["trade_check"][1](ORDER, session_id="s", tool_call_id="c9")
        self.assertIn("--tool-call-id=c9", self.calls()[1])

    def test_no_answer_is_an_error_and_an_order_may_have_been_sent(self):
        for body in ("exit 0", "exit 3", "echo nonsense", "echo '[1]'", "echo '{}{}'", r"printf '\377'", "kill -9 $$"):
            ctx, _ = self.loaded(body)
            for name in TOOLS:
                answer = json.loads(ctx.tools[name][1]({}))
                self.assertTrue(answer["error"] and answer["reasons"][0]["message"])
                self.assertEqual(answer["state"] == "EXECUTION_OUTCOME_UNKNOWN", name.startswith("paper_"))

    def test_whatever_the_arguments_are_there_is_an_answer(self):
        ctx, _ = self.loaded("exit 1")
        loop = {}
        loop["x"] = loop
        for args in (None, {}, [], 7, "x", {"x": float("inf")}, {"x": object()}, {object(): 1}, loop, {"x": "\ud800"}):
            for name in TOOLS:
                self.assertIn("error", json.loads(ctx.tools[name][1](args)))
        self.assertIn("error", json.loads(ctx.tools["trade_audit"][1]()))


@unittest.skipUnless(os.environ.get("SALLYPORT_BINARY"), "SALLYPORT_BINARY names no binary")
class Real(Base):
    BINARY = os.environ.get("SALLYPORT_BINARY")

    def host(self, tier="2"):
        os.environ["SALLYPORT_TIER"] = tier
        ctx, _ = double.load({"binary": self.BINARY})
        return ctx

    def audit(self, ctx, n=20):
        return ctx.call("trade_audit", {"limit": n}, call="audit")["decisions"]

    def test_a_fresh_machine_executes_one_order_once(self):
        ctx = self.host()
        done = ctx.call("paper_place_order_a", ORDER, call="c1")
        self.assertEqual((done["verdict"], done["state"]), ("allow", "EXECUTION_SUCCEEDED"), done)
        rows = self.audit(ctx)
        self.assertEqual([(r["tool_call_id"], r["state"]) for r in rows], [("c1", "EXECUTION_SUCCEEDED")], rows)

    def test_a_breach_is_blocked_and_says_how_to_repair_it(self):
        ctx = self.host()
        veto = ctx.call("paper_place_order_b", {"ticker": "AAPL", "direction": "buy", "qty": "201", "order_type": "limit", "price": "1.00"})
        self.assertTrue(veto["error"].startswith("QUANTITY_EXCEEDS_LIMIT: "), veto)
        rows = self.audit(ctx)
        self.assertEqual([(r["verdict"], r["state"], r["surface"]) for r in rows], [("deny", "EXECUTION_BLOCKED", "hook")])

    def test_without_a_tier_nothing_is_traded(self):
        for tier in ("", "0", "1"):
            ctx = self.host(tier)
            ctx.call("trade_check", ORDER)
            self.assertTrue(ctx.call("paper_place_order_a", ORDER, call="h" + tier)["error"].startswith("TIER_TOO_LOW: "))
            said = json.loads(ctx.tools["paper_place_order_a"][1](ORDER))  # past the hook
            self.assertEqual((said["error"], said["required_tier"], said["current_tier"]), ("permission_denied", 2, int(tier or 0)), said)
        self.assertEqual({r["state"] for r in self.audit(ctx)}, {"EXECUTION_BLOCKED"})

    def test_an_agent_of_tier_1_proposes_and_stops(self):
        ctx = self.host("1")
        ctx.call("trade_check", ORDER)
        held = ctx.call("trade_propose", ORDER, call="p1")
        self.assertEqual((held["verdict"], held["state"]), ("hold", "APPROVAL_PENDING"), held)
        self.assertEqual(ctx.call("proposal_get", {"proposal_id": held["proposal_id"]})["state"], "APPROVAL_PENDING")
        stopped = ctx.call("kill_switch_engage", {"reason": "a test"})
        self.assertEqual(stopped["stops"][0]["scope"], "everything", stopped)
        self.assertEqual(ctx.call("trade_policy_get", {})["error"], "killswitch_active")
        self.assertEqual([r["state"] for r in self.audit(ctx)], ["APPROVAL_PENDING"])

    def test_garbage_is_blocked_and_recorded(self):
        ctx = self.host()
        for i, args in enumerate(({}, {**ORDER, "quantity": float("nan")}, {**ORDER, "quantity": "1e3"}, {**ORDER, "x": 1}, "text", None)):
            self.assertIn("error", ctx.call("paper_place_order_a", args, call="g%d" % i))
        rows = self.audit(ctx)
        self.assertEqual({r["state"] for r in rows}, {"EXECUTION_BLOCKED"})
        self.assertEqual(len(rows), 6)

    def test_a_repeated_hook_is_one_intent(self):
        ctx = self.host()
        ids = {"session_id": "s", "tool_call_id": "c1"}
        self.assertIsNone(ctx.pre("paper_place_order_a", ORDER, **ids))
        self.assertIsNone(ctx.pre("paper_place_order_a", ORDER, **ids))
        self.assertEqual([r["state"] for r in self.audit(ctx)], ["EXECUTION_ALLOWED"])
        ctx.call("paper_place_order_a", ORDER, session="s", call="c1")
        self.assertEqual([r["state"] for r in self.audit(ctx)], ["EXECUTION_SUCCEEDED"])
        self.assertIn("PERMISSION_SPENT", ctx.pre("paper_place_order_a", ORDER, **ids) or "")

    def test_other_tools_pass_and_the_read_tools_answer(self):
        ctx = self.host()
        self.assertIsNone(ctx.pre("terminal", {"command": "ls"}))
        self.assertEqual(ctx.call("trade_check", ORDER)["verdict"], "allow")
        self.assertTrue(ctx.call("trade_policy_get", {})["valid"])
        self.assertEqual(self.audit(ctx), [])

    def test_a_broken_configuration_blocks_every_tool(self):
        ctx = self.host()
        ctx.call("trade_check", ORDER)
        (self.home / "sallyport.json").write_text('{"guards":[{}]}')
        (self.home / "sallyport.json").chmod(0o600)
        self.assertIn("has no match", ctx.pre("terminal", {}) or "")

    def test_a_call_that_another_plugin_blocks_is_settled(self):
        ctx = self.host()
        self.assertIsNone(ctx.pre("paper_place_order_a", ORDER, session_id="s", tool_call_id="c1"))
        ctx.post("paper_place_order_a", ORDER, session_id="s", tool_call_id="c1", status="blocked", result='{"error":"no"}', error_message="no")
        self.assertEqual([r["state"] for r in self.audit(ctx)], ["EXECUTION_FAILED"])


class Schemas(unittest.TestCase):
    def test_print(self):
        """For the Go test, which compares them with what the binary's own server advertises."""
        ctx, _ = double.load()
        print("SCHEMAS " + json.dumps([ctx.tools[n][0] for n in TOOLS]), flush=True)


if __name__ == "__main__":
    unittest.main()

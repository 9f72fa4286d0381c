"""A double of the install scanner's rules that a plugin like this one could meet, by the severities that were measured
with the real one. safe is what a community plugin must be."""

import pathlib
import re

RULES = [
    ("medium", r"subprocess\.(run|call|Popen|check_output)\s*\("),
    ("high", r"^[^#\n]*os\.environ\b(?!\s*\.get\s*\()"),
    ("critical", r"environ\s*\.get\s*\(\s*[\"'][^\"']*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)"),
    ("critical", r"getenv\s*\(\s*[\"'][^\"']*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)"),
    ("high", r"\bgetenv\s*\("),
    ("high", r"socket\.|\burlopen\b|\bhttp\.client\b|\brequests\."),
    ("high", r"os\.(system|popen|exec\w*|spawn\w*)\s*\("),
    ("high", r"\b(eval|exec|compile|__import__)\s*\("),
    ("high", r"shell\s*=\s*True"),
    ("critical", r"AGENTS\.md|CLAUDE\.md|\.cursorrules|\.hermes/|SOUL\.md"),
    ("critical", r"rm\s+-rf\s+/|mkfs|\bdd\s+if="),
    ("high", r"\bsudo\b|setuid|authorized_keys|crontab|/etc/|/proc/|~/\.ssh"),
    ("high", r"\.\./\.\."),
    ("high", r"base64|\\x[0-9a-fA-F]{2}"),
    ("critical", r"(?:api[_-]?key|token|secret|password)\s*[=:]\s*[\"'][A-Za-z0-9+/=_-]{20,}"),
    ("high", r"ignore\s+(?:\w+\s+)*(?:previous|all|above|prior)\s+instructions|do\s+not\s+tell\s+the\s+user"),
    ("high", r"\b(?:print|send|share)\s+(?:\w+\s+){0,3}?context\b"),
    ("high", r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"),
    ("medium", r"https?://|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"),
]
TEXT = {".py", ".yaml", ".json", ".md"}


def scan(root):
    """The verdict, and the findings as (severity, file, line, text)."""
    root, found = pathlib.Path(root), []
    files = [f for f in sorted(root.rglob("*")) if not f.is_dir()]
    if len(files) > 50:
        found.append(("medium", ".", 0, "%d files" % len(files)))
    for f in files:
        name = str(f.relative_to(root))
        if f.is_symlink() or f.suffix not in TEXT:
            found.append(("critical", name, 0, "a link, or a file of another kind"))
            continue
        if f.stat().st_mode & 0o111 or f.stat().st_size > 256 * 1024:
            found.append(("medium", name, 0, "executable, or over 256 KiB"))
        for number, line in enumerate(f.read_text(encoding="utf-8").splitlines(), 1):
            for severity, rule in RULES:
                if re.search(rule, line, re.IGNORECASE):
                    found.append((severity, name, number, line.strip()[:80]))
    worst = {severity for severity, *_ in found}
    return ("dangerous" if "critical" in worst else "caution" if "high" in worst else "safe"), found

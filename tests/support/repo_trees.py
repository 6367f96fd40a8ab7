"""The trees of a small repository, one after the other, from which tests make a series of patches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

RULE = "Deploy with harbor from the release branch.\n"
NOISE = "".join(f"Paragraph {at} of the handbook stays as it is.\n" for at in range(8))
ONE = {"README.md": "# shop\n\nA shop.\n", "app.py": "def total():\n    return 1\n"}
TWO = {**ONE, "app.py": "def total():\n    return 2\n"}
TREES = [
    {**ONE, "docs/deploy.md": f"# Deploy\n\n{RULE}{NOISE}"},
    {**ONE, "docs/deploy.md": f"# Deploy\n\nIn short:\n\n{RULE}{NOISE}"},
    {**ONE, "docs/ship.md": f"# Deploy\n\nIn short:\n\n{RULE}{NOISE}"},
    {**TWO, "docs/ship.md": f"# Deploy\n\nIn short:\n\n{NOISE}", "old.md": RULE},
    {**TWO, "docs/ship.md": f"# Deploy\n\nIn short:\n\n{NOISE}"},
]
Series = Callable[..., Path]

"""A story that plays in the fixture `shop` and, in one session with a job, in `pier` beside it."""

from __future__ import annotations

from tests.unit.conftest import House, Series

ORDER = {"ops/order.toml": 'target = ""\n'}
PIER = [{**ORDER, "docs/deploy.md": "# Pier\n"}, {**ORDER, "docs/deploy.md": "# Pier\n\nThe crane is slow.\n"}]
AT_THE_PIER = """
[[sessions]]
id = "thursday"
at = 2024-01-04T12:00:00Z
by = "ada"
commit = "pier/0002"
scope = {repo = "pier", org = "line"}
"""
"""The head of the session; its job is that of the story, but for its name."""


def write_story(house: House, series: Series) -> str:
    """The story of a house, told for all repositories of its line; the second fixture is laid beside the first."""
    series(house.fixtures / "pier", PIER)
    text = house.changed('fixture = "shop"\n', 'fixture = "shop"\nbeside = ["pier"]\n')
    text = text.replace('scope = {repo = "shop"}', 'scope = {repo = "shop", org = "line"}')
    text = text.replace("\nsince = ", '\nscope = {org = "line"}\nsince = ')
    before, friday = text.split('[[sessions]]\nid = "friday"')
    job = friday[friday.index("[[sessions.steps]]") :]
    return f'{before}{AT_THE_PIER}{job.replace("ship", "moor")}\n[[sessions]]\nid = "friday"{friday}'

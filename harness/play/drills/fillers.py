"""Sentences that fill a store beside what a drill asks about."""

from __future__ import annotations

PARTS = (
    "cart", "catalogue", "checkout", "search box", "invoice PDF", "image resizer", "stock sync", "email templates",
    "login page", "address form", "voucher codes", "currency table", "audit export", "nightly report", "tax table",
    "wish list", "order history", "rate limiter", "session store", "feature flags", "sitemap", "webhook sender",
)  # fmt: skip
PEOPLE = ("Amira", "Jonas", "Priya", "Tomasz", "Lucía", "Hannes", "Noor", "Dmitri", "Sofie", "Kwame", "Yuki", "Brigid")
TOOLS = ("the linter", "the type checker", "the test runner", "the formatter", "the bundler", "the profiler")
TRAITS = ("flaky", "slow on cold caches", "hard to read", "twice as long as needed", "fine again", "covered by tests")
UNRELATED = (
    "{person} rewrote the {part} in ticket {n}; reviews took {days} days",
    "The {part} is {trait} since change {n}",
    "{tool} complained about {n} lines in the {part}; {person} cleaned them up",
    "Keep the {part} out of the hot path: it costs {days} ms per request",
    "{person} prefers small pull requests for the {part}, about {n} lines at most",
    "The {part} reads its limits from a table with {n} rows",
    "Ticket {n}: the {part} shows the wrong date for {person}",
    "Run {tool} on the {part} before asking {person} for a review, see note {n}",
    "The {part} and the {other} share a helper that {person} wants to split, ticket {n}",
    "A retry in the {part} hid an error for {days} days, see ticket {n}",
)

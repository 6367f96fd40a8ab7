"""What a wheel holds beside the packages: the fixtures and the report's templates, which a checkout keeps apart."""

from setuptools import find_packages, setup

BESIDE = {"harness.fixtures": "fixtures", "harness.report.templates": "reports/templates"}
"""Package of the wheel -> folder of the checkout; `harness/paths.py` knows both."""

setup(
    packages=[*find_packages(include=["harness*", "adapters*", "tasks*"]), *BESIDE],
    package_dir=BESIDE,
    package_data={
        "": ["py.typed"],
        "adapters": ["mcp_servers/*.toml"],
        "harness.agents": ["profiles/*.toml"],
        "harness.fixtures": ["repos/**"],
        "harness.report.templates": ["*"],
        "harness.selftest.planted": ["may.json"],
        "tasks": [
            "README.md",
            "*.toml",
            "*/*.toml",
            "deep/*/*.toml",
            "deep/*/*/*.toml",
            "deep/*/*/hidden/*.*",
            "skeletons/**",
        ],
    },
)

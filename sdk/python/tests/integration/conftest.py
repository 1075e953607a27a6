import os
import uuid

import httpx
import pytest


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="SANDBAR_URL is not set")
    for item in items:
        if "integration" in item.path.parts:
            item.add_marker(pytest.mark.integration)
            if not os.environ.get("SANDBAR_URL"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def routes():
    """The paths that this server has."""
    answer = httpx.get(f"{os.environ['SANDBAR_URL']}/openapi.json", timeout=30)
    answer.raise_for_status()
    return set(answer.json()["paths"])


@pytest.fixture
def needs(routes):
    def check(path):
        if path not in routes:
            pytest.skip(f"this server has no {path}")

    return check


@pytest.fixture
def unique():
    return f"py-test-{uuid.uuid4().hex}"

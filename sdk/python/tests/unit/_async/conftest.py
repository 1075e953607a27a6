import pytest


@pytest.fixture(scope="session", params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

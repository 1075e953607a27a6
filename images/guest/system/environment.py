"""The clean environment that kernels and processes get."""

import os

ENV_TAG = "SANDBAR_CONTEXT"
"""Tells whose a process is, whatever became of its parents."""
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = (
    "PATH LANG LC_ALL LANGUAGE TZ TMPDIR VIRTUAL_ENV MPLCONFIGDIR MPLBACKEND JAVA_HOME NODE_PATH R_HOME R_LIBS R_LIBS_SITE "
    "LD_LIBRARY_PATH PYTHONPATH SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT "
    "PIP_INDEX_URL NPM_CONFIG_REGISTRY HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"
).split()


def which(name: str) -> "str | None":
    for folder in os.environ.get("PATH", DEFAULT_PATH).split(":"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return None


def environment(extra: "dict[str, str]", tag: str) -> "dict[str, str]":
    env = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    env.setdefault("PATH", DEFAULT_PATH)
    env.setdefault("LANG", "C.UTF-8")
    env["HOME"] = home()
    env["PYTHONIOENCODING"] = "utf-8"
    env["USER"] = env["LOGNAME"] = "sandbox"
    env["SHELL"] = which("bash") or "/bin/sh"
    env["TERM"] = "dumb"
    for key, value in extra.items():
        if isinstance(key, str) and isinstance(value, str) and "\0" not in key + value and key and "=" not in key:
            env[key] = value
    env[ENV_TAG] = tag
    return env


def home() -> str:
    for folder in ("/session/.home", "/tmp/.home"):
        try:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            pass
    return "/tmp"

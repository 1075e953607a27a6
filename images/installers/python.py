"""Installs packages beside those of the image: what the image already has in a fitting version is not installed again."""

import json
import os
import subprocess
import sys


def main() -> int:
    target, cache, *wanted = sys.argv[1:]
    pip = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--cache-dir", cache]
    look = "import pip; print(*pip.__version__.split('.')[:2])"
    found = subprocess.run([sys.executable, "-c", look], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if found.returncode != 0:
        print("error: the image has no pip", file=sys.stderr)
        return 1
    common = ["--progress-bar", "off", "--no-warn-script-location"]
    if tuple(map(int, found.stdout.split())) < (23, 0):
        # It cannot say what it would do, so all of it is installed.
        return subprocess.run([*pip, "install", *common, "--target", target, "--", *wanted]).returncode
    report = "/tmp/report.json"
    resolved = subprocess.run([*pip, "install", *common, "--dry-run", "--report", report, "--", *wanted])
    if resolved.returncode != 0:
        return resolved.returncode
    with open(report, encoding="utf-8") as file:
        missing = json.load(file)["install"]
    os.remove(report)
    if not missing:
        print("the image has all of it already")
        return 0
    exact = ["%s==%s" % (item["metadata"]["name"], item["metadata"]["version"]) for item in missing]
    return subprocess.run([*pip, "install", *common, "--no-deps", "--target", target, "--", *exact]).returncode


sys.exit(main())

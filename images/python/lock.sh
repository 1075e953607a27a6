#!/bin/sh
# Makes requirements.txt anew from requirements.in, with the newest versions that fit the image's Python.
set -eu
cd "$(dirname "$0")"
ca="${SANDBAR_CA_BUNDLE:-${SSL_CERT_FILE:-}}"
docker run --rm --network host -v "$PWD/requirements.in:/requirements.in:ro" ${ca:+-v "$ca:/ca.pem:ro" -e PIP_CERT=/ca.pem} \
  -e PIP_INDEX_URL -e PIP_EXTRA_INDEX_URL sandbar/base:trixie sh -euc '
    { apt-get update && apt-get install -y --no-install-recommends python3-venv; } >&2
    python3 -m venv /venv
    /venv/bin/pip install --disable-pip-version-check -r /requirements.in >&2
    /venv/bin/pip freeze
  ' > requirements.new
mv requirements.new requirements.txt

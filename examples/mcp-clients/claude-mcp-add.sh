#!/bin/sh
# Adds Sandbar to Claude Code for all of your projects; `claude mcp add-json` with claude-code.json does the same.
set -eu
claude mcp add --scope user \
  --env SANDBAR_URL="${SANDBAR_URL:-http://127.0.0.1:8787}" \
  --env SANDBAR_API_KEY="${SANDBAR_API_KEY:-$(cat "${SANDBAR_HOME:-.sandbar}/api-key")}" \
  sandbar -- sandbar mcp

#!/bin/sh
# Sandbar with nothing but sh and curl: a session, cells that share variables, a live stream, files in both directions,
# an artifact, and an error that says what to do.
set -eu
URL=${SANDBAR_URL:-http://127.0.0.1:8787}
KEY=${SANDBAR_API_KEY:-$(cat "${SANDBAR_HOME:-.sandbar}/api-key")}

api() { # method path [curl options]
  method=$1 path=$2
  shift 2
  curl -sS -X "$method" "$URL$path" -H "Authorization: Bearer $KEY" "$@"
}
json() { # method path body [curl options]
  body=$3 to=$2 how=$1
  shift 3
  api "$how" "$to" -H 'Content-Type: application/json' -d "$body" "$@"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; } # the last text field of that name

SESSION=$(json POST /v1/sessions '{"runtime": "python", "labels": {"example": "curl"}}' | sed 's/.*"id":"\(ses_[^"]*\)".*/\1/')
trap 'api DELETE "/v1/sessions/$SESSION"' EXIT
trap 'exit 130' INT TERM
echo "session: $SESSION"

json POST "/v1/sessions/$SESSION/executions" '{"code": "x = 20"}' >/dev/null
echo "x * 2 is $(json POST "/v1/sessions/$SESSION/executions" '{"code": "x * 2"}' | field text)"

echo "a stream:"
json POST "/v1/sessions/$SESSION/executions" '{"code": "for i in range(2): print(\"line\", i)"}' \
  -H 'Accept: text/event-stream' | grep '^event:'

printf 'a,b\n1,2\n3,4\n' | api PUT "/v1/sessions/$SESSION/files?path=in.csv" -T - >/dev/null
json POST "/v1/sessions/$SESSION/executions" \
  '{"code": "import csv, os\nrows = list(csv.reader(open(\"in.csv\")))\nopen(\"/session/artifacts/count.txt\", \"w\").write(f\"{len(rows)} lines\")"}' >/dev/null
echo "the file is back: $(api GET "/v1/sessions/$SESSION/files?path=in.csv" | tail -1)"

ARTIFACT=$(api GET "/v1/sessions/$SESSION/artifacts" | sed 's/.*"id":"\(art_[^"]*\)".*/\1/')
LINK=$(json POST "/v1/artifacts/$ARTIFACT/link" '{"expires_in_s": 60}' | field url)
case $LINK in /*) LINK=$URL$LINK ;; esac
echo "the artifact says: $(curl -sS "$LINK")"

echo "a refusal: $(json POST /v1/sessions '{"runtime": "cobol"}' | field code)"

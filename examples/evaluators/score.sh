#!/usr/bin/env bash
# An evaluator in bash (needs jq): the share of the words in $example.must_have that the candidate uses.
set -eu
payload=$(cat)
# the preflight; a slow evaluator may answer it immediately
if [ "$(jq -r .candidate <<<"$payload")" = __optimize_anything_preflight__ ]; then
  echo '{"score": 0}'
  exit
fi
jq -c '
  (.candidate | ascii_downcase) as $text
  | (.example.must_have // ["please"]) as $words
  | ($words | map(select(. as $word | $text | contains($word | ascii_downcase) | not))) as $missing
  | {score: (1 - ($missing | length) / ($words | length)), missing: $missing}
' <<<"$payload"

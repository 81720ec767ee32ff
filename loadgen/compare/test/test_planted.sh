#!/usr/bin/env bash
# A server that is 3 % slower is found, and the same server twice is called
# equivalent, with the default number of repetitions.  It needs 15 minutes and
# a machine without other work, so only TEST_ALL=1 has it.
#
# usage: test_planted.sh ROOT
set -euo pipefail

cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
script/bench --plan loadgen/plans/planted.json --output "$scratch/planted" \
	>"$scratch/output" 2>&1 || { cat "$scratch/output"; exit 1; }
findings=$(sed -n '/^## Findings/,/^## Quality/p' "$scratch/planted/report.md")
echo "$findings"

# finding METRIC VERDICT ARM: the line of METRIC gives ARM that verdict.
finding() {
	grep -qE "^- $1[^:]*:(.*;)? $2: [^;]*$3" <<<"$findings" ||
		{ echo "not found: $1: $2: $3" >&2; exit 1; }
}
for metric in throughput CPU; do
	finding "$metric" 'equivalent within 2 %' 'The same again'
done
finding throughput less 'With a busy loop of 3 %'
finding CPU more 'With a busy loop of 3 %'

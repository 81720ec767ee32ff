#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page's functions that need no browser, tested in Node: test_*.mjs.
#
# usage: test_web.sh PARAMETERS_JS
set -euo pipefail
export PARAMETERS
PARAMETERS=$(realpath "$1")
cd "$(dirname "$0")"
if ! command -v node >/dev/null; then
	echo "skipped: no node"
	exit 77
fi
# Tell Node that .js files are modules.
timeout 120 node --experimental-default-type=module --test test_*.mjs

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page works in a browser: the tests in browser/.  Skipped without a
# browser.  Chromium without windows, which is a package of its own, takes half
# of the time.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_browser.sh SAMPLES_DIR [HEIC_FILE]
#   CHROMIUM=PROGRAM   instead of chromium-headless-shell, or chromium
. "$(dirname "$0")/../server.sh"
needs workers || exit 77 # the view Cores has none of its controls

shell=$(command -v chromium-headless-shell) || shell=chromium
for program in "${CHROMIUM:=$shell}" node; do
	have "$program" || exit 77
done
# Chromium reads the names of files in the locale's encoding.
export CHROMIUM SAMPLES=$1 HEIC_FILE=${2-} TMPDIR=$work LC_ALL=C.UTF-8
node --test-reporter=spec "$(dirname "$0")/all.js" ||
	fail "tests in the browser"

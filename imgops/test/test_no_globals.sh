#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Promise: the image operations keep nothing between two calls, and nothing that
# belongs to a thread: the library given has no thread-local data, and no data
# that can be written.  So a step that is paused may go on in another thread.
# The libraries that it calls are not looked at; service/test/pipeline/test_paused_steps.c
# runs the steps with them.
set -eu

if ! command -v objdump >/dev/null; then
	echo "skipped: no objdump"
	exit 77
fi
found=$(objdump -t "$1" | awk '
	/ \.text/ { functions++ }
	/ (\.t?data|\.t?bss|\*COM\*|\.data\.rel(\.local)?)\t/ &&
		!/ d  / { print }
	END { if (functions == 0) print "no functions: is it a library?" }
')
if [ -n "$found" ]; then
	echo "$found"
	exit 1
fi

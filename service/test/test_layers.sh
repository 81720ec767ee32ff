#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Arrows go one way: service -> stages, service -> imgops; loadgen and datasets
# alone; libmicrohttpd in service/http/ alone; every header stands alone; and the
# time of day is used by few.
# Lines have up to 80 columns, of which clang-format does not see to comments;
# headers have up to 150 lines.
#
# usage: CC=COMPILER test_layers.sh SOURCE_DIR
set -euo pipefail
cd "$1"
bad=0

# forbid FOLDER REGEX: no file of FOLDER includes what matches
forbid() {
	[ -d "$1" ] || bad=1
	! grep -rnE --include='*.[ch]' "#include [\"<]($2)" "$1" || bad=1
}
forbid imgops '(stages|service|loadgen|datasets)/'
forbid stages '(imgops|service|loadgen|datasets)/'
forbid loadgen '(imgops|stages|service|datasets)/'
forbid service '(loadgen|datasets)/|ck_|hwloc|jpeglib'
forbid service/pipeline 'service/(http|store|report|log|config)/'
forbid service/web 'service/[^w]'
forbid service/store 'service/(http|pipeline|report|log|config)/'
forbid service/log 'service/(http|pipeline|store|report|config)/'
forbid service/http 'service/(report|config)/'
forbid service/report 'service/config/'
forbid datasets '(imgops|stages|service|loadgen)/'
! grep -rlE --include='*.[ch]' '#include <microhttpd.h>' imgops stages service |
	grep -vE '^service/http/|/test/' || bad=1

# The time of day may jump: it is told, names files, and ends signatures; all
# waiting and measuring is by the monotonic clock.
clocks='CLOCK_REALTIME|[^a-z_]time\(|gettimeofday\(|timespec_get\('
! grep -rlE --include='*.[ch]' "$clocks" imgops stages service |
	grep -vE '/(test|bench)/' |
	grep -vxE 'service/(http/http_auth|log/log_line|report/process|store/store)\.c' ||
	bad=1
# Conditions wait by it unless they are told otherwise.
for file in $(grep -rl --include='*.c' 'pthread_cond_timedwait(' \
	imgops stages service | grep -v /test/); do
	grep -q 'setclock(.*CLOCK_MONOTONIC' "$file" || bad=1
done

while read -r file; do
	expand -t 8 "$file" | awk -v file="$file" '
		length > 80 { print file ":" NR ": " length " columns"; bad = 1 }
		NR == 151 && file ~ /h$/ { print file ": over 150 lines"; bad = 1 }
		END { exit bad }' || bad=1
done < <(find imgops stages service loadgen datasets \
	-name node_modules -prune -o -name '*.[ch]' -print)

for header in {imgops,stages,service,service/*,loadgen,loadgen/compare,datasets}/*.h; do
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror \
		-fsyntax-only -x c "$header" || bad=1
done
exit $bad

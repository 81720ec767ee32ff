#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Includes go one way: every folder may use base; service also uses stages and
# imgops.  Only service/http/mhd/ includes libmicrohttpd.  Every header
# compiles alone.  Few files read the time of day.  Lines have at most 80 columns
# (clang-format does not check comments).
#
# usage: CC=COMPILER test_layers.sh SOURCE_DIR
. "$(dirname "$0")/../../../base/test/script.sh"
cd "$1"
bad=0
first=$work/first

# wrong RULE: the lines that were printed break it; look for others, too
wrong() {
	bad=1
	echo "^ $1: see service/test/deploy/test_layers.sh"
}

# forbid FOLDER REGEX: no file of FOLDER includes what matches
forbid() {
	[ -d "$1" ] || wrong "no folder $1"
	! grep -rnE --include='*.[ch]' "#include [\"<]($2)" "$1" ||
		wrong "files of $1/ must not include $2"
}
forbid base '(imgops|stages|service|loadgen|datasets)/'
forbid imgops '(stages|service|loadgen|datasets)/'
forbid stages '(imgops|service|loadgen|datasets)/'
forbid loadgen '(imgops|stages|service|datasets)/'
forbid service '(loadgen|datasets)/|ck_|hwloc|jpeglib'
forbid service/pipeline 'service/(http|store|report|log|config)/'
forbid service/web 'service/[^w]'
forbid service/store '(stages|imgops)/|service/(http|pipeline|report|log|config)/'
forbid service/hooks '(stages|imgops)/|service/(http|pipeline|report|log|config)/'
forbid service/log '(stages|imgops)/|service/(http|pipeline|store|report|config)/'
forbid service/http 'service/(report|config)/'
forbid service/report 'service/config/'
# Only http.c counts connections as a resource of the stages.
! grep -rnE --include='*.[ch]' '#include "(imgops|stages)/' service/http |
	grep -vE '^service/http/http\.c:|"imgops/formats/list\.h"' ||
	wrong "in service/http/, only http.c includes stages or imgops"
forbid datasets '(imgops|stages|service|loadgen)/'
# Inside http/: first the code that knows only connections, then the code that
# knows no request, then the code that handles requests, and last http.c, which
# starts all.  Heads and replies are the same for all handlers.
forbid service/http/connection \
	'service/(http/(head|handlers|reply)|pipeline|store|log)'
forbid service/http/head 'service/http/handlers/'
forbid service/http/reply 'service/http/handlers/'
! grep -rE --include='*.[ch]' '#include "service/http/[a-z_]+\.h"' \
	service/http/connection | grep -v '/transport\.h"$' ||
	wrong "of service/http/*.h, connection/ includes only transport.h"
for name in head/field_values head/hosts head/params head/query head/text_part \
	handlers/body handlers/multipart handlers/images/image_meta \
	handlers/images/packer handlers/images/spooler handlers/watch/minute handlers/watch/reports \
	handlers/watch/viewers mhd/transport_mhd reply/problem reply/result; do
	! grep -E '"service/http/(request|http)\.h"' \
		"service/http/$name".[ch] ||
		wrong "service/http/$name knows neither request.h nor http.h"
done
! grep -rl '"service/http/http.h"' service/http | grep -v '/http\.c$' ||
	wrong "in service/http/, only http.c includes http.h"
# User-level threads do not know what they are for.
! grep -E '#include "service/' service/direct/uthread*.[ch] |
	grep -v '"service/direct/uthread' ||
	wrong "uthread*.[ch] includes nothing else of service/"
! grep -rlE --include='*.[ch]' '#include <microhttpd.h>' imgops stages service |
	grep -vE '^service/http/mhd/|/test/' ||
	wrong "only service/http/mhd/ includes microhttpd.h"

# The time of day may jump.  It is only for output, names of files and the end
# of signatures and tickets.  All waiting and measuring uses the monotonic
# clock.
clocks='CLOCK_REALTIME|[^a-z_]time\(|gettimeofday\(|timespec_get\('
! grep -rlE --include='*.[ch]' "$clocks" base imgops stages service |
	grep -vE '/(test|bench)/' |
	grep -vxE 'service/(direct/outgoing|hooks/hooks|hooks/helper/deliver|http/head/auth|log/log|report/stats|store/entries|store/inbox|store/remote/helper/s3)\.c' ||
	wrong "the time of day is for output, names of files and signatures"
# By default, conditions wait by the time of day.
for file in $(grep -rl --include='*.c' 'pthread_cond_timedwait(' \
	imgops stages service | grep -v /test/); do
	grep -q 'setclock(.*CLOCK_MONOTONIC' "$file" || wrong \
		"$file: pthread_condattr_setclock(..., CLOCK_MONOTONIC) is missing"
done

# A tab ends at a multiple of 8 columns.
find base imgops stages service loadgen datasets \
	-name node_modules -prune -o -name '*.[ch]' -print0 |
	xargs -0 awk '
	{
		line = $0
		while (at = index(line, "\t"))
			line = substr(line, 1, at - 1) \
				substr("        ", (at - 1) % 8 + 1) \
				substr(line, at + 1)
		if (length(line) > 80) {
			print FILENAME ":" FNR ": " length(line) \
				" columns, at most 80; script/format breaks code, not comments"
			bad = 1
		}
	}
	END { exit bad }' || wrong "80 columns"

# A header that a source file includes first compiles alone, or the build
# would have failed.
find base imgops stages service loadgen datasets \
	\( -name node_modules -o -name fuzz \) -prune -o -name '*.c' -print0 |
	xargs -0 awk '/^#/ { if ($1 == "#include") print $2; nextfile }' | tr -d '"' |
	sort -u >"$first"
while read -r header; do
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror \
		-fsyntax-only -x c "$header" || wrong "$header compiles alone"
done < <(find base imgops stages service loadgen datasets \
	\( -name node_modules -o -name test -o -name fuzz \) -prune -o \
	-name '*.h' ! -path stages/policies/list.h \
	! -path imgops/formats/list.h -print |
	grep -vxFf "$first")
[ $bad = 0 ] || fail "rules are broken, above"

# Sourced by script/fleet: two HAProxies, the machines front1 and front2, and
# the address of the service, 10.77.0.1.  keepalived (VRRP) gives it to a front
# whose HAProxy answers.  Each front is two services: frontK and vrrpK.
#
# Needs $nodes.

front_packages=(haproxy:haproxy keepalived:keepalived)
front_url=http://$network.1:8080

make_front() {
	local k name
	for k in 1 2; do
		name=front$k
		make_machine $name $((k + 1))
		make_group $name
		make_group vrrp$k
		mkdir "$state/$name"
		haproxy_config >"$state/$name/haproxy.cfg"
		vrrp_config $k >"$state/$name/keepalived.conf"
		start_front $name
		spawn $name vrrp$k keepalived --dont-fork --log-console --vrrp \
			--use-file "$state/$name/keepalived.conf" \
			--pid "$state/$name/keepalived.pid" \
			--vrrp_pid "$state/$name/vrrp.pid"
	done
	until_true 20 has_front || die "no front has $network.1"
}

start_front() {
	spawn "$1" "$1" haproxy -W -db -L "$1" -f "$state/$1/haproxy.cfg"
}

# If a node ends the connection without an answer, HAProxy sends the request to
# another one, if it fits into tune.bufsize.  docs/fleet.md says why each line is
# safe.
haproxy_config() {
	cat <<-CONFIG
	global
		maxconn 2000
		tune.bufsize 131072
		hard-stop-after 60s

	defaults
		mode http
		timeout connect 1s
		timeout client 75s
		timeout server 75s
		timeout http-keep-alive 20s
		timeout check 2s

	peers fronts
		peer front1 $network.2:10000
		peer front2 $network.3:10000

	frontend uploads
		bind :8080
		http-request deny deny_status 404 unless METH_POST { path / } or { path_beg /v1/images } or { path_beg /v1/uploads }
		http-request del-header X-Forwarded-Host
		http-request del-header X-Forwarded-Proto
		http-request del-header X-Forwarded-Prefix
		use_backend tickets if { path_beg /v1/uploads/ } { path,field(4,/),in_table(darkroom) }
		use_backend search if { path_beg /v1/uploads/ }
		default_backend darkroom

	frontend figures
		bind :8404
		stats enable
		stats uri /

	backend darkroom
		balance leastconn
		option httpchk GET /readyz
		http-check expect ! string '"code":"stopping"'
		default-server check port 9090 inter 500ms fall 1 rise 1 tcp-ut 5s
		default-server weight 100 agent-check agent-port 9101 agent-inter 250ms
		option http-server-close
		http-reuse never
		http-response set-header X-Node %s
		stick-table type string len 64 size 1m expire 25h peers fronts
		http-request set-var(txn.makes_ticket) bool(true) if METH_POST { path /v1/uploads }
		acl made_ticket var(txn.makes_ticket) -m bool
		stick store-response res.hdr(Location),field(-1,/) if made_ticket { status 201 }
		option redispatch 1
		retries 3
		retry-on conn-failure empty-response
		http-request disable-l7-retry if METH_DELETE
		option srvtcpka
		srvtcpka-idle 2s
		srvtcpka-intvl 1s
		srvtcpka-cnt 3
	CONFIG
	each_server ''
	cat <<-CONFIG

	backend tickets
		balance leastconn
		stick match path,field(4,/) table darkroom
		option persist
		retries 3
		option http-server-close
		http-reuse never
		http-response set-header X-Node %s
	CONFIG
	each_server ' track darkroom/%s'
	cat <<-CONFIG

	backend search
		balance roundrobin
		http-request set-var(txn.ticket) path,field(4,/) unless METH_OPTIONS
		stick store-response var(txn.ticket) table darkroom if { status 200:299 }
		retry-on conn-failure 404
		option redispatch 1
		retries $((2 * nodes))
		http-response return status 503 hdr Retry-After 1 if { status 404 } { nbsrv(darkroom) lt $nodes }
		option http-server-close
		http-reuse never
		http-response set-header X-Node %s
	CONFIG
	each_server ' track darkroom/%s'
}

# each_server FORMAT: a line for each node; FORMAT may have its name
each_server() {
	local name
	for name in $(each_node); do
		# shellcheck disable=SC2059
		printf "\tserver %s %s:8080$1\n" "$name" "$(address "$name")" \
			${1:+"$name"}
	done
}

# The check may take 5 s, because on a busy machine a HAProxy that works can be
# slow; one that does not run refuses the connection at once.
#
# Both begin as backups, and a front that comes back does not take the address
# from the other one (nopreempt): that would end the connections there.
vrrp_config() {
	cat <<-CONFIG
	global_defs {
		enable_script_security
		script_user nobody
	}
	vrrp_script haproxy_answers {
		script "$(command -v curl) -sf -o /dev/null --max-time 4 http://127.0.0.1:8404/"
		interval 1
		timeout 5
		fall 1
		rise 1
	}
	vrrp_instance uploads {
		state BACKUP
		nopreempt
		interface eth0
		virtual_router_id 77
		priority $((120 - 10 * $1))
		advert_int 1
		version 3
		unicast_src_ip $network.$(($1 + 1))
		unicast_peer {
			$network.$((4 - $1))
		}
		virtual_ipaddress {
			$network.1/24
		}
		track_script {
			haproxy_answers
		}
	}
	CONFIG
}

# The front that has the address of the service; empty if none has.
front_now() {
	local name
	for name in front1 front2; do
		ip -n "$fleet.$name" -br address show dev eth0 2>/dev/null |
			grep -qw "$network.1/24" || continue
		echo "$name"
		return
	done
}

# Does a front have the address, and use at least one node?
has_front() {
	[ -n "$(front_now)" ] && [ "$(nodes_in_use)" -gt 0 ]
}

# in_use NODE: does each HAProxy send requests to this node?  One that does not
# run has no say.
in_use() {
	local name table
	for name in front1 front2; do
		table=$(front_table "$name") || continue
		grep -q "^darkroom,$1,.*,UP," <<<"$table" || return 1
	done
}

# front_table FRONT: the figures of its servers, as CSV
front_table() {
	(inside client setup curl -sf --max-time 2 \
		"http://$(address "$1"):8404/;csv")
}

nodes_in_use() {
	local count=0 name
	for name in $(each_node); do
		! in_use "$name" || count=$((count + 1))
	done
	echo $count
}

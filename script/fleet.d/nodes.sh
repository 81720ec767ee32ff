# Sourced by script/fleet: the nodes, each a darkroom on a machine of its own
# with a CPU quota.  Node K is the machine and service nK, 10.77.0.(10 + K).
#
# Needs $nodes (their number), $cpu (their quota, percent of a core), $darkroom
# (the program) and the engine's node_store_flags().

each_node() {
	seq -f 'n%g' "$nodes"
}

make_nodes() {
	local name
	for name in $(each_node); do
		make_machine "$name" $((10 + ${name#n}))
		make_group "$name" "$cpu"
		install -d -m 700 -o nobody "$state/inbox-$name"
	done
}

# start_node NAME: start it and wait until it is ready
start_node() {
	local address flags
	address=$(address "$1")
	flags=(--listen "$address:8080" --admin-listen "$address:9090"
		--agent-listen "$address:9101"
		--inbox "$state/inbox-$1"
		--insecure --user nobody --memory 256M --log json
		--trusted-proxies "$network.0/24" --max-connections 512
		--max-connections-per-address 256
		--shutdown-delay 2s --drain-timeout 30s)
	mapfile -t -O ${#flags[@]} flags < <(node_store_flags "$1")
	spawn "$1" "$1" "$darkroom" "${flags[@]}"
	until_true 20 node_is_ready "$1" || {
		tail -n 5 "$state/log/$1" >&2
		echo "fleet: $1 does not become ready" >&2
		return 1
	}
}

node_is_ready() {
	attend "$1" setup curl -sf -o /dev/null --max-time 2 \
		"http://$(address "$1"):9090/readyz"
}

# stop_node NAME: SIGTERM; returns when it has answered all that it accepted
stop_node() {
	signal "$1" TERM || return 1
	until_true 60 is_empty "$1"
}

# kill_node NAME: as a crash does it: only the main process gets the SIGKILL.
# False: something of the node is left.
kill_node() {
	signal "$1" KILL || return 1
	until_true 5 is_empty "$1"
}

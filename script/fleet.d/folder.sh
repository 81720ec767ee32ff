# Sourced by script/fleet after store.sh: the engine "folder".  Each node has a
# store of its own in a folder, so only the node that took an image can return
# it.  For trying the rest of the fleet without an object store.

make_store() {
	local name
	for name in $(each_node); do
		install -d -m 700 -o nobody "$state/store-$name"
	done
}

node_store_flags() {
	printf '%s\n' --store "$state/store-$1"
}

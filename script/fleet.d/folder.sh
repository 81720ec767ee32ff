# Sourced by script/fleet: the engine "folder".  Each node has a store of its
# own in a folder, so only the node that took an image can return it.  For
# trying the rest of the fleet where no object store can be installed.

engine_packages=()
engine_disks=() # services that each keep a copy of all objects
engine_gateway= # the service that speaks S3

make_engine() {
	local name
	for name in $(each_node); do
		install -d -m 700 -o nobody "$state/store-$name"
	done
}

# node_store_flags NODE: the flags of the node for its store, one a line
node_store_flags() {
	printf '%s\n' --store "$state/store-$1"
}

# Sourced by script/fleet after store.sh: the engine "swift", OpenStack Swift
# with its S3 interface.  Three object servers (object1 to object3; each has a
# copy of every object), a container and an account server, memcached, and the
# proxy, which speaks S3.

engine_packages=(swift-proxy-server:swift-proxy memcached:memcached
	swift-account-server:swift-account swift-object-server:swift-object
	swift-container-server:swift-container)
engine_disks=(object1 object2 object3)
engine_user=swift
s3_key=fleet:key # an account and a user
swift=$state/swift

declare -gA swift_ports=([object1]=6201 [object2]=6202 [object3]=6203
	[container]=6210 [account]=6220 [memcached]=11211)

# Rings say which server has which object: 16 partitions, three zones.
swift_rings() {
	attend store setup "${as_engine[@]}" /usr/bin/python3 -c '
import sys
from swift.common.ring import RingBuilder
for ring in sys.argv[2:]:
    name, *ports = ring.split(",")
    builder = RingBuilder(4, 3, 0)
    for zone, port in enumerate(ports, 1):
        builder.add_dev({"region": 1, "zone": zone, "ip": "127.0.0.1",
                         "port": int(port), "device": "d%d" % zone,
                         "weight": 100})
    builder.rebalance(seed="1")
    builder.get_ring().save("%s/%s.ring.gz" % (sys.argv[1], name))
' "$swift" object,6201,6202,6203 container,6210,6210,6210 \
		account,6220,6220,6220 >>"$state/log/setup" 2>&1 ||
		die "no rings: $(tail -n 1 "$state/log/setup")"
}

# swift_server NAME KIND: the configuration of a storage server.  An object
# server has one disk of its own, the others have all three.
swift_server() {
	cat <<-CONFIG
	[DEFAULT]
	bind_ip = 127.0.0.1
	bind_port = ${swift_ports[$1]}
	workers = 0
	swift_dir = $swift
	devices = $swift/$1
	mount_check = false
	disable_fallocate = true
	fallocate_reserve = 0
	log_name = $1
	log_level = WARNING
	[pipeline:main]
	pipeline = healthcheck $2-server
	[app:$2-server]
	use = egg:swift#$2
	[filter:healthcheck]
	use = egg:swift#healthcheck
	CONFIG
}

swift_proxy() {
	local filter
	cat <<-CONFIG
	[DEFAULT]
	bind_ip = $store_address
	bind_port = $s3_port
	workers = 0
	swift_dir = $swift
	log_name = gateway
	log_level = WARNING
	[pipeline:main]
	pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo versioned_writes symlink proxy-server
	[app:proxy-server]
	use = egg:swift#proxy
	account_autocreate = true
	conn_timeout = 0.5
	node_timeout = 10
	error_suppression_interval = 5
	error_suppression_limit = 3
	[filter:s3api]
	use = egg:swift#s3api
	location = us-east-1
	[filter:tempauth]
	use = egg:swift#tempauth
	user_${s3_key/:/_} = $s3_secret .admin
	[filter:cache]
	use = egg:swift#memcache
	memcache_servers = 127.0.0.1:${swift_ports[memcached]}
	[filter:versioned_writes]
	use = egg:swift#versioned_writes
	allow_object_versioning = true
	CONFIG
	for filter in catch_errors gatekeeper healthcheck listing_formats bulk \
		copy slo symlink; do
		printf '[filter:%s]\nuse = egg:swift#%s\n' $filter $filter
	done
}

make_services() {
	local name
	mkdir -p "$swift" "$swift"/object1/d1 "$swift"/object2/d2 \
		"$swift"/object3/d3 "$swift"/{container,account}/{d1,d2,d3}
	chown -R "$engine_user" "$swift"
	swift_rings
	for name in object1 object2 object3; do
		swift_server $name object >"$swift/$name.conf"
	done
	for name in container account; do
		swift_server $name $name >"$swift/$name.conf"
	done
	swift_proxy >"$swift/gateway.conf"
	for name in memcached object1 object2 object3 container account; do
		start_service $name
		until_true 20 swift_answers $name || die "no $name"
	done
	start_service gateway
}

swift_answers() {
	attend store setup bash -c ": </dev/tcp/127.0.0.1/${swift_ports[$1]}" \
		2>/dev/null
}

# start_service NAME: a part of the engine, for the first time or after its end
start_service() {
	local command
	case $1 in
	memcached) command=(memcached -l 127.0.0.1 -U 0 -m 16 -t 1) ;;
	gateway) command=(swift-proxy-server "$swift/gateway.conf" -v) ;;
	*) command=("swift-${1%[123]}-server" "$swift/$1.conf" -v) ;;
	esac
	make_group "$1"
	spawn store "$1" "${as_engine[@]}" "${command[@]}"
}

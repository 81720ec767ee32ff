# Sourced by script/fleet: the engine "ceph", on the machine "store".  A monitor
# (mon), three disks (osd0 to osd2; each has a copy of every object, two of three
# are enough to write) and the gateway that speaks S3 (radosgw).
#
# It runs without keys of its own (cephx) and without a manager: both only make
# the start slower.  The gateway alone is reachable from other machines.

engine_packages=(ceph-mon:ceph-mon ceph-osd:ceph-osd radosgw:radosgw
	ceph:ceph-common)
engine_disks=(osd0 osd1 osd2)
engine_user=ceph
ceph=$state/ceph

# ceph_run COMMAND...: run a command of Ceph as its user, for at most 60 s
ceph_run() {
	attend store setup "${as_engine[@]}" timeout 60 "$1" \
		-c "$ceph/ceph.conf" "${@:2}" >>"$state/log/setup" 2>&1 ||
		die "$1 failed: $(tail -n 1 "$state/log/setup")"
}

ceph_config() {
	# A UNIX socket's path has at most 107 bytes.
	[ ${#ceph} -le 80 ] || die "$ceph: more than 80 characters"
	cat <<-CONFIG
	[global]
	fsid = $1
	mon_host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]
	public_addr = 127.0.0.1
	cluster_addr = 127.0.0.1
	auth_cluster_required = none
	auth_service_required = none
	auth_client_required = none
	# The gateway asks for "secure", which needs keys.
	ms_mon_client_mode = crc
	run_dir = $ceph/run
	admin_socket = $ceph/run/\$name.asok
	log_file = $ceph/log/\$name.log
	crash_dir = $ceph/run
	mon_data = $ceph/mon
	mon_data_avail_warn = 1
	mon_data_avail_crit = 0
	paxos_propose_interval = 0.05
	osd_data = $ceph/osd\$id
	osd_objectstore = bluestore
	osd_crush_chooseleaf_type = 0
	osd_pool_default_size = 3
	osd_pool_default_min_size = 2
	osd_pool_default_pg_num = 4
	osd_pool_default_pg_autoscale_mode = off
	osd_memory_target = 939524096
	osd_op_num_shards = 2
	# A killed disk is noticed by its closed connections at once, a frozen
	# one after this time.
	osd_heartbeat_grace = 6
	mon_osd_min_down_reporters = 1
	ms_async_op_threads = 2
	bluestore_block_size = 8589934592
	bluestore_cache_autotune = false
	bluestore_cache_size = 67108864

	[client.rgw]
	rgw_frontends = beast endpoint=$store_address:$s3_port tcp_nodelay=1
	rgw_thread_pool_size = 64
	rgw_rados_pool_pg_num_min = 4
	rgw_enable_usage_log = false
	CONFIG
}

make_services() {
	local fsid id i
	fsid=$(cat /proc/sys/kernel/random/uuid)
	mkdir "$ceph" "$ceph"/{log,run,mon,osd0,osd1,osd2}
	ceph_config "$fsid" >"$ceph/ceph.conf"
	chown -R "$engine_user" "$ceph"

	attend store setup "${as_engine[@]}" monmaptool --create --fsid \
		"$fsid" --addv a '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]' \
		"$ceph/monmap" >>"$state/log/setup" 2>&1 || die "no monmap"
	ceph_run ceph-mon -i a --mkfs --monmap "$ceph/monmap"
	start_service mon
	for i in 0 1 2; do
		id=$(cat /proc/sys/kernel/random/uuid)
		ceph_run ceph --connect-timeout 30 osd new "$id" $i
		ceph_run ceph-osd -i $i --mkfs --osd-uuid "$id"
		start_service osd$i
	done
	# This makes the gateway's pools, and waits for the disks.
	ceph_run radosgw-admin -n client.rgw user create --uid=darkroom \
		--display-name=darkroom --access-key="$s3_key" \
		--secret-key="$s3_secret"
	start_service gateway
}

# start_service NAME: a part of the engine, for the first time or after its end
start_service() {
	local command
	case $1 in
	mon) command=(ceph-mon -i a) ;;
	osd?) command=(ceph-osd -i "${1#osd}") ;;
	gateway) command=(radosgw -n client.rgw) ;;
	esac
	make_group "$1"
	spawn store "$1" "${as_engine[@]}" "${command[@]}" -f \
		-c "$ceph/ceph.conf"
}

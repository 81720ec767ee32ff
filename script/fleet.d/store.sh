# Sourced by script/fleet: the object store of the fleet, on the machine
# "store", with one bucket.  The engine's file (ceph.sh, swift.sh) has
#   engine_packages   PROGRAM:PACKAGE...
#   engine_user       who runs it
#   engine_disks      services with a copy of every object; any one may fail
#   make_services     start all of them for the first time
#   start_service     start one again
# Its service "gateway" speaks S3.  The engine "folder" has none of this.

store_address=$network.20
s3_port=7480
s3_key=fleet-key
s3_secret=$fleet-secret # nobody else reaches this network
bucket=darkroom

# Read the engine's file.
load_engine() {
	engine_packages=()
	engine_disks=()
	engine_user=
	. "script/fleet.d/$engine.sh"
	as_engine=(setpriv "--reuid=$engine_user" "--regid=$engine_user"
		--clear-groups)
}

make_store() {
	make_machine store 20
	id -u "$engine_user" >/dev/null || die "no user $engine_user"
	make_services
	until_true 60 s3 -o "$state/log/bucket" -X PUT "/$bucket" ||
		die "the store does not make a bucket"
	install -m 640 -g nogroup /dev/null "$state/credentials"
	printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
		"$s3_key" "$s3_secret" >"$state/credentials"
}

# s3 CURL-ARGUMENTS... PATH: a signed request to the gateway, from the client
s3() {
	# An access key may have a colon, which --user cannot have.
	attend client setup curl -sSf --max-time 10 --aws-sigv4 \
		aws:amz:us-east-1:s3 -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
		"${@:1:$#-1}" "http://${s3_key/:/%3A}:$s3_secret@$store_address:$s3_port${*: -1}" \
		2>>"$state/log/setup"
}

# revive SERVICE: start a part of the store again that was killed
revive() {
	start_service "$1"
	until_true 20 is_running "$1"
}

is_running() {
	[ -n "$(main_of "$1")" ]
}

# node_store_flags: the flags of a node for its store, one a line
node_store_flags() {
	printf '%s\n' --store "s3://$bucket" --s3-path-style --s3-endpoint \
		"http://$store_address:$s3_port" --s3-region us-east-1 \
		--s3-credentials-file "$state/credentials"
}

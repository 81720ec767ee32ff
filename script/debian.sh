# Sourced by script/in-debian and service/test/deploy/test_package.sh: makes the root
# file system of a bare Debian.

# mirror_of LABEL FOLDER: print the mirror of Debian's archive with this label
# that apt is configured for here.  Before the first `apt-get update` a mirror has
# no label yet; then the folder at the end of its address decides.
mirror_of() {
	apt-get indextargets --format '$(REPO_URI) $(ORIGIN)/$(LABEL)' \
		2>/dev/null | awk -v label="Debian/$1" -v folder="/$2/?$" '
		$2 == label && !found { found = $1 }
		$1 ~ folder && !guess { guess = $1 }
		END { print found ? found : guess }' || true
}

# make_root SUITE FOLDER MMDEBSTRAP-OPTION...: make the smallest root in the
# folder, from the mirror and through the proxy that apt is configured for here.
# Later, apt in the root uses them, too.
make_root() {
	local suite=$1 folder=$2 options archive security
	local archives=()
	shift 2
	archive=$(mirror_of Debian debian)
	[ -n "$archive" ] || archive=http://deb.debian.org/debian
	archives=("deb $archive $suite main")
	case $suite in
	sid | unstable) ;;
	*)
		security=$(mirror_of Debian-Security debian-security)
		[ -n "$security" ] || security=${archive%/}-security
		archives+=("deb $archive $suite-updates main"
			"deb $security $suite-security main")
		;;
	esac
	mapfile -t options < <(apt-config dump |
		grep -E '^Acquire::(https?|Check-Date|Check-Valid-Until|Retries|ForceIPv[46])[: ]' |
		sed 's/^/--aptopt=/')
	case $archive in
	https:*) options+=(--include=ca-certificates) ;;
	esac
	mmdebstrap --quiet --mode=root --variant=minbase --format=directory \
		--hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr \
		--dpkgopt=force-unsafe-io "${options[@]}" "$@" \
		"$suite" "$folder" "${archives[@]}"
}

#!/usr/bin/env bash
# The servers that the tests run against: redis-7.0, redis-8 and valkey-8, each a
# program that EDGELIMIT_REDIS_SERVER can name.
#
#   scripts/redis-matrix.sh list              a name and a path a line; fails if one is missing
#   scripts/redis-matrix.sh server NAME       one path
#   scripts/redis-matrix.sh root NAME DIR     the program, its libraries and its loader, into DIR
#
# The system's own redis-server is redis-7.0 if it is a 7.0. The others are Debian's
# packages, unpacked and never installed, and run with the loader and the libraries of
# their own release. They stay in EDGELIMIT_SERVERS_DIR (default: edgelimit/servers in
# the user's cache); delete one there to have it fetched again. The packages come from
# the mirror of this system's apt sources, or the one that EDGELIMIT_DEBIAN_MIRROR names.
#
# Every server is started once before its path is printed, and asked for its version.
set -euo pipefail
names="redis-7.0 redis-8 valkey-8"
servers=${EDGELIMIT_SERVERS_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/edgelimit/servers}
limit=30 # seconds, for a server to answer

die() {
  printf '%s: %s\n' "$name" "$*" >&2
  exit 1
}

# say sends one command to a port and prints the reply, and +OK for the QUIT.
say() (
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf '%s\r\nQUIT\r\n' "${*:2}" >&3
  timeout 1 tr -d '\r' <&3
) 2>/dev/null

# ask starts the server and leaves in info what it says of itself. Another process may
# take the port first: then its answer has another process id, and the next port is tried.
ask() {
  local port until=$((SECONDS + limit))
  while [ "$SECONDS" -lt "$until" ]; do
    port=$((20000 + RANDOM % 10000))
    "$path" --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$work" >"$work/log" 2>&1 9>&- &
    running=$!
    while kill -0 "$running" 2>/dev/null && [ "$SECONDS" -lt "$until" ]; do
      if info=$(say "$port" INFO server) && [[ $info == *$'\n'"process_id:$running"$'\n'* ]]; then
        return
      fi
      sleep 0.02
    done
    stop
    grep -q 'Address already in use' "$work/log" || break
  done
  die "$path did not come up; if it is a damaged copy, delete ${path%/*}. It said:"$'\n'"$(tail -n 5 "$work/log")"
}

stop() {
  [ -n "$running" ] || return 0
  kill "$running" 2>/dev/null || true
  wait "$running" 2>/dev/null || true
  running=
}

# check refuses a server of another version than the name says.
check() {
  local info
  ask
  stop
  [[ $info == *$'\n'"${product}_version:$version."* ]] ||
    die "$path is $(grep -E '^(redis|valkey)_version:' <<<"$info" | paste -sd' ')"
}

# mirror prints where this system has its own release from, however its sources are written.
mirror() {
  local id codename found
  if [ -n "${EDGELIMIT_DEBIAN_MIRROR:-}" ]; then
    echo "${EDGELIMIT_DEBIAN_MIRROR%/}"
    return
  fi
  id=$(. /etc/os-release && echo "$ID")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  if [ "$id" = debian ] && found=$(apt-get --print-uris update); then
    found=$(sed -n "s|^'\(.*\)/dists/$codename/main/.*|\1|p" <<<"$found")
    found=${found%%$'\n'*}
  fi
  [ -n "${found:-}" ] || die "this system's apt sources name no mirror of Debian: name one by EDGELIMIT_DEBIAN_MIRROR"
  echo "$found"
}

keyring() {
  local file
  for file in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
    [ ! -r "$file" ] || { echo "$file"; return; }
  done
  die "without Debian's keys its packages cannot be trusted: install debian-archive-keyring"
}

# apt_files writes a configuration that reads and changes nothing of the system's apt,
# except that what the system says of the way to its mirror (a proxy, a login) holds.
apt_files() {
  local source keys
  source=$(mirror)
  keys=$(keyring)
  mkdir -p "$work"/{lists,archives}/partial
  : >"$work/status"
  echo "deb [signed-by=$keys] $source $release main" >"$work/sources"
  {
    apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets'
    cat <<END
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root"; // the other user that apt takes may not enter this directory
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$work/sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work";
END
  } >"$work/apt.conf"
}

# fetch downloads the package and all that it needs of its release: for an empty
# status file nothing is installed yet. apt verifies the signatures and the hashes.
fetch() {
  local package=$product-tools
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
    die "not in $servers, and it comes from Debian's packages: this system has no apt-get or no dpkg-deb"
  apt_files
  {
    APT_CONFIG=$work/apt.conf apt-get -q update &&
      APT_CONFIG=$work/apt.conf apt-get -q -y --no-install-recommends --download-only install "$package"
  } >"$work/log" 2>&1 ||
    die "not in $servers, and $package of Debian's $release did not come; another mirror can be named by" \
      "EDGELIMIT_DEBIAN_MIRROR. apt said:"$'\n'"$(grep -E '^[EW]:' "$work/log" || tail -n 5 "$work/log")"
}

# gather copies a program, its libraries and its loader under a directory: where the
# loader is, the program names in full. The command given lists them as ldd does.
gather() {
  local program=$1 root=$2 listed file arrow from to
  listed=$("${@:3}" "$program")
  while read -r file arrow from _; do
    case $file in
    linux-*) continue ;; # the kernel's
    /*) to=$root$file ;;
    *) to=$root/lib/$file ;;
    esac
    [ "$arrow" = "=>" ] || from=$file
    install -D -m 755 "$from" "$to"
  done <<<"$listed"
  install -D -m 755 "$program" "$root/bin/redis-server"
}

# unpack makes the whole directory aside, so that nobody sees half of one.
unpack() {
  local deb loader libraries
  for deb in "$work"/archives/*.deb; do dpkg-deb -x "$deb" "$work/debian"; done
  loader=$(find "$work/debian" -type f -name 'ld-linux*')
  libraries=$(find "$work/debian" -name 'lib*.so.*' -printf '%h\n' | sort -u | paste -sd:)
  # The tools hold the server too: one program, and the name it is started by says which it is.
  gather "$work/debian/usr/bin/$product-check-rdb" "$work/server/root" "$loader" --library-path "$libraries" --list
  loader=$(cd "$work/server/root" && find . -name 'ld-linux*')
  cat >"$work/server/redis-server" <<END
#!/bin/sh
# exec, so that the process that is started, and may be killed, is the server itself.
root=\${0%/*}/root
exec "\$root/${loader#./}" --inhibit-cache --library-path "\$root/lib" "\$root/bin/redis-server" "\$@"
END
  chmod 755 "$work/server/redis-server"
}

# find_server leaves the server's path in path, and has it fetched if it must be.
find_server() {
  case $name in
  redis-7.0) release=bookworm ;;
  redis-8 | valkey-8) release=trixie ;;
  *) die "no server of the matrix, which has $names" ;;
  esac
  product=${name%-*} version=${name##*-}
  work=$(mktemp -d)
  local system
  if [ "$name" = redis-7.0 ]; then
    if path=$(command -v redis-server) && system=$("$path" --version) && [[ $system == *" v=$version."* ]]; then
      return
    fi
    echo "$name: the system's redis-server is ${system:-not there}: Debian 12's is taken, beside it" >&2
  fi
  path=$servers/$name/redis-server
  [ ! -x "$path" ] || return 0
  mkdir -p "$servers"
  exec 9>"$servers/lock" # of two that find nothing, one fetches
  flock 9
  if [ ! -x "$path" ]; then
    rm -rf "$work" "$servers"/.half.*
    work=$(mktemp -d "$servers/.half.XXXXXX") # here, for a rename
    fetch
    unpack
    path=$work/server/redis-server
    check
    rm -rf "${servers:?}/$name" # without its program it serves nobody
    mv -T "$work/server" "$servers/$name"
    path=$servers/$name/redis-server
    # Who fetches next removes what is half made here: it may not be ours.
    rm -rf "$work"
    work=$(mktemp -d)
  fi
  exec 9>&-
}

running='' work=''
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
case ${1:-} in
list)
  missing=0
  for name in $names; do
    if path=$("$0" server "$name"); then echo "$name $path"; else missing=1; fi
  done
  exit "$missing"
  ;;
server)
  name=${2:?"which server: $names"}
  find_server
  check
  echo "$path"
  ;;
root)
  name=${2:?"which server: $names"} dir=${3:?"which directory"}
  find_server
  check
  if [ -d "${path%/*}/root" ]; then
    mkdir -p "$dir"
    cp -r "${path%/*}/root/." "$dir"
  else
    gather "$path" "$dir" ldd
  fi
  ;;
*)
  sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac

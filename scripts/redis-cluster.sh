#!/usr/bin/env bash
# A Redis Cluster of six redis-server processes on loopback: three masters, each
# with a replica. Prints their addresses once the cluster is ok.
#
#   scripts/redis-cluster.sh run   [first-port]   until it is interrupted, then stops them
#   scripts/redis-cluster.sh start [first-port]   in the background, until stop
#   scripts/redis-cluster.sh stop  [first-port]
#
# The ports are first-port (7301) and the five after; the nodes talk to each other
# on the same plus 10000. Nothing is kept on disk after the stop.
set -euo pipefail

verb=${1:-run}
first=${2:-7301}
dir=${TMPDIR:-/tmp}/edgelimit-redis-cluster-$first
ports=$(seq "$first" $((first + 5)))
limit=30 # seconds

say() { redis-cli -h 127.0.0.1 -p "$1" "${@:2}"; }

stop() {
  for port in $ports; do
    [ -f "$dir/$port/pid" ] && kill "$(cat "$dir/$port/pid")" 2>/dev/null || true
  done
  for port in $ports; do
    while [ -f "$dir/$port/pid" ] && kill -0 "$(cat "$dir/$port/pid")" 2>/dev/null; do sleep 0.1; done
  done
  rm -rf "$dir"
}

# until_all asks every node the same until each answer has a line that begins so.
until_all() {
  local line=$1 port waited=0
  shift
  for port in $ports; do
    until say "$port" "$@" 2>/dev/null | grep -q "^$line"; do
      sleep 0.1
      waited=$((waited + 1))
      if [ "$waited" -gt $((limit * 10)) ]; then
        echo "waited $limit s for port $port to say $line" >&2
        return 1
      fi
    done
  done
}

start() {
  local server i=0 port
  server=$("$(dirname "$0")/redis-server")
  if [ -e "$dir" ]; then
    echo "$dir is there: a cluster may run on these ports; stop it first" >&2
    return 1
  fi
  for port in $ports $(seq $((first + 10000)) $((first + 10005))); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "port $port is taken" >&2
      return 1
    fi
  done
  trap stop ERR # half a cluster is none
  for port in $ports; do
    mkdir -p "$dir/$port"
    "$server" --bind 127.0.0.1 --port "$port" --dir "$dir/$port" --save '' --appendonly no \
      --cluster-enabled yes --cluster-node-timeout 1000 --repl-diskless-sync-delay 0 \
      --loglevel warning --logfile redis.log --pidfile "$dir/$port/pid" --daemonize yes
  done
  until_all PONG PING
  for port in $ports; do
    i=$((i + 1))
    say "$port" CLUSTER SET-CONFIG-EPOCH "$i"
    [ "$i" -gt 3 ] || say "$port" CLUSTER ADDSLOTSRANGE $(((i - 1) * 16384 / 3)) $((i * 16384 / 3 - 1))
    [ "$i" = 1 ] || say "$first" CLUSTER MEET 127.0.0.1 "$port"
  done >/dev/null
  until_all cluster_known_nodes:6 CLUSTER INFO
  for i in 0 1 2; do
    # A master may be known before its id is: then it is asked for again.
    for _ in $(seq $((limit * 10))); do
      [ "$(say $((first + 3 + i)) CLUSTER REPLICATE "$(say $((first + i)) CLUSTER MYID)" 2>&1)" = OK ] && break
      sleep 0.1
    done
  done
  until_all cluster_state:ok CLUSTER INFO
  for i in 3 4 5; do
    ports=$((first + i)) until_all master_link_status:up INFO replication
  done
  trap - ERR
  for port in $ports; do echo "127.0.0.1:$port"; done
}

case $verb in
start) start ;;
stop) stop ;;
run)
  sleep infinity &
  sleeper=$!
  trap 'kill "$sleeper"; stop' EXIT
  trap 'exit 130' INT TERM
  start
  wait "$sleeper"
  ;;
*)
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac

#!/usr/bin/env bash
# A Redis Cluster of six redis-server processes on loopback: three masters, each
# with a replica.
#
#   scripts/redis-cluster.sh run   [first-port]   until it is interrupted, then stops them
#   scripts/redis-cluster.sh start [first-port]   in the background, until stop
#   scripts/redis-cluster.sh stop  [first-port]
#   scripts/redis-cluster.sh test  [go-test-argument...]
#
# The ports are first-port (7301) and the five after; the nodes talk to each other
# on the same plus 10000. run and start print the addresses once the cluster is ok.
# Nothing is kept on disk after the stop.
#
# test runs both limiters against such a cluster, on ports that are free, and prints
# what failed and what was measured. What kills nodes runs on clusters of its own.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
limit=60 # seconds, for the cluster to be ok

at() {
  first=$1
  dir=${TMPDIR:-/tmp}/edgelimit-redis-cluster-$first
  ports=$(seq "$first" $((first + 5)))
}

# say sends one command to a port and prints the reply, and +OK for the QUIT.
say() (
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf '%s\r\nQUIT\r\n' "${*:2}" >&3
  tr -d '\r' <&3
) 2>/dev/null

# do_ok sends one command that must be answered +OK.
do_ok() {
  local said
  said=$(say "$@") || said="no answer"
  [ "${said%%$'\n'*}" = +OK ] || { echo "port $1: ${*:2}: $said" >&2; return 1; }
}

id_of() { say "$1" CLUSTER MYID | grep -E '^[0-9a-f]{40}$'; }

# until_all asks every node the same until each answer has a line that begins so.
until_all() {
  local line=$1 port until=$((SECONDS + limit))
  shift
  for port in $ports; do
    until [[ $'\n'$(say "$port" "$@") == *$'\n'"$line"* ]]; do
      if [ "$SECONDS" -gt "$until" ]; then
        echo "waited $limit s for port $port to say $line" >&2
        return 1
      fi
      sleep 0.1
    done
  done
}

# taken prints a port of the cluster that somebody has.
taken() {
  local port
  for port in $ports $(seq $((first + 10000)) $((first + 10005))); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

# start leaves stop to the end of this shell: half a cluster is none.
start() {
  local server i=0 port until
  server=$("$scripts/redis-server")
  if [ -e "$dir" ]; then
    echo "$dir is there: a cluster may run on these ports; stop it first" >&2
    return 1
  fi
  port=$(taken)
  if [ -n "$port" ]; then
    echo "port $port is taken" >&2
    return 1
  fi
  trap stop EXIT
  for port in $ports; do
    mkdir -p "$dir/$port"
    "$server" --bind 127.0.0.1 --port "$port" --dir "$dir/$port" --save '' --appendonly no \
      --cluster-enabled yes --cluster-node-timeout 1000 --repl-diskless-sync-delay 0 \
      --loglevel warning --logfile redis.log --pidfile "$dir/$port/pid" --daemonize yes
  done
  until_all +PONG PING
  for port in $ports; do
    i=$((i + 1))
    do_ok "$port" CLUSTER SET-CONFIG-EPOCH "$i"
    [ "$i" -gt 3 ] || do_ok "$port" CLUSTER ADDSLOTSRANGE $(((i - 1) * 16384 / 3)) $((i * 16384 / 3 - 1))
    [ "$i" = 1 ] || do_ok "$first" CLUSTER MEET 127.0.0.1 "$port"
  done
  until_all cluster_known_nodes:6 CLUSTER INFO
  until=$((SECONDS + limit))
  for i in 0 1 2; do
    # A master may be known before its id is: then it is asked for again.
    until do_ok $((first + 3 + i)) CLUSTER REPLICATE "$(id_of $((first + i)))" 2>/dev/null; do
      [ "$SECONDS" -le "$until" ] || { echo "waited $limit s for port $((first + 3 + i)) to be a replica" >&2; return 1; }
      sleep 0.1
    done
  done
  until_all cluster_state:ok CLUSTER INFO
  ports="$((first + 3)) $((first + 4)) $((first + 5))" until_all master_link_status:up INFO replication
  # A short one makes nodes hear of each other soon; later it could hold a slow node for dead.
  for port in $ports; do do_ok "$port" CONFIG SET cluster-node-timeout 5000; done
}

stop() {
  local pids pid
  pids=$(cat "$dir"/*/pid 2>/dev/null) || true
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  for pid in $pids; do
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  done
  rm -rf "$dir"
}

addresses() { for port in $ports; do echo "127.0.0.1:$port"; done; }

run() {
  trap 'exit 130' INT TERM
  start
  addresses
  sleep infinity &
  sleeper=$!
  trap 'kill "$sleeper" 2>/dev/null || true; stop' EXIT
  wait "$sleeper"
}

# test_limiters leaves out what go test says of each test that passed within another.
test_limiters() {
  at 7301
  while [ -e "$dir" ] || [ -n "$(taken)" ]; do at $((12000 + RANDOM % 9000)); done
  trap 'exit 130' INT TERM
  start
  cd "$scripts/../adapter-outbound-cache-redis"
  EDGELIMIT_REDIS_SERVER=$("$scripts/redis-server") EDGELIMIT_REDIS_CLUSTER=$(addresses | paste -sd, -) GOWORK=off \
    go test -race -p 1 -parallel 8 -count=1 -tags cluster -run Cluster -v "$@" ./redistest ./duallog ./redislimit |
    awk '!/^ *=== / && !/^ +--- PASS/ && !/^PASS$/ { print; fflush() }'
}

case ${1:-run} in
start)
  at "${2:-7301}"
  start
  trap - EXIT
  addresses
  ;;
stop)
  at "${2:-7301}"
  stop
  ;;
run)
  at "${2:-7301}"
  run
  ;;
test)
  shift
  test_limiters "$@"
  ;;
*)
  sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac

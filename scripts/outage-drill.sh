#!/usr/bin/env bash
# Kills the Redis of two gateways under load and brings it back, under each outage
# policy, and counts what was admitted meanwhile.
#
#   scripts/outage-drill.sh                 about three minutes; writes docs/evidence/outage-drill.md
#   scripts/outage-drill.sh -short          half a minute; writes bin/outage-drill-short.md
#   scripts/outage-drill.sh -only WORD      the policies whose name contains WORD
#   scripts/outage-drill.sh -report FILE    writes FILE
#
# It fails, and writes nothing, if the figures do not bear out what is claimed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
export GOWORK=off

report=$root/docs/evidence/outage-drill.md
for argument in "$@"; do
  case $argument in -short | --short) report=$root/bin/outage-drill-short.md ;; esac
done
server=$("$root/scripts/redis-server")
mkdir -p "$root/bin/tool"
# Built and not "go run", which would not hand a signal on.
(cd "$root/scripts/drill" && go build -o "$root/bin/tool/drill" .)
exec "$root/bin/tool/drill" -root "$root" -redis "$server" -report "$report" "$@"

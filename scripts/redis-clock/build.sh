#!/usr/bin/env bash
# Compiles the preload of clock.c into the file that is named:
#
#   scripts/redis-clock/build.sh OUT.so
#   EDGELIMIT_CLOCK_FILE=FILE LD_PRELOAD=OUT.so redis-server ...
#
# It serves every server of the matrix: it asks of the C library only what all have.
# Without a compiler it installs Debian's gcc if that can be done.
set -euo pipefail
out=${1:?"which file to write"}
cc=${CC:-gcc}
if ! command -v "$cc" >/dev/null && [ -z "${CC:-}" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  {
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends gcc libc6-dev
  } >&2
fi
if ! command -v "$cc" >/dev/null; then
  echo "no $cc: install one (Debian: apt-get install gcc libc6-dev), or name a C compiler by CC" >&2
  exit 1
fi
half=$(mktemp "$out.XXXXXX") # a server may have the file of before mapped
trap 'rm -f "$half"' EXIT
"$cc" -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$half" "$(dirname "$0")/clock.c"
chmod 755 "$half"
mv "$half" "$out"

#!/usr/bin/env bash
# Makes a container image of a server of the matrix, from its files alone and without
# a registry, and prints the image's name:
#
#   scripts/redis-image.sh [NAME [TAG]]    NAME: see redis-matrix.sh, default redis-7.0
#                                          TAG: default edgelimit-redis:7.0.15, by product and version
#
# Made again only if the files or this script changed.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
name=${1:-redis-7.0}
if ! docker info >/dev/null 2>&1; then
  echo "no answer from a docker daemon: docker info says more" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Nothing that differs from one time to the next may be in the archive.
"$scripts/redis-matrix.sh" root "$name" "$work/root"
mkdir -p -m 1777 "$work/root/tmp"
tar -C "$work/root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/tar" .
sum=$(cat "$work/tar" "$0" | sha256sum | cut -d' ' -f1)

tag=${2:-}
if [ -z "$tag" ]; then
  version=$("$("$scripts/redis-matrix.sh" server "$name")" --version | sed 's/.* v=\([^ ]*\) .*/\1/')
  tag=edgelimit-${name%-*}:$version
fi
if [ "$(docker image inspect -f '{{index .Config.Labels "edgelimit.sum"}}' "$tag" 2>/dev/null)" != "$sum" ]; then
  docker import -c 'ENTRYPOINT ["redis-server"]' -c 'CMD ["--protected-mode","no","--bind","0.0.0.0"]' \
    -c 'EXPOSE 6379' -c "LABEL edgelimit.sum=$sum" "$work/tar" "$tag" >/dev/null
fi
echo "$tag"

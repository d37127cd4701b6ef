#!/usr/bin/env bash
# Runs the README's commands as a newcomer would: in a fresh minimal Debian 12 root, on a fresh clone.
#   tools/dev/bare_root.sh DIRECTORY COMMAND...      e.g.  bare_root.sh /srv/o3-root ./dev test
# DIRECTORY is made with debootstrap when it is absent. Needs root. Package sources, name resolution and
# certificate authorities are those of this host. The clone inside is made anew each time.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,6p' "$0" >&2; exit 2; }
root=$1
shift
source=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)

if [ ! -x "$root/usr/bin/apt-get" ]; then
  debootstrap --variant=minbase bookworm "$root" >/dev/null
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
# debootstrap leaves it out, and the browser's driver looks for localhost.
[ -e "$root/etc/hosts" ] || printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
# Under a name of its own: installing the package ca-certificates writes the usual file anew.
mkdir -p "$root/etc/ssl/certs"
authorities=/etc/ssl/host-authorities.crt
if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
  cp /etc/ssl/certs/ca-certificates.crt "$root$authorities"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
if [ -r /etc/apt/sources.list.d/debian.sources ]; then
  rm -f "$root/etc/apt/sources.list"
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
fi
if [ -r /etc/pip.conf ]; then grep -v "^ *cert *=" /etc/pip.conf >"$root/etc/pip.conf" || true; fi

mounted=()
cleanup() { for place in "${mounted[@]}"; do umount -l "$place" || true; done; }
trap cleanup EXIT
for place in proc sys dev dev/pts dev/shm; do
  mkdir -p "$root/$place"
  mountpoint -q "$root/$place" || { mount --bind "/$place" "$root/$place"; mounted=("$root/$place" "${mounted[@]}"); }
done

rm -rf "$root/home/o3"
git clone -q "$source" "$root/home/o3"
env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  PIP_CERT="$authorities" \
  chroot "$root" bash -c 'cd /home/o3 && exec "$@"' bash "$@"

# shellcheck shell=bash
# Installs the Debian packages that are missing. Sourced by ./dev; works as root or with sudo.

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing packages needs root or sudo; as root run: $*"
  fi
}

# wanted_packages run|test: names of the section and those before it
wanted_packages() {
  awk -v want="$1" '
    /^# \[/ { section = substr($2, 2); sub(/\].*/, "", section); next }
    /^#/ || NF == 0 { next }
    section == "run" || want == "test" { print $1 }' tools/dev/packages.txt
}

setup() {
  local missing=() package
  while read -r package; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done < <(wanted_packages "${1:-run}")
  [ "${#missing[@]}" -eq 0 ] && return 0
  [ -r /etc/debian_version ] || die "this script installs Debian packages; on another system install by hand: ${missing[*]}"
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

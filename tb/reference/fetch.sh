#!/bin/sh
# Fetches a server of Debian, with the libraries that it needs, and unpacks it into build/NAME/: of Debian 13
# memcached 1.6.38, the reference of the tests, or valkey 8.1, with which the bench compares; of Debian 12
# prometheus, with promtool and prometheus-redis-exporter beside it. Nothing
# is installed; build/NAME/NAME starts it. Or fetches sources, for the tests in them, into build/NAME/root/:
# those of Redis 7.0 (redis-source, Debian 12) and of Debian's newest memcached (memcached-source, sid).
set -eu

name=${1:-memcached}
suite=trixie kind=deb
case $name in
  redis-source) suite=bookworm kind=deb-src ;;
  memcached-source) suite=sid kind=deb-src ;;
  memcached)
    programs=memcached
    packages="memcached libc6 libevent-2.1-7t64 libssl3t64 libsasl2-2 libseccomp2 libzstd1 zlib1g" ;;
  valkey)
    # The tools have the whole program, which under another name is the server.
    programs=valkey-check-rdb
    packages="valkey-tools libc6 libatomic1 libcap2 libgcc-s1 libjemalloc2 liblzf1 libssl3t64
      libstdc++6 libsystemd0 libzstd1 zlib1g" ;;
  prometheus)
    suite=bookworm
    programs="prometheus promtool prometheus-redis-exporter"
    packages="prometheus prometheus-redis-exporter libc6" ;;
  *) echo "fetch.sh: '$name' is neither memcached, valkey nor prometheus, nor redis-source or memcached-source" >&2; exit 2 ;;
esac

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/build/$name

if [ -x "$dir/$name" ] || [ -e "$dir/fetched" ]; then exit 0; fi
rm -rf "$dir"
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/debs" "$dir/root"

mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
  'Label: Debian' 2>/dev/null | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "$kind [signed-by=$keyring] $mirror $suite main" > "$dir/sources.list"

apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" -o APT::Sandbox::User= "$@"
}
echo "$name: reading the package list of Debian's $suite at $mirror"
apt update
if [ $kind = deb-src ]; then
  # Debian's patches are not for the tests.
  (cd "$dir/debs" && apt source --download-only --tar-only "${name%-source}")
  tar -xf "$dir"/debs/*.orig.tar.* -C "$dir/root" --strip-components=1
  rm -rf "$dir/lists" "$dir/cache"
  basename "$dir"/debs/*.orig.tar.* | sed 's/.*_\(.*\)\.orig.*/\1/' > "$dir/fetched"
  exit 0
fi
(cd "$dir/debs" && apt download $packages)
for deb in "$dir"/debs/*.deb; do dpkg -x "$deb" "$dir/root"; done
rm -rf "$dir/lists" "$dir/cache"

# The programs bring their own loader and C library: Debian 12's are too old for them.
loader=$(find "$dir/root" -name 'ld-linux-*.so.*' | head -n 1)
libs=$(dirname "$(find "$dir/root" -name 'libc.so.6' | head -n 1)")
launch() {
  cat > "$dir/$1.tmp" <<LAUNCHER
#!/bin/sh
exec "$loader" --library-path "$libs" --argv0 "$1" "$dir/root/usr/bin/$2" "\$@"
LAUNCHER
  chmod +x "$dir/$1.tmp"
  "$dir/$1.tmp" --version
  mv "$dir/$1.tmp" "$dir/$1"
}
# The one that says that all is there comes last.
for program in ${programs#* }; do
  [ "$program" = "$programs" ] || launch "$program" "$program"
done
launch "$name" "${programs%% *}"

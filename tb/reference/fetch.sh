#!/bin/sh
# Fetches the reference memcached, Debian 13's 1.6.38, with the libraries that it needs, and
# unpacks them into build/memcached/. Nothing is installed; build/memcached/memcached starts it.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/build/memcached
packages="memcached libc6 libevent-2.1-7t64 libssl3t64 libsasl2-2 libseccomp2 libzstd1 zlib1g"

if [ -x "$dir/memcached" ]; then exit 0; fi
rm -rf "$dir"
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/debs" "$dir/root"

mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
  'Label: Debian' 2>/dev/null | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror trixie main" > "$dir/sources.list"

apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" -o APT::Sandbox::User= "$@"
}
echo "reference memcached: reading the package list of Debian 13 at $mirror"
apt update
(cd "$dir/debs" && apt download $packages)
for deb in "$dir"/debs/*.deb; do dpkg -x "$deb" "$dir/root"; done
rm -rf "$dir/lists" "$dir/cache"

# The programs bring their own loader and C library: Debian 12's are too old for them.
loader=$(find "$dir/root" -name 'ld-linux-*.so.*' | head -n 1)
libs=$(dirname "$(find "$dir/root" -name 'libc.so.6' | head -n 1)")
cat > "$dir/memcached.tmp" <<LAUNCHER
#!/bin/sh
exec "$loader" --library-path "$libs" "$dir/root/usr/bin/memcached" "\$@"
LAUNCHER
chmod +x "$dir/memcached.tmp"
"$dir/memcached.tmp" --version
mv "$dir/memcached.tmp" "$dir/memcached"

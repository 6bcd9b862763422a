#!/bin/sh
# `make package`: a Debian package and a static tarball of the software body, with man pages and completions, into
# build/package. VERSION=1.2.3 sets the version; without it, it is that of Cargo.toml, with the commit behind it where the
# commit is not the version's tag.
#
# The simulated card is in none of them: its model is compiled for the machine that it is compiled on.
set -eu
cd "$(dirname "$0")/.."

arch=$(dpkg --print-architecture)
host=$(rustc -vV | sed -n 's/^host: //p')
static=$(echo "$host" | sed 's/-unknown-linux-.*/-unknown-linux-musl/')
cargo_version=$(sed -n '/^\[workspace.package\]/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.toml)
version=${VERSION:-}
if [ -z "$version" ]; then
  version=$cargo_version
  if commit=$(git log -1 --format=%cd.%h --date=format:%Y%m%d 2> /dev/null) &&
    [ "$(git describe --tags --exact-match 2> /dev/null)" != "v$version" ]; then
    version=$version+git$commit
  fi
fi
case $version in
  [0-9]*) ;;
  *) echo "package.sh: VERSION '$version' does not begin with a digit" >&2; exit 2 ;;
esac
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || date +%s)
export SOURCE_DATE_EPOCH

# What is distributed runs on any machine of its kind, whatever the user's flags for the compiler are.
unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
export CARGO_BUILD_BUILD_DIR="$PWD/build/target" CARGO_TARGET_DIR="$PWD/build/target-package"
build() { MAKEFLAGS='' cargo build --release --locked -q -p wirekv --no-default-features --features "$@"; }

out=$PWD/build/package
made=$out/made
rm -rf "$out"
mkdir -p "$made/pages"
build soft,pages
"$CARGO_TARGET_DIR/release/wirekv" pages "$made/pages"
build soft
strip -o "$made/wirekv" "$CARGO_TARGET_DIR/release/wirekv"

# ------------------------------------------------------------------ what both have

# To a folder, as below /usr: all but the program.
install_to() {
  mkdir -p "$1/share/man/man1" "$1/share/bash-completion/completions" "$1/share/zsh/vendor-completions" \
    "$1/share/fish/vendor_completions.d" "$1/share/doc/wirekv" "$1/bin"
  for page in "$made"/pages/*.1; do gzip -9n < "$page" > "$1/share/man/man1/$(basename "$page").gz"; done
  cp "$made/pages/wirekv.bash" "$1/share/bash-completion/completions/wirekv"
  cp "$made/pages/_wirekv" "$1/share/zsh/vendor-completions/_wirekv"
  cp "$made/pages/wirekv.fish" "$1/share/fish/vendor_completions.d/wirekv.fish"
  cp docs/OPERATING.md "$1/share/doc/wirekv/"
}

# ------------------------------------------------------------------ the Debian package

root=$made/root
install_to "$root/usr"
install -D "$made/wirekv" "$root/usr/bin/wirekv"
install -D -m 644 deploy/wirekv.service "$root/lib/systemd/system/wirekv.service"
install -D -m 644 deploy/wirekv.default "$root/etc/default/wirekv"
install -D -m 644 deploy/debian/copyright "$root/usr/share/doc/wirekv/copyright"
# The newest section is this version's, whatever its heading says.
awk -v version="$version" -v now="$(date -R -u -d "@$SOURCE_DATE_EPOCH")" '
  function close_section() {
    if (open) printf "\n -- WireKV <maintainers@wirekv.invalid>  %s\n\n", date
    open = 0
  }
  /^## / {
    close_section()
    name = $2; date = now
    if ($4 ~ /^[0-9-]+$/) { command = "date -R -u -d " $4; command | getline date; close(command) }
    if (first++ == 0) name = version
    if (name == "Unreleased") next
    printf "wirekv (%s) unstable; urgency=medium\n\n", name
    open = 1
    next
  }
  open && /^- / { sub(/^- /, "  * "); print; next }
  open && /^  / { print "  " $0 }
  END { close_section() }
' CHANGELOG.md | gzip -9n > "$root/usr/share/doc/wirekv/changelog.gz"
mkdir "$root/DEBIAN"
cp deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN/"
chmod 755 "$root"/DEBIAN/p*
echo /etc/default/wirekv > "$root/DEBIAN/conffiles"
# The newest version of the C library whose symbols the program wants.
libc=$(objdump -T "$made/wirekv" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -1)
cat > "$root/DEBIAN/control" << END
Package: wirekv
Version: $version
Architecture: $arch
Maintainer: WireKV <maintainers@wirekv.invalid>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: libc6 (>= $libc), libgcc-s1, passwd
Section: database
Priority: optional
Description: key-value cache that memcached's and Redis' clients talk to
 A cache that speaks memcached's text, meta and binary protocols and Redis'
 RESP2 and RESP3 over the same items. This is the software body of WireKV,
 whose data path is also a hardware design.
END
chmod -R u=rwX,go=rX "$root"
dpkg-deb --root-owner-group -Zxz -b "$root" "$out/wirekv_${version}_$arch.deb" > /dev/null
echo "$out/wirekv_${version}_$arch.deb"

# ------------------------------------------------------------------ the tarball

# The C library must be within the program: musl's, as glibc's loads others when it looks for users and hosts.
if [ ! -e "$(rustc --print target-libdir --target "$static")" ]; then
  echo "package.sh: no tarball: this Rust has no target $static, as Debian's has not; rustup target add $static" >&2
  exit 0
fi
build soft --target "$static"
name=wirekv-$version-$(uname -m)-linux
install_to "$made/$name"
strip -o "$made/$name/bin/wirekv" "$CARGO_TARGET_DIR/$static/release/wirekv"
cp LICENSE deploy/wirekv.service deploy/wirekv.default "$made/$name/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$made" -czf "$out/$name.tar.gz" "$name"
echo "$out/$name.tar.gz"

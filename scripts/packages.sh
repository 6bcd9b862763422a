#!/bin/sh
# Installs the Debian packages of a set, where it may (root, or sudo without a password); otherwise says which are
# missing. The sets: serve, what compiles the program and the simulated card; test, what `make test` needs beside; dpdk and
# machine, what `make server FEATURES=dpdk` and `FEATURES=machine` need beside; package and browser, what
# `make test-package` and `make test-page` do.
# None of them starts a service: servers that tests need are unpacked (tb/reference/fetch.sh).
set -eu

set_=${1:-test}

# A Rust from elsewhere (rustup) serves as well. Debian 12 has a new one under these names.
rust_minor() { cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p'; }
rust=
if [ "$(rust_minor || true)" = "" ] || [ "$(rust_minor)" -lt 91 ]; then
  rust="cargo-web rustc-web rustfmt-web"
fi

# go-redis, a client of the tests, wants 1.18.
go_minor() { go version 2>/dev/null | sed -n 's/^go version go1\.\([0-9]*\).*/\1/p'; }
go=
if [ "$(go_minor || true)" = "" ] || [ "$(go_minor)" -lt 18 ]; then go=golang-go; fi

# clang compiles the simulated card, with the C++ library of g++; Verilator is started by perl. The last two are for waves
# (--trace).
serve="g++ clang make perl python3 python3-venv ca-certificates $rust zlib1g-dev liblz4-dev"
# libpython3-dev brings the shared library that cocotb loads into the simulation.
# redis-tools has Redis' whole program, which is a server under the name redis-server; the package of
# that name would start a service.
# The firmware's compiler and C library.
machine="gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
test="ccache libpython3-dev libmemcached-tools redis-tools tcl netcat-openbsd openssl libio-socket-ssl-perl iproute2 iputils-ping $go $machine"
# DPDK with all its drivers.
dpdk="libdpdk-dev pkgconf"
# With a typeface.
browser="chromium chromium-driver fonts-dejavu-core"
# A bare Debian, and what says how far a unit is confined.
package="mmdebstrap binutils systemd"
case $set_ in
  serve) wanted=$serve ;;
  test) wanted="$serve $test" ;;
  dpdk) wanted="$serve $dpdk" ;;
  machine) wanted="$serve $machine" ;;
  browser) wanted=$browser ;;
  package) wanted="$serve $package" ;;
  *) echo "packages.sh: '$set_' is none of serve, test, dpdk, machine, package and browser" >&2; exit 2 ;;
esac

if ! command -v dpkg-query > /dev/null; then
  echo "This is no Debian: please see to it yourself that there are"
  echo "  clang++ and g++ for C++17, make, perl, Python 3.9 or newer with venv, Rust 1.91 or newer,"
  echo "  for FEATURES=dpdk DPDK 22.11 with its headers, and pkg-config,"
  echo "  for FEATURES=machine and the tests riscv64-unknown-elf-gcc with picolibc,"
  echo "  for the tests the tools of libmemcached, Redis 7.0 and its tools, Tcl, Go 1.18 or newer, nc, openssl, Perl's"
  echo "  IO::Socket::SSL, ip and ping."
  exit 0
fi

missing=
for package in $wanted; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then as_root=
elif command -v sudo > /dev/null && sudo -n true 2>/dev/null; then as_root="sudo -n"
else
  echo "Packages are missing. Please run, then try again:"
  echo "  sudo apt-get install$missing"
  exit 1
fi
echo "Installing$missing"
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing

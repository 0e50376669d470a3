#!/bin/sh
# Sets up a Debian machine and hands over to make.
#
#   sh bootstrap.sh [TARGET...]        e.g. demo, test, lint; no target: all
#   sh bootstrap.sh --packages-only [TARGET...]
#
# Installs the packages that are missing, as root or through sudo. If it can do neither,
# it prints the one command to run and exits 75. Installs nothing when nothing is missing.
set -eu
cd "$(dirname "$0")"

BUILD_PACKAGES='gcc make pkg-config libc6-dev libsqlite3-dev libssl-dev libtpl-dev
libzstd-dev libyaml-dev libjansson-dev libcurl4-openssl-dev
libmicrohttpd-dev check'
CHECK_PACKAGES='clang clang-format clang-tidy cppcheck shellcheck groff-base procps strace'
FUZZ_PACKAGES='clang libclang-rt-dev'
# Built with pkg-config; libtpl has no .pc file and is looked for by its header.
MODULES='sqlite3 libcrypto libzstd yaml-0.1 jansson libcurl libmicrohttpd check'

say() {
    printf 'bootstrap: %s\n' "$*" >&2
}

# The packages that a target needs beyond those for building.
packages_of() {
    case $1 in
    ci) echo "$CHECK_PACKAGES $FUZZ_PACKAGES" ;;
    lint | clang-tidy | cppcheck | shellcheck | format | format-check)
        echo "$CHECK_PACKAGES" ;;
    fuzz*) echo "$FUZZ_PACKAGES" ;;
    valgrind) echo valgrind ;;
    coverage) echo gcovr ;;
    dist) echo git ;;
    test-all) echo 'strace procps' ;;
    esac
}

missing_of() {
    for package; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || printf ' %s' "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

# apt's lists are missing on a fresh container, and may be too old to find a package.
lists_are_empty() {
    [ -z "$(find /var/lib/apt/lists -type f -name '*_Packages*' 2>/dev/null | head -n 1)" ]
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        -o Acquire::Retries=3 -qq "$@"
}

install_debian() {
    missing=$(missing_of "$@")
    [ -n "$missing" ] || return 0
    if ! can_be_root; then
        say "packages are missing, and this user may not install them. Run this, then again:"
        printf '  su -c "apt-get update && apt-get install -y --no-install-recommends%s"\n' "$missing"
        exit 75
    fi
    say "installing$missing"
    if lists_are_empty; then
        apt update
    fi
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! apt install -y --no-install-recommends $missing >"$log" 2>&1; then
        say "the package lists may be old: updating them, then trying once more"
        # shellcheck disable=SC2086
        if ! { apt update && apt install -y --no-install-recommends $missing; } >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log"
            say "the packages could not be installed; apt's own words are above"
            exit 75
        fi
    fi
    rm -f "$log"
}

# Not Debian: say what is needed, and go on if it is there under other names.
check_elsewhere() {
    say "this is not a Debian system. Needed, under the names that Debian gives them:"
    printf '  %s\n' "$(echo "$@" | tr '\n' ' ')" >&2
    for tool in make pkg-config cc; do
        command -v "$tool" >/dev/null || { say "$tool was not found"; exit 75; }
    done
    for module in $MODULES; do
        pkg-config --exists "$module" || { say "pkg-config does not find $module"; exit 75; }
    done
    echo '#include <tpl.h>' | cc -E -o /dev/null - 2>/dev/null || {
        say "the compiler does not find tpl.h"
        exit 75
    }
    say "all of it was found"
}

main() {
    only=
    if [ "${1-}" = --packages-only ]; then
        only=yes
        shift
    fi
    wanted=$BUILD_PACKAGES
    for target; do
        wanted="$wanted $(packages_of "$target")"
    done
    # shellcheck disable=SC2086
    if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
        install_debian $wanted
    else
        check_elsewhere $wanted
    fi
    [ -z "$only" ] || exit 0
    [ $# -gt 0 ] || set -- all
    # `ci` names only a list of packages: .ci/run does the rest.
    if [ "$*" = ci ]; then
        exec bash .ci/run
    fi
    say "make $*"
    exec make -s -j"${JOBS:-$(nproc 2>/dev/null || echo 2)}" "$@"
}

main "$@"

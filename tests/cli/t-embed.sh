# examples/embed: built against the static library, and by pkg-config against an
# installed shared one; run, resumed.
. "$TESTS/cli/tap.sh"

# try NAME COMMAND...: fails at b, goes on after mending, then has nothing to do
try() {
    tap_name=$1
    shift
    mkdir "$tap_name" && cd "$tap_name" || exit 1
    exits 1 "$@"
    is "$(tr '\n' ';' <out)" 'call 1: a;call 2: b;failed;' "$tap_name: stops at the broken step"
    touch mended
    exits 0 "$@"
    is "$(tr '\n' ';' <out)" 'call 1: b;call 2: c;completed;' "$tap_name: goes on there"
    exits 0 "$@"
    is "$(tr '\n' ';' <out)" 'call 1: a;call 2: b;call 3: c;completed;' "$tap_name: a finished run is followed by a new one"
    # The command reads what the library wrote.
    exits 0 cairn runs --store embed.cairn
    says 'embedded' "$tap_name: cairn sees the run"
    cd .. || exit 1
}

try static "$BUILD/examples/embed"
ok 'the example has at most 40 lines' test "$(wc -l <"$root/examples/embed/embed.c")" -le 40

if ldd "$BUILD/cairn" | grep -q 'lib[a-z]*san'; then
    skip 'the installed library' 'this is a build with sanitizers'
else
    run make -s -C "$root" -o all BUILD="$BUILD" DESTDIR="$PWD/stage" PREFIX=/usr install
    is "$status" 0 'make install'
    # PKG_CONFIG_SYSROOT_DIR puts the stage before the paths in cairn.pc.
    export PKG_CONFIG_PATH="$PWD/stage/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$PWD/stage" \
        PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
    # shellcheck disable=SC2046
    run ${CC:-cc} -std=c11 -Wall -Wextra -Werror -o embed "$root/examples/embed/embed.c" \
        $(pkg-config --cflags --libs cairn)
    is "$status" 0 'compiled with pkg-config'
    tap_context
    export LD_LIBRARY_PATH="$PWD/stage/usr/lib"
    ok 'linked with the shared library' sh -c 'ldd ./embed | grep -q "libcairn.so.*stage"'
    try shared "$PWD/embed"
    unset LD_LIBRARY_PATH
    # And from the installed archive, with the libraries that cairn.pc says it needs.
    mkdir archive && cp stage/usr/lib/libcairn.a archive
    # shellcheck disable=SC2046
    run ${CC:-cc} -std=c11 -Istage/usr/include -o embed-static "$root/examples/embed/embed.c" archive/libcairn.a \
        $(pkg-config --libs $(pkg-config --print-requires-private cairn)) $(sed -n 's/^Libs.private: //p' "$PKG_CONFIG_PATH/cairn.pc")
    is "$status" 0 'linked with the archive'
    tap_context
    try installed-static "$PWD/embed-static"
fi

done_testing

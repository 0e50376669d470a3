# examples/embed: built against the static library, and by pkg-config against an
# installed shared one; run, resumed.
. "$TESTS/cli/tap.sh"

# The command does not have the functions: it refuses, and changes nothing.
untouched() { # NAME
    exits 0 cairn status --tasks --json --store embed.cairn
    cp out before
    for words in 'resume' 'resume 1' 'resume 1 b' 'rerun a' 'resume --on-change=keep'; do
        # shellcheck disable=SC2086
        exits 2 cairn $words --store embed.cairn
        says 'run 1 has functions of a program: start that program' "$1: $words"
    done
    exits 0 cairn status --tasks --json --store embed.cairn
    ok "$1: the run is as it was" cmp -s out before
    exits 0 cairn status --store embed.cairn
    says 'resume with: the program that has its functions' "$1: status names the program"
    exits 2 cairn status --can-resume --store embed.cairn
    exits 0 cairn plan --store embed.cairn
    if grep -q 'file is gone' err; then
        tap_report 'not ok' "$1: no file is missed where there never was one"
    fi
    exits 0 cairn doctor --store embed.cairn
    says 'the program that has its functions' "$1: doctor names it, too"
}

# try NAME COMMAND...: fails at b, continues after mending, then has nothing to do
try() {
    tap_name=$1
    shift
    mkdir "$tap_name" && cd "$tap_name" || exit 1
    exits 1 "$@"
    is "$(tr '\n' ';' <out)" 'a;b;failed;' "$tap_name: stops at the broken step"
    untouched "$tap_name"
    touch mended
    exits 0 "$@"
    is "$(tr '\n' ';' <out)" 'b;sum: 25;completed;' "$tap_name: continues there, with the value of a from before"
    exits 0 "$@"
    is "$(tr '\n' ';' <out)" 'a;b;sum: 25;completed;' "$tap_name: a finished run is followed by a new one"
    # The command reads what the library wrote.
    exits 0 cairn runs --store embed.cairn
    says 'embedded' "$tap_name: cairn sees the run"
    exits 0 cairn values b square --store embed.cairn
    is "$(cat out)" 16 "$tap_name: and the values"
    exits 2 cairn rerun a --store embed.cairn
    exits 0 cairn status --store embed.cairn
    says '3: 3 completed' "$tap_name: a completed run stays so"
    cd .. || exit 1
}

try static "$BUILD/examples/embed"
ok 'the example has at most 60 lines' test "$(wc -l <"$root/examples/embed/embed.c")" -le 60

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

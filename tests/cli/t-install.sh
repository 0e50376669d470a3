# make install puts things where they belong, uninstall takes just these away again.
. "$TESTS/cli/tap.sh"
version=$(cat "$root/VERSION")

# staged TARGET [VARIABLE=VALUE...]
staged() {
    run make -s -C "$root" -o all BUILD="$BUILD" DESTDIR="$PWD/stage" "$@"
    is "$status" 0 "make $*"
}
staged install
for file in bin/cairn lib/libcairn.a "lib/libcairn.so.$version" lib/libcairn.so lib/libcairn.so.0 \
    include/cairn.h lib/pkgconfig/cairn.pc share/man/man1/cairn.1 \
    share/bash-completion/completions/cairn share/doc/cairn/LICENSE share/doc/cairn/README.md; do
    ok "$file is installed" test -s "stage/usr/local/$file"
done
ok 'nothing leads back to the build' sh -c '! grep -l "$BUILD" stage/usr/local/lib/pkgconfig/* stage/usr/local/share -r'
exits 0 stage/usr/local/bin/cairn --version
is "$(cat out)" "cairn $version" 'the installed command runs'
ok 'the public header stands alone' sh -c 'echo "#include \"stage/usr/local/include/cairn.h\"" |
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -x c -fsyntax-only -'
is "$(ls stage/usr/local/include)" cairn.h 'and is the only one'
echo keep >stage/usr/local/share/doc/cairn/somebody-elses
staged uninstall
is "$(find stage -type f -o -type l)" stage/usr/local/share/doc/cairn/somebody-elses 'uninstall takes just its own'

staged install PREFIX=/opt/cairn LIBDIR=/opt/cairn/lib64
ok 'PREFIX and LIBDIR are heeded' test -s stage/opt/cairn/lib64/libcairn.a
is "$(sed -n 's/^libdir=//p' stage/opt/cairn/lib64/pkgconfig/cairn.pc)" /opt/cairn/lib64 'by cairn.pc too'
staged uninstall PREFIX=/opt/cairn LIBDIR=/opt/cairn/lib64

if command -v bash >/dev/null; then
    ok 'the completion is valid bash' bash -n "$root/cli/completion.bash"
else
    skip 'the completion' 'there is no bash'
fi

done_testing

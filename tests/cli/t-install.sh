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
    include/cairn.h include/cairn/error.h lib/pkgconfig/cairn.pc share/man/man1/cairn.1 \
    share/man/man1/cairn-run.1 share/man/man1/cairn-checkpoint-undo-restore.1 \
    share/bash-completion/completions/cairn share/zsh/site-functions/_cairn \
    share/fish/vendor_completions.d/cairn.fish share/doc/cairn/LICENSE share/doc/cairn/README.md; do
    ok "$file is installed" test -s "stage/usr/local/$file"
done
ok 'nothing leads back to the build' sh -c '! grep -l "$BUILD" stage/usr/local/lib/pkgconfig/* stage/usr/local/share -r'
exits 0 stage/usr/local/bin/cairn --version
is "$(cat out)" "cairn $version" 'the installed command runs'
ok 'the completions for zsh and fish know where that for bash is' sh -c 'grep -l /usr/local/share/bash-completion/completions/cairn stage/usr/local/share/zsh/*/_cairn stage/usr/local/share/fish/*/cairn.fish | wc -l | grep -qx 2'
# Each header alone, by its path: none needs another one before it or an -I.
public() {
    (cd "$1" && find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort)
}
headers=$(public stage/usr/local/include)
is "$headers" "$(public "$root/include")" 'all public headers are installed, and no others'
cxx=$(command -v "${CXX:-c++}" || command -v g++ || command -v clang++ || true)
for header in $headers; do
    echo "#include \"stage/usr/local/include/$header\"" >alone.c
    ok "$header compiles alone" \
        ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only alone.c
    if [ -n "$cxx" ]; then
        ok "$header compiles alone as C++" \
            "$cxx" -Wall -Wextra -Wpedantic -Werror -x c++ -fsyntax-only alone.c
    else
        skip "$header compiles alone as C++" 'there is no C++ compiler'
    fi
done
# A program that counts live runs needs only the header of that subject.
cat >count.c <<'EOF'
#include <cairn/runs.h>
static int count_live(void *context, const struct cairn_run_info *info)
{
    *(int *)context += info->live;
    return 0;
}
int main(void)
{
    struct cairn_store_options options = {.read_only = true};
    struct cairn_page page = {.all = true};
    struct cairn_store *store;
    struct cairn_error error;
    int live = 0;
    int rc = cairn_store_open(&store, &options, &error);
    if (!rc) {
        rc = cairn_runs(store, NULL, &page, count_live, &live, NULL, &error);
        cairn_store_close(store);
    }
    return rc ? cairn_exit_status(rc) : live;
}
EOF
ok 'one header is enough to use its functions' \
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -Istage/usr/local/include -fsyntax-only count.c
echo keep >stage/usr/local/share/doc/cairn/somebody-elses
staged uninstall
is "$(find stage -type f -o -type l)" stage/usr/local/share/doc/cairn/somebody-elses 'uninstall takes just its own'
ok 'and leaves no empty folder of headers' test ! -e stage/usr/local/include/cairn

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

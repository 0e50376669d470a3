# make: sanitize
# examples/ci-library, as its README tells it: what each commit runs, a failing test that
# is mended, and a source that goes away.
. "$TESTS/cli/tap.sh"

for program in cc gcc python3 curl; do
    command -v $program >/dev/null || skip_all "there is no $program"
done
cp -r "$root/examples/ci-library" library && cd library || exit 1
# Where clang or its sanitizers are not installed, gcc under another name.
echo 'int main(void) { return 0; }' >try.c
usable() { "$1" -fsanitize=address,undefined try.c -o try 2>/dev/null && ./try; }
usable gcc || skip_all 'gcc has no sanitizers'
usable clang || sed -i 's/clang/cc/' cairn.yaml
rm -f try try.c

# commits STATUS WANT DESCRIPTION: what `cairn run` runs, as "TASK TIMES ...".
commits() {
    exits "$1" cairn run --json
    is "$(sed -n 's/.*"type":"task_started".*"task":"\([a-z]*\).*/\1/p' out | sort |
        uniq -c | awk '{ printf "%s %s ", $2, $1 }')" "$2" "$3"
}
commits 0 'archive 4 compile 12 package 1 server 1 test 12 ' 'the first commit: all of it'
commits 0 '' 'the same again: nothing'
echo '/* more */' >>src/http.c
commits 0 'compile 4 ' 'a comment: its file'
echo '/* more */' >>test/url.c
commits 0 'package 1 server 1 test 4 ' 'a test: this test'

# ---- A part of the matrix goes away ----
sed -i 's/address, //' cairn.yaml
commits 0 'package 1 ' 'the package is made without it'
is "$(tar -tf liburl.tar | grep -c '^build')" 2 'it has the libraries of the rest'

# ---- A failing test ----
sed -i 's/high \* 16/high * 10/' src/percent.c
commits 1 'archive 2 compile 2 server 1 test 6 ' 'code: its file, and what has it in'
exits 0 cairn status
says '4 failed' 'the tests of percent and url, and no others'
exits 0 cairn log 'test[cc=gcc,src=test/url.c]'
says 'Assertion' 'the log of one'
sed -i 's/high \* 10/(high << 4)/' src/percent.c
is "$(planned | tr ' ' '\n' | grep -c '^compile.*src/percent.c')" 2 'the plan knows the mended file'
commits 0 'archive 2 compile 2 package 1 server 1 test 6 ' 'mended: the same run goes on'
exits 0 cairn status
says '16 completed'
commits 0 '' 'a new run: nothing is left'

# ---- A test that is wrong itself: what has passed stays done ----
sed -i 's/%20b/%2Xb/' test/url.c
commits 1 'server 1 test 2 ' 'this test'
sed -i 's/%2Xb/%20b/; s/more/more of it/' test/url.c
commits 0 'package 1 server 1 test 2 ' 'mended: this test'

# ---- A source goes away, and its test ----
rm src/http.c test/http.c
commits 0 'archive 2 package 1 server 1 test 4 ' 'the libraries are made without it'
is "$(ar t build/gcc-undefined/liburl.a | sort | tr '\n' ' ')" 'percent.o url.o ' 'it is in none of them'
exits 0 cairn checkpoint verify
cd .. || exit 1

# ---- With redis, in the lines that the README has for it ----
if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
    cat >redis.yaml <<'END'
name: redis
tasks:
  server:
    service: true
    port: true
    restart: 1
END
    sed -n '/^    run: exec redis/,/^    ready/p' "$root/examples/ci-library/README.md" >>redis.yaml
    # shellcheck disable=SC2016
    echo '  test: {needs: server, run: '\''redis-cli -p "$CAIRN_PORT_SERVER" set a 1'\''}' >>redis.yaml
    exits 0 cairn run redis.yaml
else
    skip 'redis as a service' 'there is no redis-server'
fi
done_testing

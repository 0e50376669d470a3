# cairn checkpoint bisect: the command finds the files of each checkpoint, in a directory
# of their own, and what is in the working directory is neither looked at nor changed.
. "$TESTS/cli/tap.sh"
TMPDIR=$PWD/tmp
export TMPDIR
unset CAIRN_STORE
mkdir tmp proj
cd proj || exit 1
exits 0 cairn init
exits 0 cairn session start script
exits 0 cairn session config files .

# A program that adds, and its test: from the 13th of 20 checkpoints on it subtracts.
mkdir lib
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    op=+
    [ $i -lt 13 ] || op=-
    printf '#!/bin/sh\n. lib/add.sh\necho "version %s: $(add "$1" "$2")"\n' $i >main
    printf 'add() { echo $(($1 %s $2)); } # %s\n' "$op" $i >lib/add.sh
    chmod 0755 main
    ln -sf "lib/add.sh" link
    [ $i != 10 ] || echo 'in number 10 alone' >lib/ten
    [ $i != 11 ] || rm lib/ten
    cairn checkpoint create "number $i" >>../ids 2>/dev/null
done
top=${PWD%/*}
id_of() { sed -n "$1p" "$top/ids"; }
mixed() { sed -n "$1p" "$top/mixed"; }
is "$(grep -c '^debug:' ../ids)" 20 'there are 20 checkpoints'

# ---- The first bad one ----
# The working directory is in the middle of something.
echo 'half an edit' >lib/add.sh
rm main link
echo mine >untracked
state() { find . -mindepth 1 -path ./.cairn -prune -o -name out -o -name err -o -printf '%p %y %m %T@\n' | sort; cat lib/add.sh untracked; }
bytes() { cat .cairn/cairn.db .cairn/cairn.db-wal 2>/dev/null | sha256sum; }
before=$(state) stored=$(bytes)
cat >../test.sh <<'END2'
[ "$(cat link)" = "$(cat lib/add.sh)" ] || exit 128
[ -x main ] || exit 128
[ ! -e untracked ] || exit 128
./main 2 3 | grep -q ': 5$'
status=$?
echo built >lib/product
echo changed >lib/add.sh
rm main
exit $status
END2
exits 0 cairn checkpoint bisect --good 1 --bad 20 -- sh "$PWD/../test.sh"
is "$(cat out)" "$(id_of 13)" 'the checkpoint that broke it'
says 'number 13'
ok 'nothing is said of files that are missing' sh -c '! grep -q -e "not its files" -e "holds no files" err'
is "$(state)" "$before" 'the working directory is as it was'
is "$(bytes)" "$stored" 'so is the store'
is "$(ls "$TMPDIR")" '' 'nothing is left of the directories'
exits 0 cairn checkpoint bisect --good 1 --bad 20 --json -- sh "$PWD/../test.sh"
json_ok 'as JSON'
is "$(json_get .first_bad) $(json_get '.steps[0].files')" "$(id_of 13) true" 'each step says that it had files'
mkdir -p lib/deeper
cd lib/deeper || exit 1
exits 0 cairn checkpoint bisect --good 12 --bad 14 -- sh -c 'echo "$OLDPWD" >"$TMPDIR/../oldpwd"; ! grep -q " - " lib/add.sh'
is "$(cat out)" "$(id_of 13)" 'from below, the command is at the top of the files'
cd ../..
is "$(cat ../oldpwd)" "$PWD/lib/deeper" 'and knows where bisect was called'
rm -r lib/deeper

# ---- The program itself is a file of the checkpoint ----
exits 0 cairn checkpoint bisect --check --good 12 --bad 14 -- sh -c './main 2 3 | grep -q ": 5$"'
is "$(cat out)" "$(id_of 13)" 'with --check, too'
cat >present.sh <<'END2'
#!/bin/sh
[ "$(./main 2 3)" = "version $(sed -n 's/.*version \([0-9]*\).*/\1/p' main): 5" ]
END2
chmod +x present.sh
exits 0 cairn checkpoint bisect --good 1 --bad 20 -- ./present.sh
is "$(cat out)" "$(id_of 13)" 'a program that the checkpoint does not have is found where bisect was called'
printf '#!/bin/sh\nexit 1\n' >main
chmod +x main
exits 0 cairn checkpoint bisect --check --good 3 --bad 14 -- sh -c './main 2 3 | grep -q "version [3-9]:"'
exits 0 cairn checkpoint bisect --good 1 --bad 3 --json -- ./main 2 3
is "$(json_get '.steps[0].verdict')" good 'one that it has is that of the checkpoint'
rm main present.sh
before=$(state)

# ---- Two at once ----
for n in 1 2; do
    cairn checkpoint bisect --good 1 --bad 20 -- \
        sh -c "touch ../../../up.$n; while [ ! -e ../../../up.$((3 - n)) ]; do sleep 0.05; done; ! grep -q ' - ' lib/add.sh" \
        >../out.$n 2>../err.$n &
    eval "pid$n=\$!"
done
wait $pid1
is $? 0 'two at once: the first one finds it'
wait $pid2
is $? 0 'the second one, too'
is "$(cat ../out.1) $(cat ../out.2)" "$(id_of 13) $(id_of 13)" 'both the same'
is "$(ls "$TMPDIR")" '' 'nothing is left of either'

# ---- Killed in the middle ----
cairn checkpoint bisect --good 1 --bad 20 -- \
    sh -c 'touch ../../../running; while [ ! -e ../../../go ]; do sleep 0.05; done; touch ../../../gone' >../out 2>../err &
pid=$!
ok 'the command runs' wait_for 20 test -e ../running
kill -9 $pid
wait $pid 2>/dev/null
is "$(state)" "$before" 'killed: the working directory is as it was'
ok 'the files of the probe are left' sh -c 'test -e "$TMPDIR"/*/probe-1/lib/add.sh'
touch ../go
wait_for 20 test -e ../gone
removed() { cairn checkpoint bisect --good 1 --bad 3 -- true >out.removed 2>&1; rm out.removed; [ -z "$(ls "$TMPDIR")" ]; }
ok 'the next bisect removes them' wait_for 20 removed

# ---- Checkpoints without files, or with some that could not be kept ----
exits 0 cairn session start mixed
run cairn session config files off
for i in 1 2 3 4; do
    [ $i != 3 ] || run cairn session config files .
    cairn note add "note $i" >../out 2>../err
    cairn checkpoint create "mixed $i" >>../mixed 2>/dev/null
done
exits 0 cairn checkpoint bisect --check --good "$(mixed 1)" --bad "$(mixed 4)" --json -- sh -c '[ ! -e untracked ]'
is "$(json_get .first_bad)" "$(mixed 3)" 'of those that hold no files the directory is empty'
is "$(json_get '.steps[0].files') $(json_get '.steps[1].files')" 'false true' 'which JSON says'
says "$(mixed 1) holds no files" 'and a warning'
exits 0 cairn checkpoint bisect --good "$(mixed 1)" --bad "$(mixed 2)" -- true
ok 'where no checkpoint holds files nothing is said' sh -c '! grep -q "holds no files" err'
mkfifo pipe
cairn checkpoint create 'with a pipe' >>../mixed 2>/dev/null
exits 0 cairn checkpoint bisect --check --good "$(mixed 1)" --bad "$(mixed 5)" -- test ! -e untracked
says "$(mixed 5) has only the names of 1 files" 'that files are missing is said'
rm pipe

# ---- Contents that are damaged, a full disk ----
cp -a ../proj ../damaged
cd ../damaged || exit 1
digest=$(echo 'in number 10 alone' | sha256sum | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE object SET data = x'00' WHERE digest = x'$digest'"
exits 0 cairn checkpoint bisect --good 1 --bad 20 --json -- sh -c '! grep -q " - " lib/add.sh'
is "$(json_get .first_bad) $(json_get '.skipped[0]')" "$(id_of 13) $(id_of 10)" 'one with a damaged file is skipped'
says 'lib/ten' 'and the file is named'
cd ../proj || exit 1
mkdir ../small
head -c 3000000 /dev/urandom >large
cairn checkpoint create 'large' >>../mixed 2>/dev/null
rm large
if mount -t tmpfs -o size=2m none ../small 2>../err; then
    last=$(mixed '$')
    TMPDIR=$PWD/../small
    exits 75 cairn checkpoint bisect --check --good "$(mixed 4)" --bad "$last" -- true
    says 'No space left on device'
    says 'TMPDIR' 'what helps is said'
    is "$(ls ../small)" '' 'a full disk: nothing is left there'
    exits 0 cairn checkpoint verify
    umount ../small
else
    skip 'a full disk' 'a file system cannot be mounted'
fi
done_testing

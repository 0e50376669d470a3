# The disk of the store is full: what tasks print is kept in memory meanwhile, and no task
# fails because of it. What could not be kept in the end is named, with exit status 9.
. "$TESTS/cli/tap.sh"
if [ -z "${CAIRN_DISK_INSIDE-}" ]; then
    unshare -Urm sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null ||
        skip_all 'no user and mount namespaces here'
    CAIRN_DISK_INSIDE=yes exec unshare -Urm sh "$0"
fi
mkdir disk w own
mount -t tmpfs -o size=24m none disk
export CAIRN_STORE="$PWD/disk/.cairn"
disk=$PWD/disk own=$PWD/own
cd w || exit 1

fill() { # all but $1 KiB
    head -c 100m /dev/zero >"$disk/filler" 2>/dev/null
    truncate -s "-${1}k" "$disk/filler"
}
cat >fill <<END
head -c 100m /dev/zero >$disk/filler 2>/dev/null || true
END

# ---- Tasks that start on a full disk ----

cat >late.yaml <<'END'
name: late
jobs: 2
tasks:
  fill: {run: "sh ./fill"}
  print: {run: "seq 1 100000", needs: [fill]}
  both: {stderr: apart, run: "seq 1 3000; seq 1 3000 >&2", needs: [fill]}
  noise: {run: "head -c 700000 /dev/urandom | base64", needs: [fill]}
  quiet: {run: "true", needs: [fill]}
END
# Compressed, what `print` prints may fit into a log that is begun anew; noise does not.
exits 9 cairn run late.yaml
says 'ok   print' 'a task that prints completes on a full disk'
says 'ok   both'
says 'the output of noise cannot be kept' 'what is not saved is told'
rm "$disk/filler"
exits 0 cairn resume
says 'nothing to do' 'all outcomes are saved'

# ---- The disk gets room again before the run ends: nothing is lost ----

rm -rf "$CAIRN_STORE"
sed "s|quiet: .*|free: {run: 'sleep 0.5; rm $disk/filler; sleep 2.5', needs: [print, both]}|" late.yaml >x && mv x late.yaml
exits 0 cairn run late.yaml
cairn log print >out
is "$(sort -n out | uniq | wc -l)" 100000 'what was printed meanwhile is all there'
run cairn log both --stderr
is "$(tail -n 1 err)" 3000 'of both streams'

# ---- A task that runs when the disk becomes full ----

rm -rf "$CAIRN_STORE"
cat >running.yaml <<END
name: running
tasks:
  old: {run: "echo begun; touch at; while [ ! -e full ]; do sleep 0.02; done; seq 1 4000; rm $disk/filler; sleep 2"}
END
cairn run running.yaml >run.out 2>&1 &
pid=$!
ok 'it runs' wait_for 20 test -e at
sleep 0.6
fill 0
touch full
wait $pid
is $? 0 'a task that was running continues printing'
cairn log old >out
is "$(tail -n 1 out)" 4000 'and what it printed is kept'

# ---- More is printed than there is room for ----

rm -rf "$CAIRN_STORE" "$disk/filler" log
cat >much.yaml <<'END'
name: much
tasks:
  much: {run: "echo much >>log; head -c 40000000 /dev/urandom"}
  few: {run: "echo few >>log; echo printed", needs: [much]}
END
exits 9 cairn run much.yaml --output-limit 48M
says 'the output of much cannot be kept' 'what there is no room for is named'
ok 'no outcome is lost for it' sh -c '! grep -q "could not be saved" err'
exits 0 cairn log few
is "$(cat out)" printed 'nor what is small'
exits 0 cairn resume
says 'nothing to do'
is "$(cat log)" "much
few" 'nothing runs twice'

# ---- Whose disk it is ----

rm -rf "$CAIRN_STORE"
mount -t tmpfs -o size=64k none "$own"
cat >own.yaml <<END
name: own
tasks:
  a: {cwd: "$own", run: "head -c 1m /dev/zero >file"}
END
for more in '' --quiet --json; do
    # shellcheck disable=SC2086
    exits 1 cairn run own.yaml --fresh $more
    is "$(grep -c "^DISK FULL .* works in $own" err)" 1 'a full disk of the task is told, once, by its name'
    says 'free space, then `cairn resume`' 'with what to do'
    ok 'and not taken for that of the store' sh -c '! grep -q "what tasks write is kept" err'
    [ "$more" != --json ] || is "$(grep -c '"type":"disk_full"' out)" 1 'as an event, too'
done
sed "s/head .*file/exit 1/" own.yaml >x && mv x own.yaml
umount "$own"
exits 1 cairn run own.yaml --fresh
ok 'with room nobody speaks of the disk' sh -c '! grep -q "DISK FULL" err'
done_testing

# shellcheck disable=SC2016
# Copies of outputs that are put back (`reuse: {keep}`): many files and large ones, by
# several threads; by two runs at once, while another makes them, while gc takes the
# copies, and on a full disk. What is there afterwards is whole, or the task has run.
. "$TESTS/cli/tap.sh"

ran() { # the tasks that ran since the last call, sorted
    [ ! -f ran.log ] || sort ran.log | tr '\n' ' '
    rm -f ran.log
}
left() { # what a put-back has left beside the files
    find . -name '.cairn-restore-*' | tr '\n' ' '
}
sql() { "$BUILD/tests/tools/sql" .cairn/cairn.db "$1"; }
all_of() {
    (cd m && find . -type d -exec stat -c '%n %a %Y' {} + | sort && find . -type f -exec stat -c '%n %a %Y %s %F' {} + | sort &&
        find . -type f -exec sha256sum {} + | sort && readlink link)
}
clear_m() {
    chmod -R u+w m
    rm -rf m
}

# ---- Many files, and files in chunks, by several threads ----
cat >many.yaml <<'END'
name: many
tasks:
  a:
    run: |
      echo a >>ran.log; chmod -fR u+w m || :; rm -rf m; mkdir -p m/empty m/locked
      for i in $(seq 40); do mkdir -p m/$i; for k in $(seq 10); do echo $i $k >m/$i/$k; done; done
      seq 400000 400000000 | head -c 20000000 >m/text
      { seq 900000; head -c 9000000 /dev/zero; seq 900000; head -c 5000000 /dev/zero; } >m/holes
      [ "$part" != random ] || head -c 20000000 /dev/urandom >m/random
      ln -s text m/link; echo 1 >m/locked/x; chmod 500 m/locked; touch -d 2019-01-01 m/text m/empty m/locked
    env: {part: random}
    outputs: m
    reuse: {keep: 1h}
END
exits 0 cairn run many.yaml
ran >/dev/null
all_of >was
clear_m
exits 0 cairn run many.yaml --fresh
is "$(ran)" '' 'many are put back'
all_of >now
ok 'as they were' cmp was now
is "$(left)" '' 'with nothing beside'
sql "UPDATE object SET data = zeroblob(length(data)) WHERE id = (SELECT max(id) FROM object WHERE length(data) > 500000)" >/dev/null
sed -i 's/part: random/part: none/' many.yaml
exits 0 cairn run many.yaml
sed -i 's/part: none/part: random/' many.yaml
ran >/dev/null
echo 1 >m/other
exits 0 cairn run many.yaml --fresh
matches 'cannot be put back, so it runs: m.random: the stored object .* is damaged' 'a chunk that is poisoned is named with its file'
is "$(ran)" 'a ' 'and the task runs'
is "$(left)" '' 'with nothing beside'

# ---- Two runs at once that put back the same, and one that makes it ----
sed -i 's/part: random/part: none/' many.yaml
for n in 1 2; do
    sed "s/^name: many/name: many$n/" many.yaml >many$n.yaml
    exits 0 cairn run many$n.yaml
done
(cd m && find . -type f ! -name other -exec sha256sum {} + | sort) >sums
check_m() {
    (cd m && find . -type f -exec sha256sum {} + | sort) >now
    ok "$1" cmp sums now
}
clear_m
cairn run many1.yaml --fresh >said1 2>&1 &
pid=$!
cairn run many2.yaml --fresh >said2 2>&1
second=$?
wait $pid
is "$? $second" '0 0' 'two runs put back the same outputs at once'
check_m 'each file is there, and whole'
is "$(left)" '' 'with nothing beside'
clear_m
cairn run many1.yaml --fresh >said1 2>&1 &
pid=$!
cairn run many2.yaml --fresh --no-reuse >said2 2>&1
wait $pid
exits 0 cairn run many1.yaml --fresh
check_m 'after one that put them back while the other made them'
is "$(left)" '' 'with nothing beside'

# ---- gc takes the copies while they are put back ----
clear_m
ran >/dev/null
cairn run many1.yaml --fresh >said 2>&1 &
pid=$!
wait_for 20 sh -c 'ls -d .cairn/.cairn-restore-put-* >/dev/null 2>&1 || ! kill -0 $0 2>/dev/null' $pid
exits 0 cairn gc --keep-outputs 1
wait $pid
is "$?" 0 'the run completes'
check_m 'with all of them'
case $(cat said) in
*'put back from'*) is "$(ran)" '' 'put back' ;;
*) is "$(ran)" 'a ' 'or made again' ;;
esac
is "$(left)" '' 'with nothing beside'
exits 0 cairn checkpoint verify

# ---- A full disk in the middle ----
if [ "$(id -u)" != 0 ] || ! mkdir small || ! mount -t tmpfs -o size=16m none small 2>/dev/null; then
    skip 'a full disk' 'no right to mount one'
else
    cat >small/full.yaml <<'END'
name: full
tasks:
  a: {run: 'echo a >>../ran.log; seq 700000 >f1; seq 600000 >f2', outputs: [f1, f2], reuse: {keep: 1h}}
END
    export CAIRN_STORE="$PWD/full.cairn"
    exits 0 cairn run small/full.yaml
    cat small/f1 small/f2 >whole
    echo mine >small/f1
    echo mine >small/f2
    head -c 10000000 /dev/zero >small/filler
    ran >/dev/null
    run cairn run small/full.yaml --fresh
    matches 'cannot be put back, so it runs: writing in .*: No space left' 'it is named'
    is "$(ran)" 'a ' 'and the task is tried'
    is "$(find small -name '.cairn-restore-*')" '' 'with nothing left'
    rm -f small/filler
    exits 0 cairn run small/full.yaml --fresh
    cat small/f1 small/f2 >now
    ok 'with room it is right' cmp whole now
    unset CAIRN_STORE
    umount small
fi

done_testing

# A log of more than 4 MiB is stored in chunks: any part of it can be read, damage of one
# chunk is named while the rest can be read, and gc, verify and repair know the chunks.
. "$TESTS/cli/tap.sh"

sql() { "$BUILD/tests/tools/sql" .cairn/cairn.db "$1"; }

write='seq 1 1000000; echo end'
sh -c "$write" >whole
size=$(wc -c <whole)
cat >w.yaml <<END
name: w
tasks:
  a: {reuse: true, outputs: made, run: "$write; touch made"}
END
exits 0 cairn run -q w.yaml --output-limit 64M
exits 0 cairn log a
ok 'all of it is there' cmp out whole
ok 'in chunks' test "$(sql 'SELECT count(*) FROM object WHERE size = 1048576')" -eq 6

part() { # FROM TO
    exits 0 cairn log a --bytes "$1:$2"
    tail -c "+$(($1 + 1))" whole | head -c "$(($2 - $1))" >part
    ok "bytes $1 to $2" cmp out part
}
part 0 10
part 1048570 1048580
part 1048576 2097152
part 1048575 3145729
part $((size - 5)) $((size + 5))
exits 0 cairn log a --bytes "$size:"
silent_on out
exits 0 cairn log a --bytes -1048600:
tail -c 1048600 whole >part
ok 'the end' cmp out part
exits 0 cairn log a --bytes 1048570:1048580 --json
says '"from":1048570,"to":1048580,"text":"\n165669\n16"' 'as JSON'

# ---- Others that know it ----

exits 0 cairn run -q --fresh w.yaml
exits 0 cairn log a
ok 'a run that reuses the task has it, too' cmp out whole
exits 0 cairn gc --keep-runs 1
exits 0 cairn log a
ok 'when the first run is removed' cmp out whole
exits 0 cairn checkpoint verify
exits 0 cairn doctor
cp -r .cairn sound
again() {
    rm -rf .cairn
    cp -r sound .cairn
}

# ---- Damage ----

tail -c +1048577 whole | head -c 1048576 >chunk
name=$(sha256sum chunk | cut -d ' ' -f 1)
{ head -c 1048576 whole && tail -c +2097153 whole; } >rest
unmark() { # what is printed, without the line about what is missing
    sed '/[.][.][.] 1.0 MiB/{N;s/[.][.][.] 1.0 MiB[^\n]*\n//;}' out >kept
}
for change in "UPDATE object SET data = substr(data, 1, length(data) / 2)" \
    'UPDATE object SET data = flip(data, length(data) / 2)' \
    'UPDATE object SET size = size - 1' 'DELETE FROM object'; do
    again
    sql "$change WHERE digest = x'$name'" >/dev/null
    exits 5 cairn log a
    unmark
    ok "all other bytes are printed: $change" cmp kept rest
    says 'the bytes 1048576 to 2097152 are' 'what is damaged is named'
    exits 5 cairn log a --bytes 2000000:2000010
    exits 0 cairn log a --bytes 2097152:2097160
    exits 0 cairn log a --bytes -100:
    exits 5 cairn checkpoint verify
    says "$(echo "$name" | cut -c 1-12)" 'verify names the chunk'
done
# What is missing now is told by a repair, and is no news afterwards; the rest stays.
exits 5 cairn doctor --repair
says 'of the log of an attempt of run 2' 'a repair says what the chunk was'
exits 0 cairn checkpoint verify
exits 0 cairn gc --keep-runs 1
exits 5 cairn log a
unmark
ok 'all other bytes are still there' cmp kept rest

# Without the list nobody knows what the chunks are: they are kept.
again
sql "DELETE FROM object WHERE digest = (SELECT max(out) FROM attempt)" >/dev/null
run cairn log a
ok 'without the list there is an error' test "$status" -ne 0
exits 5 cairn checkpoint verify
exits 5 cairn gc --keep-runs 1
exits 5 cairn doctor --repair
exits 0 cairn gc --keep-runs 1
ok 'the chunks are held' test "$(sql 'SELECT count(*) FROM object WHERE size = 1048576')" -eq 6
exits 0 cairn checkpoint verify

# ---- A gap, and a log that still grows ----

rm -rf .cairn
rm made
exits 0 cairn run -q w.yaml --output-limit 5M
half=2621440
run cairn log a --bytes "$((half - 5)):$((half + 5))"
is "$(head -c 5 out)" "$(tail -c "+$((half - 4))" whole | head -c 5)" 'up to the gap'
says 'are missing here' 'the gap is told'
exits 0 cairn log a --bytes "$((size - half)):$((size - half + 20))"
tail -c "$half" whole | head -c 20 >part
ok 'behind the gap' cmp out part
exits 0 cairn log a --bytes "-$half:"
tail -c "$half" whole >part
ok 'all behind the gap' cmp out part

cat >live.yaml <<END
name: live
tasks:
  a: {run: "$write; while [ ! -e go ]; do sleep 0.05; done; echo over"}
END
cairn run -q live.yaml --output-limit 64M >live.out 2>&1 &
pid=$!
written() { cairn log a --run 2 --bytes "$((size - 4)):" 2>/dev/null | grep -q end; }
ok 'it has written all' wait_for 60 written
part 1048570 1048580
part 5000000 5000100
exits 0 cairn log a
ok 'all of it while it runs' cmp out whole
cairn log a --follow --bytes "-4:" >follow.out &
follower=$!
wait_for 60 grep -q end follow.out
touch go
wait $pid $follower
is "$(tr '\n' ' ' <follow.out)" 'end over ' 'followed from its end on'
rm go

# ---- Killed while it is stored ----

cat >once.yaml <<END
name: once
tasks:
  a: {run: "$write"}
END
if can_sweep 'killed while a log is stored' 2; then
    # Every write of the database from the first chunk on: the log is some pages of it.
    calls=4 kills=0 bad=
    while [ -z "$bad" ] && [ $calls -lt 400 ]; do
        rm -rf .cairn
        strace -f -o strace.out -e trace=pwrite64 -e inject=pwrite64:signal=KILL:when=$calls \
            cairn run -q once.yaml --output-limit 64M >run.out 2>&1 </dev/null
        grep -q 'killed by SIGKILL' strace.out || break
        kills=$((kills + 1))
        if [ -e .cairn ]; then
            cairn resume -q --output-limit 64M >resume.out 2>&1 || cairn run -q once.yaml --output-limit 64M >resume.out 2>&1 ||
                bad="call $calls: not resumed"
            cairn log a >out 2>&1
            cmp -s out whole || bad="call $calls: another log"
            cairn checkpoint verify >verify.out 2>&1 || bad="call $calls: damage"
            cairn gc -q >/dev/null 2>&1 || bad="call $calls: gc"
        fi
        calls=$((calls + apart * (1 + calls / 16)))
    done
    ok "killed $kills times: ${bad:-the log is whole after a resume}" test -z "$bad"
fi

# ---- Interrupted, and resumed ----

rm -rf .cairn
cat >cut.yaml <<'END'
name: cut
tasks:
  a: {run: 'test ! -e again || { until [ -e on ]; do sleep 0.05; done; exit 0; }; yes "what it wrote" | head -c 20000000; touch again; sleep 60'}
END
cairn run -q cut.yaml --output-limit 64M >run.out 2>&1 &
pid=$!
ok 'it has written 20 MB' wait_for 60 test -e again
kill -9 $pid
wait $pid 2>/dev/null
cairn resume -q --output-limit 64M >resume.out 2>&1 &
pid=$!
ok 'it runs again' wait_for 60 sh -c '[ "$(cairn status --json 2>/dev/null | grep -o "\"running\":[0-9]*")" = "\"running\":1" ]'
exits 0 cairn log a --attempt 1
yes 'what it wrote' | head -c 20000000 >part
ok 'what was written before is stored' cmp out part
ok 'in chunks' test "$(sql 'SELECT count(*) FROM object WHERE size = 1048576')" -ge 1
exits 0 cairn gc
silent_on err # no collector is held off
touch on
wait $pid
exits 0 cairn log a --attempt 1
ok 'and afterwards' cmp out part
exits 0 cairn checkpoint verify
rm -f again on

# ---- Read while garbage is collected ----

again
readers() {
    n=0
    while [ ! -e stop ] && [ $n -lt 200 ]; do
        cairn log a --run 2 --bytes 2097152:2097162 >"read.$1" 2>"err.$1" || touch failed
        cmp -s "read.$1" expected || touch failed
        n=$((n + 1))
    done
}
tail -c +2097153 whole | head -c 10 >expected
readers 1 &
one=$!
readers 2 &
two=$!
for n in 1 2 3 4 5; do
    cairn run -q --fresh live.yaml --output-limit 64M >/dev/null 2>&1 </dev/null &
    writer=$!
    cairn gc -q >gc.out 2>&1 || touch failed
    touch go
    wait $writer
    rm -f go
done
exits 0 cairn gc
touch stop
wait $one $two
ok 'two readers beside gc' test ! -e failed
done_testing

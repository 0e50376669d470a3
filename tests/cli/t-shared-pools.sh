# make: sanitize
# shellcheck shell=sh disable=SC2154,SC2016
# Pools with `scope: store`: all live runs of a store have their places together.
. "$TESTS/cli/tap.sh"

# A task writes what it takes when it begins, and gives it back when the file is there.
cat >weigh <<'EOF'
#!/bin/sh
echo "$1 $2" >>log
while [ ! -e "${3-log}" ]; do sleep 0.02; done
echo "$1 -$2" >>log
EOF
chmod +x weigh
most() { # the most that was there at once, and what was left
    awk '{ n += $2; if (n > most) most = n } END { print most + 0, n + 0 }' log
}
waits() { # RUN WHAT: does the live run say so?
    cairn status "$1" --waiting 2>&1 | grep -q "$2"
}
began() { grep -q "^$1 [0-9]" log 2>/dev/null; }

# ---- Several runs of several workflows ----
for name in one two three; do
    cat >$name.yaml <<EOF
name: $name
jobs: 4
pools: {gpu: {slots: 2, scope: store}, own: 3}
tasks:
  light: {foreach: {n: {range: [1, 6]}}, pool: [gpu, own], run: './weigh "$name\$n" 1'}
  heavy: {pool: {gpu: 2}, run: './weigh "$name-heavy" 2'}
EOF
done
cairn run one.yaml >one 2>&1 &
a=$!
cairn run two.yaml >two 2>&1 &
b=$!
cairn run three.yaml >three 2>&1 &
wait $a; is $? 0 'the first of three runs completes'
wait $b; is $? 0 'the second'
wait $!; is $? 0 'the third'
is "$(wc -l <log)" 42 'all tasks ran'
is "$(most)" '2 0' 'never more of them at once than the pool has'

# ---- Who waits is told for whom, and comes in its turn ----
rm log
cat >hold.yaml <<'EOF'
name: hold
concurrency: params
params: {n: 1}
pools: {gpu: {slots: 1, scope: store}}
tasks:
  use: {pool: gpu, run: './weigh "use$n" 1 "go$n"'}
EOF
n=0
for n in 1 2 3; do
    cairn run hold.yaml --param n=$n >hold$n 2>&1 &
    eval "pid$n=$!"
    if [ $n = 1 ]; then
        wait_for 60 began use1
    else
        wait_for 60 waits $((n + 3)) 'pool gpu: held by run 4 (use)'
    fi
done
exits 0 cairn status 6 --waiting
says 'use  waits for a place in pool gpu: held by run 4 (use), run 5 (waits for it before: use)'
exits 0 cairn status 6 --waiting --json
is "$(json_get '.waiting[0].held_by')" 'run 4 (use), run 5 (waits for it before: use)' 'in JSON'
exits 0 cairn explain use --run 6
says 'it waits for a place in pool gpu: held by run 4 (use)' 'explain says so, too'
touch go3
touch go1
wait_for 60 began use2
exits 0 cairn status 6 --waiting
says 'held by run 5 (use)' 'the next one is who began to wait first'
is "$(grep -c 'use3' log)" 0 'and not the third'

# ---- A killed owner has nothing ----
# shellcheck disable=SC2154
kill -KILL "$pid2"
wait_for 60 began use3
# shellcheck disable=SC2154
wait "$pid3"; is $? 0 'the places of a killed owner are free'
wait "$pid1"; is $? 0 'and the first has completed'
wait "$pid2" 2>/dev/null
touch go2
exits 0 cairn resume 5
is "$(cairn status 5 --json | sed 's/.*"state":"\([a-z]*\)".*/\1/')" completed 'the killed one goes on'

# ---- What outlives its cairn keeps its places until it ends ----
rm log go*
sed -e 's/^name: hold/name: kept/' -e '2i on_crash: adopt' hold.yaml >kept.yaml
killed_at log cairn run kept.yaml --param n=7
cairn run hold.yaml --param n=8 >hold8 2>&1 &
pid=$!
wait_for 60 waits 8 'pool gpu: held by run 7 (use)'
is "$(grep -c use8 log)" 0 'the kept task has its place, without its cairn'
cairn resume 7 >resumed 2>&1 &
resumed=$!
wait_for 60 grep -q 'taken over' resumed
ok 'nor is it free when the task was adopted' waits 8 'pool gpu: held by run 7 (use)'
touch go8 go7
wait $resumed; is $? 0 'the kept task completes'
wait $pid; is $? 0 'then the other one'
is "$(awk '{ n += $2; if (n > 1) bad = 1 } END { print bad + 0 }' log)" 0 'one at a time'

# ---- Another limit elsewhere is named ----
rm log go*
cairn run hold.yaml --param n=1 --fresh >hold1 2>&1 &
pid=$!
wait_for 60 began use1
sed -e 's/^name: hold/name: more/' -e 's/slots: 1/slots: 2/' hold.yaml >more.yaml
touch go2
exits 0 cairn run more.yaml --param n=2
says 'the limit of pool `gpu` is 2 here, and 1 in run 9: each run keeps to its own'
touch go1
wait $pid; is $? 0 'the other one goes on'

# ---- A stop ends the waiting, and who waits behind goes on ----
rm log go*
cairn run hold.yaml --param n=1 --fresh >hold1 2>&1 &
pid=$!
wait_for 60 began use1
cairn run hold.yaml --param n=2 --fresh >hold2 2>&1 &
second=$!
wait_for 60 waits 12 'held by run 11'
kill -TERM $second
wait $second; is $? 7 'a run that waits can be stopped'
touch go1
wait $pid; is $? 0 'who had it is not concerned'

# ---- A run inside a task that has places ----
rm log go*
nest() { # NAME COMMAND
    cat >"$1.yaml" <<EOF
name: $1
pools: {gpu: {slots: 1, scope: store}}
tasks: {t: {pool: gpu, run: '$2'}}
EOF
}
nest outer 'cairn run middle.yaml'
nest middle 'cairn run inner.yaml'
nest inner 'echo inner >log'
exits 0 timeout 60 cairn run outer.yaml
is "$(cat log)" inner 'what the outermost task has is lent to the runs inside it'

rm log
cat >outer.yaml <<'EOF'
name: outer2
pools: {gpu: {slots: 2, scope: store}}
tasks: {t: {pool: gpu, run: 'touch began; while [ ! -e go ]; do sleep 0.02; done; cairn run inner.yaml'}}
EOF
cat >inner.yaml <<'EOF'
name: inner2
jobs: 4
pools: {gpu: {slots: 2, scope: store}}
tasks:
  each: {foreach: {n: {range: [1, 3]}}, pool: gpu, run: './weigh "$n" 1 "go$n"'}
EOF
sed 's/^name: hold/name: all/; s/slots: 1/slots: 2/; s/pool: gpu/pool: {gpu: 2}/' hold.yaml >all.yaml
timeout 100 cairn run outer.yaml >outer.out 2>&1 &
outer=$!
wait_for 60 test -e began
timeout 100 cairn run all.yaml --param n=9 >all.out 2>&1 &
all=$!
wait_for 60 waits 17 'held by run 16 (t)'
touch go
wait_for 60 began 1
exits 0 cairn status 18 --waiting
says 'waits for a place in pool gpu: held by run 18 (each[n=1])' 'as many places as the task has, not all'
is "$(grep -c 'run 1[67]' out)" 0 'and who waits outside is not waited for'
touch go1 go2 go3 go9
wait $outer; is $? 0 'the outer run completes'
wait $all; is $? 0 'then who waited for it'
is "$(awk '{ n += $1 == "use9" ? 0 : $2; if (n > most) most = n } END { print most + 0, n + 0 }' log)" \
    '1 0' 'one at a time inside it'
sed -i 's/pool: gpu/pool: {gpu: 2}/' inner.yaml
exits 1 timeout 60 cairn run outer.yaml --fresh
says 'task each takes 2 places of pool gpu, but it runs inside task t of run 19, which has 1 of them'
exits 10 cairn status 20
rm -f go*

# ---- Mistakes ----
wrong() { # POOL WHAT
    printf 'name: w\npools: {p: %s}\ntasks: {a: {run: "true", pool: p}}\n' "$1" >wrong.yaml
    exits 3 cairn validate wrong.yaml
    says "$2"
}
wrong '{scope: store}' 'the pool has no `slots`, as in {slots: 2, scope: store}'
wrong '{slots: 2, scope: all}' '`scope` must be run or store'
wrong '{slots: 0}' 'must lie between'
wrong '{places: 2}' 'places'

# ---- Memory ----
rm -f log
cat >memory.yaml <<'EOF'
name: memory
jobs: 8
memory: 4G
defaults: {memory: 1G}
tasks:
  small: {foreach: {n: {range: [1, 8]}}, run: './weigh "small$n" 1'}
  large: {memory: 2500M, run: './weigh large 2.5'}
  none: {service: true, ready: 'true', run: sleep 100}
EOF
exits 0 cairn run memory.yaml
is "$(awk '{ n += $2; if (n > 4) bad = 1 } END { print bad + 0, n }' log)" '0 0' 'never more than there is'
rm log
exits 0 cairn run memory.yaml --fresh --memory 2500M
is "$(awk '{ n += $2; if (n > 2.5) bad = 1 } END { print bad + 0, n }' log)" '0 0' 'or than --memory allows'
exits 2 cairn run memory.yaml --fresh --memory 2G
says 'task large takes 2500M of memory, and tasks have 2048M together (--memory)'
sed 's/memory: 4G/memory: 2G/' memory.yaml >less.yaml
exits 3 cairn validate less.yaml
says 'less.yaml:7:' 'with its place'
says 'the task takes 2500M of memory, and `memory` at the top is 2048M'
printf 'name: huge\ntasks: {a: {memory: 900000G, run: "true"}}\n' >huge.yaml
exits 0 cairn validate huge.yaml
exits 0 cairn plan huge.yaml
says 'nothing starts: task a takes 921600000M of memory, and tasks have ' 'a plan says what a run refuses'
exits 2 cairn run huge.yaml
says 'on this machine'
printf 'name: bad\ntasks: {a: {memory: 2 gigs, run: "true"}}\n' >bad.yaml
exits 3 cairn validate bad.yaml
says '`memory` must be a size such as 512M or 2G, at most 1024T, not `2 gigs`'
sed -i 's/2 gigs/512/' bad.yaml
exits 3 cairn validate bad.yaml
says '`memory` has no unit: write 512M for MiB, or 512G for GiB'
rm log
cat >wait.yaml <<'EOF'
name: wait
memory: 1G
tasks:
  a: {memory: 800M, priority: 1, run: './weigh a 1 go'}
  b: {memory: 300M, run: './weigh b 1 go'}
EOF
cairn run wait.yaml -j2 >wait.out 2>&1 &
pid=$!
wait_for 60 began a
exits 0 cairn status --waiting
says 'b  waits for memory that other tasks have'
touch go
wait $pid; is $? 0 'and has it afterwards'
done_testing

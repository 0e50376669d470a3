# Tasks that take several of `jobs`, or of the places of several pools.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

# A task writes what it weighs when it begins, and takes it back when it ends: a moment
# later, or when there is a file.
cat >weigh <<'END'
#!/bin/sh
echo "$1 $2" >>log
sleep 0.02
while [ ! -e "${3-log}" ]; do sleep 0.02; done
echo "$1 -$2" >>log
END
chmod +x weigh
most() { # the most that was there at once
    awk '{ n += $2; if (n > most) most = n } END { print most + 0, n + 0 }' log
}
started() { # in order
    awk '$2 > 0 { printf "%s ", $1 }' log
}
heavy_waits() { # WHAT: does the live run say so?
    cairn status --waiting 2>&1 | grep -q "heavy .*$1"
}
alone() { # TASK: was nothing else there?
    awk -v task="$1" '$2 > 0 && n > 0 && ($1 == task || on) { bad = 1 }
        { n += $2 } $1 == task { on = $2 > 0 } END { exit bad }' log
}

# ---- slots ----
cat >slots.yaml <<'END'
name: slots
jobs: 4
tasks:
  light: {foreach: {n: {range: [1, 12]}}, run: './weigh "light$n" 1'}
  heavy: {foreach: {n: {range: [1, 4]}}, slots: 3, run: './weigh "heavy$n" 3'}
  all: {slots: 4, priority: 1, run: './weigh all 4'}
END
exits 0 cairn run slots.yaml
is "$(most)" '4 0' 'never more than there are'
is "$(wc -l <log)" 34 'all ran'
ok 'one that takes all runs alone' alone all
rm log
exits 0 cairn run slots.yaml --fresh -j 2
ok 'with fewer jobs it takes all' alone heavy2
is "$(wc -l <log)" 34 'and runs'
rm log
exits 0 cairn run slots.yaml --fresh -j 1
is "$(wc -l <log)" 34 'with one job, too'

# What waits for its slots is not overtaken by what needs fewer.
cat >fair.yaml <<'END'
name: fair
jobs: 3
tasks:
  a: {priority: 9, run: './weigh a 1 go'}
  heavy: {priority: 8, slots: 3, run: './weigh heavy 3'}
  b: {foreach: {n: {range: [1, 9]}}, run: './weigh "b$n" 1'}
END
rm log
cairn run fair.yaml >out 2>err &
run=$!
ok 'it has begun' wait_for 20 grep -q '^a' log
ok 'what waits for slots is ready' wait_for 20 heavy_waits 'is ready'
touch go
wait $run
is "$?" 0 'it ends'
is "$(started | cut -d ' ' -f 1,2)" 'a heavy' 'it is the next one, though others would fit'

# ---- pools ----
cat >pools.yaml <<'END'
name: pools
jobs: 8
pools: {gpu: 4, db: 2}
tasks:
  a: {foreach: {n: {range: [1, 6]}}, pool: {gpu: 2}, run: './weigh "a$n" 2'}
  b: {foreach: {n: {range: [1, 6]}}, pool: {gpu: 3}, run: './weigh "b$n" 3'}
  c: {foreach: {n: {range: [1, 6]}}, pool: [gpu, db], run: './weigh "c$n" 1'}
  d: {foreach: {n: {range: [1, 6]}}, pool: db, run: './weigh "d$n" 0'}
END
rm log
exits 0 cairn run pools.yaml
is "$(most)" '4 0' 'the places of a pool'
is "$(wc -l <log)" 48 'all ran'
awk '/^[cd]/ { n += seen[$1]++ ? -1 : 1; if (n > most) most = n } END { exit most > 2 }' log
is "$?" 0 'of another one at the same time'

cat >fair.yaml <<'END'
name: fair-pools
jobs: 8
pools: {gpu: 2, db: 2}
tasks:
  a: {priority: 9, pool: gpu, run: './weigh a 1 go-a'}
  d: {priority: 9, pool: db, run: './weigh d 1 go-d'}
  heavy: {priority: 8, pool: {gpu: 2, db: 2}, run: './weigh heavy 2'}
  b: {foreach: {n: {range: [1, 9]}}, pool: gpu, run: './weigh "b$n" 1'}
  c: {foreach: {n: {range: [1, 9]}}, pool: db, run: './weigh "c$n" 1'}
  e: {priority: -1, run: './weigh e 0'}
END
rm log
cairn run fair.yaml >out 2>err &
run=$!
ok 'it has begun' wait_for 20 grep -q '^e' log
ok 'what waits for a pool says so' heavy_waits 'waits for a place in pool'
touch go-d
d_has_ended() { cairn status --tasks | grep -q 'completed *d'; }
ok 'one of its pools is free' wait_for 20 d_has_ended
touch go-a
wait $run
is "$?" 0 'it ends'
is "$(started | tr ' ' '\n' | grep -v '^e' | sed -n 3p)" heavy 'nobody overtakes what waits in two pools'
is "$(started | tr ' ' '\n' | grep -c .)" 21 'all ran'

# The default is that of `defaults`; a task's own replaces it.
cat >defaults.yaml <<'END'
name: defaults
jobs: 8
pools: {a: 2, b: 9}
defaults: {pool: {a: 2}}
tasks:
  x: {foreach: {n: {range: [1, 4]}}, run: './weigh "x$n" 1'}
  y: {pool: b, run: './weigh y 0'}
END
rm log
exits 0 cairn run defaults.yaml
is "$(most)" '1 0' 'two places each, of two: one at a time'

# Killed and resumed, with attempts that live on.
for crash in kill adopt; do
    cat >kill.yaml <<END
name: kill-$crash
on_crash: $crash
jobs: 4
pools: {p: 3}
tasks:
  a: {foreach: {n: {range: [1, 3]}}, slots: 2, pool: {p: 2}, run: 'touch "at\$n"; while [ ! -e go ]; do sleep 0.02; done; ./weigh "a\$n" 2'}
  b: {foreach: {n: {range: [1, 3]}}, pool: p, run: './weigh "b\$n" 1'}
END
    rm -f log go at*
    killed_at at1 cairn run kill.yaml
    touch go
    exits 0 cairn resume kill.yaml
    is "$(most | cut -d ' ' -f 2)" 0 "$crash: all of it ended"
    is "$(started | tr ' ' '\n' | sed '/^$/d' | sort | tr '\n' ' ')" 'a1 a2 a3 b1 b2 b3 ' "$crash: each once"
    ok "$crash: never too many" test "$(most | cut -d ' ' -f 1)" -le 3
done

# Niceness, on top of that of cairn; that of an undo is cairn's.
cat >nice.yaml <<'END'
name: nice
on_failure: {undo: all}
tasks:
  a: {run: 'nice >a', nice: 5, check: 'nice >checked', undo: 'nice >undone'}
  b: {exec: [sh, -c, 'nice >b'], nice: 19}
  c: {run: 'nice >c', nice: 0}
  d: {run: 'nice >d; exit 1', needs: [a, b, c]}
END
for crash in kill adopt; do
    rm -f a b c d checked undone
    sed -i "/^on_crash/d; s/^name: .*/&\non_crash: $crash/" nice.yaml
    own=$(nice)
    exits 1 cairn run nice.yaml --fresh
    is "$(cat a checked b c d undone | tr '\n' ' ')" \
        "$((own + 5)) $((own + 5)) 19 $own $own $own " "$crash: niceness of tasks"
done

# Weights run nothing again.
weights() { # of a
    printf 'name: edit\npools: {p: 3}\ntasks:\n  a: {run: "true", %s}\n  b: {needs: a, run: exit 1}\n' "$1" >edit.yaml
}
weights 'slots: 2, pool: {p: 2}'
exits 1 cairn run edit.yaml
weights 'slots: 3, pool: {p: 1}'
is "$(planned edit.yaml)" b 'an edit of them runs nothing that has completed'
weights 'slots: 1, nice: 3'
is "$(planned edit.yaml)" b 'nor that there are none'

# Refused.
while IFS='|' read -r text meant; do
    printf 'name: bad\npools: {gpu: 2, db: 1}\ntasks:\n  a: {run: x, pool: gpu}\n  b: {%s}\n' "$text" >bad.yaml
    exits 3 cairn validate bad.yaml
    says "$meant" "$text: $meant"
done <<'END'
run: x, pool: {gpu: 3}|pool `gpu` has 2 places in all: a task cannot have 3
run: x, pool: {db: 2}|pool `db` has 1 place in all: a task cannot have 2
run: x, pool: {gpu: 0}|the places in a pool must lie between 1
run: x, pool: {gpu: "1"}|the places in a pool must be a whole number
run: x, pool: [gpu, gpu]|pool `gpu` is here twice
run: x, pool: []|`pool` is empty
run: x, pool: {}|`pool` is empty
run: x, pool: {gpus: 1}|there is no pool `gpus`; did you mean `gpu`?
run: x, pool: [gpu, [db]]|`pool` must be text, not a list
run: x, slots: 0|`slots` must lie between 1 and 4096
run: x, slots: [2]|`slots` must be a whole number
external: x, slots: 2|`slots` has no meaning for task `b`
external: x, pool: {gpu: 1}|`pool` has no meaning for task `b`
run: x, nice: -1|`nice` must lie between 0 and 19
run: x, nice: 20|`nice` must lie between 0 and 19
external: x, nice: 1|`nice` has no meaning for task `b`
run: x, cpus: 4|`slots: 4` for four of `jobs`
run: x, memory: 4 gigs|`memory` must be a size such as 512M or 2G
external: x, memory: 4G|`memory` has no meaning for task `b`
END
done_testing

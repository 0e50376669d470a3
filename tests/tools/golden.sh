#!/bin/sh
# Makes a golden store: one run of every kind, in the format of the cairn that is given.
# With `language`: runs of definitions of version 5, with all that it brought; with
# `jobs`: of version 6, and what is stored of rounds, reuse and added tasks; with `ends`:
# of version 7; with `calls`: of version 8, by the program in `examples/` beside it; with
# `threads`: states of agents' frameworks, by the tool of that name beside it; with
# `trees`: checkpoints of boards with many items.
#
#   sh tests/tools/golden.sh CAIRN OUT.db.zst [language | jobs | ends | calls | threads | trees]
#
# A release that changes the format adds one (docs/format.md, "Versions of the store"):
# it is made by that release, and never again. tests/cli/t-golden.sh records what every
# command says of it, and compares ever after.
set -eu
cairn=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
out=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
# The same place on every machine: paths of workflow files are stored. Tasks run in /.
work=/tmp/cairn-golden
mkdir "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CAIRN_STORE
export TZ=UTC LC_ALL=C GOLDEN_SECRET=0123456789abcdef

expect() { # STATUS CAIRN'S ARGUMENTS
    wanted=$1
    shift
    got=0
    "$cairn" "$@" -q >/dev/null 2>>log </dev/null || got=$?
    if [ "$got" -ne "$wanted" ]; then
        echo "golden.sh: cairn $*: exit $got, not $wanted" >&2
        cat log >&2
        exit 1
    fi
}

# Kills cairn, and so its tasks, once the file `up` is there.
cut() {
    rm -f up
    "$cairn" "$@" >/dev/null 2>>log </dev/null &
    pid=$!
    tries=0
    while [ ! -e up ] && [ "$tries" -lt 500 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
    sleep 0.5 # for the guard
}

# A run that was cut off in its second task.
cut_early() {
    cat >early.yaml <<'END'
name: early
defaults: {cwd: /}
tasks:
  a: {run: echo a}
  b: {needs: a, run: 'if test -e /tmp/cairn-golden; then touch /tmp/cairn-golden/up; sleep 60; fi'}
END
    cut run early.yaml
}

finish() {
    expect 0 checkpoint verify
    sleep 1.1 # the lease is over, whenever the store is looked at
    rm -rf .cairn/live .cairn/cairn.db-wal .cairn/cairn.db-shm
    test ! -e .cairn/open # the last writer left in order
    sqlite3 .cairn/cairn.db 'PRAGMA journal_mode = DELETE; VACUUM; PRAGMA journal_mode = WAL;' >>log
    rm -f .cairn/cairn.db-wal .cairn/cairn.db-shm
    zstd -q -f --ultra -22 .cairn/cairn.db -o "$out"
    ls -l "$out"
}

if [ "${3-}" = language ]; then
    # 1: completed. 2: cut off behind the list, 3 before it. 4: another list, and one that
    # is malformed.
    printf 'sample,reads,note\na,1,"x, y"\n"b b",22,\n' >sheet.csv
    cat >language.yaml <<'END'
name: language
params: {last: "true"}
defaults: {cwd: /}
tasks:
  split:
    description: makes the list
    run: 'cat /tmp/cairn-golden/list >>"$CAIRN_OUTPUT" || echo "parts=later" >>"$CAIRN_OUTPUT"'
  convert:
    foreach: {part: {from: split, value: parts, max: 5}, kind: [x]}
    run: 'echo "n=$part" >>"$CAIRN_OUTPUT"'
  index:
    foreach: {part: {from: split, value: parts, max: 5}}
    needs: ["convert[part=${{ part }}]"]
    run: 'if test "$part" = three -a -e /tmp/cairn-golden; then touch /tmp/cairn-golden/up; . /tmp/cairn-golden/behind; fi'
  join: {needs: [convert, index], exec: [echo, "${{ tasks.convert.outputs.n }}"]}
  samples:
    foreach: {csv: sheet.csv, key: sample, where: reads > 0}
    needs: [{task: convert, order: true}]
    run: 'echo $sample has $reads'
  compile:
    depfile: tmp/cairn-golden/depfile
    run: 'if test -e /tmp/cairn-golden; then echo "h: /dev/null" >/tmp/cairn-golden/depfile; fi'
  work: {external: "Do it", lost_claims: 3, if: params.last == 'false'}
END
    list() {
        printf 'parts=%s\n' "$1" >list
    }
    list '["one","two","three"]'
    echo : >behind
    expect 0 run language.yaml
    echo 'sleep 60' >behind
    cut run language.yaml --fresh
    sed -e 's/^name: .*/name: early/' -e 's/cat .tmp.cairn-golden.list/touch up; sleep 60; false/' \
        -e "s/touch up/touch \/tmp\/cairn-golden\/up/" language.yaml >early.yaml
    cut run early.yaml
    echo : >behind
    sed 's/^name: .*/name: another/' language.yaml >another.yaml
    expect 0 run another.yaml
    list '["two","four"]'
    expect 0 rerun 4 split
    list '["two", 5]'
    expect 1 rerun 4 split
    finish
    exit
fi

if [ "${3-}" = jobs ]; then
    # 1: completed. 2: all of it reused that can be; it failed, got other tasks, and
    # completed. 3: cut off beside a service. 4: a limit of rounds.
    mkdir ci
    cat >ci/lint.yaml <<'END'
name: lint
params: {level: 1}
defaults: {cwd: /}
tasks:
  style: {run: 'echo style $level'}
  spell: {needs: style, run: echo spell}
END
    cat >jobs.yaml <<'END'
name: jobs
jobs: 4
defaults: {cwd: /}
pools: {gpu: 2, db: 3}
include: [{file: ci/lint.yaml, as: lint, params: {level: 7}}]
templates:
  base: {retries: {max: 2, delay: 10ms, cap: 20ms, on: [timeout, signal, 75]}, env: {A: x}}
tasks:
  build:
    extends: base
    nice: 3
    inputs: [tmp/cairn-golden/src]
    run: 'cat tmp/cairn-golden/src >tmp/cairn-golden/o; echo "v=1" >>$CAIRN_OUTPUT'
    outputs: [tmp/cairn-golden/o]
    reuse: true
    cutoff: true
  heavy: {needs: build, slots: 2, pool: {gpu: 2, db: 1}, run: 'echo "h=2" >>$CAIRN_OUTPUT', reuse: true}
  weak: {may_fail: true, run: exit 4}
  after: {needs: [{task: weak, soft: true}], run: echo after}
  nothing: {skip_exit: 77, run: exit 77}
  poll:
    repeat: {until: "outputs.n >= '3'", max: 5, delay: 10ms}
    run: 'echo "n=$CAIRN_ROUND" >>$CAIRN_OUTPUT; . /tmp/cairn-golden/round'
  split: {run: 'printf "a\nb\n" >tmp/cairn-golden/list', outputs: [tmp/cairn-golden/list]}
  part: {foreach: {p: {from: split, lines: /tmp/cairn-golden/list}}, run: 'echo $p'}
  server: {service: true, ready: test -e /tmp/cairn-golden/ready, run: 'touch /tmp/cairn-golden/ready; sleep 100', restart: 1, port: true}
  client: {needs: server, run: 'test -n "$CAIRN_PORT_SERVER"; . /tmp/cairn-golden/client'}
  ship: {needs: [lint, build, poll, heavy], run: . /tmp/cairn-golden/ship}
END
    echo 1 >src
    for part in round client ship; do
        echo : >$part
    done
    expect 0 run jobs.yaml
    echo exit 1 >ship
    expect 1 run jobs.yaml
    # shellcheck disable=SC2016
    printf 'tasks:\n  extra: {needs: build, run: echo extra}\n  two: {foreach: {i: [1, 2]}, needs: extra, run: "echo $i"}\n' >more.yaml
    expect 0 add 2 more.yaml
    echo : >ship
    expect 0 resume 2
    # It is resumed where its directory is gone: no files of it are declared.
    sed -e 's/^name: .*/name: early/' -e 's/, outputs: .*}/}/; /^    inputs:/d; /^    outputs:/d' jobs.yaml >early.yaml
    echo 'touch /tmp/cairn-golden/up; sleep 60' >client
    cut run early.yaml
    echo : >client
    sed 's/max: 5, delay/max: 2, delay/; s/^name: .*/name: short/' jobs.yaml >short.yaml
    expect 1 run short.yaml
    finish
    exit
fi

if [ "${3-}" = ends ]; then
    # 1: completed, one task by its fallback. 2: cut off beside a service of several
    # ports, 3 while a fallback runs. 4: failed, since nothing matches its artifacts.
    cat >ends.yaml <<'END'
name: ends
jobs: 4
memory: 64M
params: {level: "1"}
defaults: {cwd: /, params: [], memory: 1M}
pools: {gpu: {slots: 2, scope: store}, db: {slots: 3}}
tasks:
  heavy: {pool: {gpu: 2, db: 1}, memory: 30M, run: echo heavy}
  told: {args: [one, two words], run: 'printf "%s\n" "$@"'}
  part: {foreach: {i: [1, 2]}, stale: keep, run: echo $i}
  weak:
    retries: {max: 1, delay: 1ms}
    run: 'echo trying; exit 3'
    fallback: 'echo instead; echo "v=2" >>"$CAIRN_OUTPUT"; . /tmp/cairn-golden/instead'
  pack:
    needs: weak
    cwd: /tmp/cairn-golden
    run: 'mkdir -p dist; echo "pack ${CAIRN_RUN:+of a run}" >dist/a.txt; echo b >dist/b.txt'
    outputs: [dist/a.txt]
    reuse: {keep: 36500d}
    artifacts: {files: [dist/*.txt], keep: 36500d, none: fail}
  sign:
    needs: pack
    params: [level]
    cwd: /tmp/cairn-golden
    run: 'echo signed $level >dist/sig'
    artifacts: {files: [dist/sig], when: always}
  server: {service: true, ready: test -e /tmp/cairn-golden/ready, run: 'touch /tmp/cairn-golden/ready; sleep 100', port: [http, admin]}
  client: {needs: server, env: {PORT: "${{ tasks.server.ports.http }}"}, run: 'test -n "$PORT"; . /tmp/cairn-golden/client'}
END
    for part in instead client; do
        echo : >$part
    done
    expect 0 run ends.yaml
    # Its directory is gone when it is resumed.
    sed -e 's/^name: .*/name: early/' -e '/^  pack:/,/always}$/d' ends.yaml >early.yaml
    echo 'touch /tmp/cairn-golden/up; sleep 60' >client
    cut run early.yaml
    sed 's/^name: .*/name: instead/' early.yaml >instead.yaml
    echo : >client
    echo 'touch /tmp/cairn-golden/up; sleep 60' >instead
    cut run instead.yaml
    echo : >instead
    sed -e 's/^name: .*/name: none/' -e 's/dist.\*.txt/dist\/*.zip/' ends.yaml >none.yaml
    expect 1 run none.yaml
    finish
    exit
fi

if [ "${3-}" = calls ]; then
    # 1: of a text, cut off in its second callback. 2: likewise of a file, which has
    # commands, too. 3: the same, completed.
    program=$(dirname "$cairn")/examples/callbacks
    cat >calls.yaml <<'END'
name: calls
params: {site: there}
tasks:
  fetch: {call: fetch, with: {url: "${{ params.site }}", tries: 3}, description: gets it, timeout: 1m}
  part: {foreach: {n: [1, 2]}, needs: fetch, call: fetch, with: {url: "${{ n }}"}, may_fail: true}
  told: {needs: fetch, cwd: /, run: echo told}
  count: {call: count, needs: [fetch, part]}
END
    died() {
        got=0
        "$program" begin "$@" >>log 2>&1 || got=$?
        test "$got" -eq 137
    }
    sed 's/^name: .*/name: early/' calls.yaml >early.yaml
    died
    died early.yaml
    touch calm
    "$program" begin calls.yaml >>log
    mv pages.cairn .cairn
    finish
    exit
fi

if [ "${3-}" = threads ]; then
    # And a run that was cut off, and a session, with which a newer cairn goes on.
    cut_early
    expect 0 session start first
    "$(dirname "$cairn")/tests/tools/threads" .cairn
    finish
    exit
fi

if [ "${3-}" = trees ]; then
    # A run that was cut off. Two branches, one of which was restored; kinds with more than
    # 32 items and with few.
    cut_early
    expect 0 session start first
    expect 0 hypothesis add 'it is the disk'
    for i in $(seq 40); do
        expect 0 note add "note $i"
        expect 0 belief add "belief $i" --confidence 0.6
    done
    expect 0 checkpoint create 'of forty'
    expect 0 note update n3 --text 'note 3, changed'
    expect 0 note remove n35
    expect 0 note add 'note 41'
    expect 0 checkpoint create 'of forty others'
    expect 0 branch start side
    expect 0 belief remove b40
    expect 0 hypothesis add 'it is the cache'
    expect 0 checkpoint create 'of the branch'
    expect 0 branch switch main
    expect 0 checkpoint restore "$("$cairn" checkpoint list --session 1 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')" --yes
    finish
    exit
fi

# 1: completed, with all that a task can have.
cat >all.yaml <<'END'
name: all
params: {day: "2026-01-01", place: there}
env: {COLOUR: blue}
secrets: [GOLDEN_SECRET]
tasks:
  fetch: {cwd: /, run: 'echo fetching $day; echo "rows=3" >>"$CAIRN_OUTPUT"; echo warned >&2'}
  part:
    foreach: {n: {range: [1, 3]}, kind: [a, "b c"]}
    needs: [fetch]
    cwd: /
    run: 'echo part $n of $kind'
  join: {needs: [part], cwd: /, exec: [echo, "day ${{ params.day }}"]}
  many: {needs: [fetch], cwd: /, if: "${{ tasks.fetch.outputs.rows > 10 }}", run: echo many}
  few: {needs: [fetch], cwd: /, if: "${{ tasks.fetch.outputs.rows <= 10 }}", run: echo few}
  risky: {cwd: /, retries: {max: 1, delay: 1ms}, run: 'echo trying; exit 3'}
  rescue: {needs: [risky], when: failed, cwd: /, run: echo rescued}
  private: {cwd: /, secrets: [GOLDEN_SECRET], run: 'echo "it is $GOLDEN_SECRET"', check: 'true'}
  published: {cwd: /, once: true, undo: 'true', run: 'true', outputs: [dev/null]}
finally:
  report: {cwd: /, run: 'echo "ended $CAIRN_RUN_STATUS"'}
END
expect 0 run all.yaml --param place=here

# 2: cut off in the middle; interrupted.
cat >cut.yaml <<'END'
name: cut
tasks:
  first: {cwd: /, run: echo one}
  second: {needs: [first], cwd: /, run: 'if test ! -e /tmp/cairn-golden; then exit 0; fi; touch /tmp/cairn-golden/up; sleep 60'}
  third: {needs: [second], cwd: /, run: echo three}
END
cut run cut.yaml

# 3: what must not run twice was cut off, and then decided.
cat >once.yaml <<'END'
name: once
tasks:
  pay: {cwd: /, once: true, run: 'touch /tmp/cairn-golden/up; sleep 60'}
  ship: {needs: [pay], cwd: /, run: echo shipped}
END
cut run once.yaml
expect 8 resume 3
expect 0 resolve 3 pay "done"
expect 0 resume 3

# 4: as 3, still to be decided.
cut run once.yaml --fresh
expect 8 resume 4

# 5: steps of people: one done, one failed, one claimed, one waiting.
cat >people.yaml <<'END'
name: people
on_failure: continue
tasks:
  write: {external: "Write draft.md"}
  refuse: {external: "Say no"}
  read: {needs: [write], external: "Read ${{ tasks.write.outputs.file }}"}
  sign: {external: "Sign it"}
END
expect 7 run people.yaml --no-wait
expect 0 claim 5 sign --lease 1s --holder somebody
expect 0 complete 5 write --output file=draft.md
expect 0 fail 5 refuse --message "not today"

# 6: failed and undone. 7: cancelled.
cat >undo.yaml <<'END'
name: undo
on_failure: undo
tasks:
  make: {cwd: /, run: echo made, undo: echo unmade}
  break: {needs: [make], cwd: /, run: exit 4}
END
expect 1 run undo.yaml
sed 's/^name: .*/name: stopped/' cut.yaml >stopped.yaml
cut run stopped.yaml
expect 0 cancel 7

# 8: edited between two tries; 9: a fork of run 1; 10: pruned at its end.
printf 'name: edited\ntasks:\n  a: {cwd: /, run: echo a}\n  b: {needs: [a], cwd: /, run: exit 1}\n' >edited.yaml
expect 1 run edited.yaml
printf 'name: edited\ntasks:\n  a: {cwd: /, run: echo A}\n  b: {needs: [a], cwd: /, run: echo b}\n  c: {cwd: /, run: echo c}\n' >edited.yaml
expect 0 run edited.yaml
expect 0 resume --from 4
printf 'name: pruned\ntasks:\n  t: {cwd: /, foreach: {n: {range: [1, 40]}}, run: "true"}\n' >pruned.yaml
expect 0 run pruned.yaml --keep 5

# 11 to 14: of which the first is removed; what else a user does to checkpoints.
printf 'name: gone\ntasks: {a: {cwd: /, run: echo a}, b: {needs: [a], cwd: /, run: echo b}}\n' >gone.yaml
for _ in 1 2 3 4; do
    expect 0 run gone.yaml --fresh
done
expect 0 gc --keep-runs 3
expect 0 checkpoint prune --run 10 --keep 1
newest=$("$cairn" checkpoint list --run 12 --limit 1 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')
expect 0 checkpoint delete "$newest" --yes

newest_run=$("$cairn" checkpoint list --run 12 --limit 1 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')
# Sessions: the first with every kind of item, a branch that was given up, a state that
# was restored, something undone; the second, which has ended, of something else.
expect 0 session start first
expect 0 session config interval 1h
expect 0 hypothesis add 'it is the disk' --prior 0.4
expect 0 hypothesis add 'it is the cache'
expect 0 evidence add h1 'the disk is full' --kind observation --strength 0.8
expect 0 hypothesis test h1
expect 0 hypothesis confirm h1
expect 0 belief add 'the cache is cold' --confidence 0.6
expect 0 belief add 'the host is slow' --confidence 0.5
expect 0 belief depend b2 b1
expect 0 gap add 'who writes there'
expect 0 note add 'a note' --tag a,b
expect 0 checkpoint create 'before the branch' --tag keep
expect 0 branch start side
expect 0 note add 'only on the branch'
expect 0 hypothesis reject h2
expect 0 branch switch main
expect 0 branch abandon side --reason 'it led nowhere'
expect 0 branch start joined
expect 0 note add 'merged later'
expect 0 branch switch main
expect 0 branch merge joined
expect 0 checkpoint label debug:"$("$cairn" checkpoint list --session 1 --limit 1 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')" keep
expect 0 checkpoint note "$newest_run" 'a note on a checkpoint of a run' --severity warning
expect 0 note remove n1
expect 0 note add 'taken back'
expect 0 session undo
expect 0 checkpoint create 'without the note'
expect 0 checkpoint restore "$("$cairn" checkpoint list --session 1 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')" --yes
# Messages, from the command line and from a transcript, on two lines.
expect 0 session message add 'Why is it slow?'
expect 0 session message add --role assistant --model m-1 --tokens-in 100 --tokens-out 20 'I look.'
expect 0 checkpoint create 'with messages'
newest=$("$cairn" checkpoint list --session 1 --limit 1 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')
cat >transcript.jsonl <<'END'
{"type":"user","uuid":"u1","timestamp":"2026-01-01T10:00:00.5Z","message":{"role":"user","content":"Look at the \u201cdisk\u201d"}}
{"type":"assistant","uuid":"u2","timestamp":"2026-01-01T10:00:01Z","message":{"id":"a1","role":"assistant","model":"m-2","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"df"}}],"usage":{"input_tokens":7,"output_tokens":3}}}
{"type":"user","uuid":"u3","timestamp":"2026-01-01T10:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"100%"}]}}
this is no JSON
{"role":"assistant","model":"m-3","content":"It is full.","usage":{"prompt_tokens":9,"completion_tokens":2}}
END
expect 0 session message import transcript.jsonl
head -c 70000 /dev/zero | tr '\0' x >large
"$cairn" session message add --role tool - <large >>log
expect 0 checkpoint create 'with a transcript'
expect 0 checkpoint restore "$newest" --yes
expect 0 session message add 'on another line'
expect 0 session start second
expect 0 note add 'of the second'
expect 0 checkpoint create 'of the second'
# Files of it: in chunks, of odd names, links, ignored; changed and put back.
mkdir -p files/dir/empty
echo text >files/text
printf 'bytes\0' >files/dir/bytes
ln -s ../text files/dir/link
mkfifo files/pipe
echo '*.o' >files/.gitignore
echo o >files/x.o
head -c 5000000 /dev/zero | tr '\0' y >files/large
expect 0 session config files files
expect 0 checkpoint create 'with files'
echo changed >files/text
chmod 755 files/dir/bytes
expect 0 checkpoint create 'with changed files'
newest=$("$cairn" checkpoint list --session 2 --limit 2 --json | sed 's/.*"seq":\([0-9]*\).*/\1/')
expect 0 checkpoint restore "$newest" --yes
expect 0 session end
expect 0 session switch first

finish

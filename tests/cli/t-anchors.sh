# Anchors, aliases and merge keys of YAML, and `x-` keys to put them into: the same
# definition as without them.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

same() { # NAME: what it says on stdin with anchors is what out.yaml says
    cat >with.yaml
    exits 0 cairn validate with.yaml
    for file in with out; do
        cairn graph $file.yaml --format json >$file.graph 2>&1
        rm -rf .cairn
        cairn run $file.yaml -q >$file.run 2>/dev/null
        cat log >>$file.run
        rm -f log
    done
    is "$(cat with.graph)" "$(cat out.graph)" "$1: the same graph"
    is "$(cat with.run)" "$(cat out.run)" "$1: the same run"
}
cat >out.yaml <<'END'
name: w
jobs: 1
tasks:
  plain: {env: {A: one, B: two}, retries: 2, outputs: [f], run: 'echo "plain $A $B" >>log; touch f'}
  own: {env: {A: one, B: two}, retries: 0, outputs: [f], run: 'echo "own $A" >>log', needs: plain}
  both: {env: {A: more}, retries: 5, outputs: [f], cwd: ., run: 'echo "both $A" >>log', needs: [plain, own]}
  list: {foreach: {i: [1, 2]}, run: 'echo "list $i" >>log', needs: [plain]}
  again: {foreach: {j: [1, 2]}, run: 'echo "list $j" >>log', needs: [list]}
END
same 'all of it' <<'END'
name: w
jobs: 1
x-job: &job
  env: {A: one, B: two}
  retries: 2
  outputs: [f]
x-more: &more {env: {A: more}, cwd: ., retries: 5}
x-log: &log 'echo "list $i" >>log'
tasks:
  &first plain: {<<: *job, run: 'echo "plain $A $B" >>log; touch f'}
  own: {run: 'echo "own $A" >>log', retries: 0, <<: *job, needs: *first}
  both: {<<: [*more, *job], run: 'echo "both $A" >>log', needs: [*first, own]}
  list: {foreach: {i: &two [1, 2]}, run: *log, needs: &after [*first]}
  again: {foreach: {j: *two}, run: 'echo "list $j" >>log', needs: [list]}
END
same 'in its place, and a name that is used again' <<'END'
name: w
jobs: 1
tasks:
  plain: &a {env: &e {A: one, B: two}, retries: 2, outputs: &o [f], run: 'echo "plain $A $B" >>log; touch f'}
  own: &b {<<: *a, retries: 0, run: 'echo "own $A" >>log', needs: &a plain}
  both: {<<: *b, env: {A: more}, retries: 5, cwd: ., run: 'echo "both $A" >>log', needs: [*a, own]}
  list: {foreach: {i: [1, 2]}, run: 'echo "list $i" >>log', needs: [*a]}
  again: {foreach: {j: [1, 2]}, run: 'echo "list $j" >>log', needs: [list]}
END

# Mistakes, with the place where they are written.
refused() { # PLACE TEXT, lines of the file
    place=$1
    text=$2
    shift 2
    printf '%s\n' 'name: w' "$@" >bad.yaml
    exits 3 cairn validate bad.yaml
    says "bad.yaml:$place: " "at $place"
    says "$text" "$text"
}
refused 2:18 'unknown key `tiemout`' 'x-j: &j {cwd: ., tiemout: 1s}' 'tasks: {a: {<<: *j, run: x}}' 2>/dev/null
refused 2:17 'there is no anchor &nope before it' 'tasks: {a: {<<: *nope, run: x}}'
refused 2:10 '*a stands in what &a is, and would have no end' 'x-a: &a [*a]' 'tasks: {a: {run: x}}'
refused 2:15 '`<<` takes a mapping or a list of mappings' 'x-a: {x: {<<: 1}}' 'tasks: {a: {run: x}}'
refused 2:22 'the key `<<` is here twice' 'x-a: &a {<<: {b: c}, <<: {c: d}}' 'tasks: {a: {run: x}}'
refused 2:1 'x-base: &base' '.base: &base {run: x}' 'tasks: {a: *base}'
refused 2:6 'tags (!x) are not supported' 'x-a: &a !x b' 'tasks: {a: {run: x}}'
deep='[]'
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do deep="[$deep]"; done
more='*d'
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do more="[$more]"; done
refused 3:22 'nested more than 32 levels deep' "x-d: &d $deep" "x-e: $more" 'tasks: {a: {run: x}}'
printf 'name: w\nx-none: 1\ntasks: {a: {run: "true", "<<": 1}}\n' >quoted.yaml
exits 3 cairn validate quoted.yaml
says 'unknown key `<<`' 'in quotes it is a key'

# Many tasks with the same base: as many as there are.
{
    printf 'name: many\nx-job: &job {env: {A: one, B: two}, retries: 2, outputs: [f], cwd: .}\ntasks:\n'
    seq 20000 | sed 's/.*/  t&: {<<: *job, run: x}/'
} >many.yaml
exits 0 cairn validate many.yaml
says '20000 tasks' 'all of them'

# ---- In the order in which they are written ----
cat >order.yaml <<'END'
name: order
x-cell: &cell {os: [a, b], cc: [gcc]}
tasks:
  first: {foreach: {<<: *cell, part: [1]}, run: ':'}
  last: {foreach: {part: [1], <<: *cell}, run: ':'}
  both: {foreach: {x: [1], <<: [{y: [2]}, *cell], cc: [tcc], z: [3]}, run: ':'}
END
is "$(planned order.yaml)" 'first[os=a,cc=gcc,part=1] first[os=b,cc=gcc,part=1] last[part=1,os=a,cc=gcc] last[part=1,os=b,cc=gcc] both[x=1,y=2,os=a,cc=tcc,z=3] both[x=1,y=2,os=b,cc=tcc,z=3]' \
    'what `<<` stands for is in its place'
done_testing

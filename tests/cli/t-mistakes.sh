# A workflow file with several mistakes: all that do not follow from another are told at once.
. "$TESTS/cli/tap.sh"

count_lines() { # the mistakes that were told, by their places
    sed -n 's/^cairn: [a-z]*\.yaml:\([0-9]*:[0-9]*\): .*/\1/p' err | tr '\n' ' '
}

cat >many.yaml <<'END'
name: many
jbos: 4
params: {a: 1}
tasks:
  a:
    run: [x]
    timeout: 3
    retires: 3
  b:
    needs: [aa, a, c]
    run: echo
    if: params.b == 1
  c:
    depends_on: [zz]
  d:
    run: x
    exec: [y]
    priority: high
END
exits 3 cairn validate many.yaml
is "$(count_lines)" '2:1 6:10 7:14 8:5 10:13 12:9 13:3 14:5 14:18 17:5 18:15 ' 'each has its place, in the order of the file'
matches '^11 mistakes$' 'and they are counted'
says '    retires: 3' 'with its line'
exits 3 cairn run many.yaml
ok 'nothing was made' test ! -e .cairn
exits 3 cairn plan many.yaml --json
json_ok 'as JSON'
is "$(json_get .error.exit_status)" 3 'the status'
matches '"text":"many.yaml:2:1: unknown key' 'the first one is the text of the error, as ever'
is "$(grep -o 'many.yaml:[0-9]*:[0-9]*:' out | wc -l)" 12 'all of them are mistakes'

printf 'name: one\ntasks: {a: {run: x, timeout: 3}}\n' >one.yaml
exits 3 cairn validate one.yaml
is "$(count_lines)" '2:30 ' 'one mistake is one message'
is "$(grep -c mistake err)" 0 'that is not counted'
exits 3 cairn validate one.yaml --json
is "$(grep -c mistakes out)" 0 'nor a list'

# What follows from another mistake is none.
cat >follows.yaml <<'END'
name: follows
parms: {x: 1}
tasks:
  a: {run: x, if: params.x == 1}
  b: {foreach: {v: []}, run: x}
  c: {needs: ['b[v=1]'], run: x, timeout: 1}
END
exits 3 cairn validate follows.yaml
is "$(count_lines)" '2:1 5:20 6:43 ' 'params were misspelled, members are not known'
printf 'name: f\nparams: {x: {type: nothing}}\ntasks: {a: {run: x, if: params.y == 1, timeout: 1}}\n' >names.yaml
exits 3 cairn validate names.yaml
is "$(count_lines)" '2:20 ' 'with wrong params, tasks are not looked at'

printf 'name: r\ntasks:\n  db: {service: true, ready: x, run: x, reuse: true}\n  y: {external: x, reuse: true}\n' >reuse.yaml
exits 3 cairn validate reuse.yaml
is "$(count_lines)" '3:41 4:20 ' 'what is refused for its kind is not refused for its key again'

# At most 20, and a thousand cost no more.
{
    printf 'name: limit\ntasks:\n'
    seq 1000 | sed 's/.*/  t&: {run: x, timeout: 1}/'
} >limit.yaml
exits 3 cairn validate limit.yaml
is "$(count_lines | wc -w)" 20 'twenty are told'
matches '^the first 20 mistakes; there may be more$' 'and that there may be more'
exits 3 cairn run limit.yaml --quiet
is "$(count_lines | wc -w)" 20 'also with --quiet'

# What only holds of all tasks together comes when the rest is right.
printf 'name: circle\ntasks: {a: {run: x, needs: [b]}, b: {run: x, needs: [a]}}\n' >circle.yaml
exits 3 cairn validate circle.yaml
says 'in a circle'

# A status that there is not would never be met, or always.
cat >status.yaml <<'END'
name: status
params: {x: completed}
tasks:
  a: {run: 'true'}
  b: {needs: [a], if: "tasks.a.status == 'success'", run: 'true'}
  c: {needs: [a], if: "'faild' != tasks.a.status || tasks.a.status == 'completed'", run: 'true'}
  d: {needs: [a], if: "default(tasks.a.outputs.x, tasks.a.status) == 'foo' || (tasks.a.status) == 'it''s'", run: 'true'}
  e: {needs: [a], if: "tasks.a.status == params.x && contains(tasks.a.status, 'comp')", run: 'true', env: {s: "${{ tasks.a.status != 'Failed' }}"}}
finally:
  n: {if: "run.status == 'failure'", run: echo alert}
  m: {if: "run.status == 'skipped' || tasks.b.status != 'skipped'", run: echo alert}
END
exits 3 cairn validate status.yaml
is "$(count_lines)" '5:42 6:24 7:99 8:134 10:26 11:26 ' 'only what can be known'
says 'there is no status `success`: it is completed, failed, skipped, excluded, undone, cancelled, unknown or pending; did you mean `completed`?'
says 'did you mean `failed`?'
says 'there is no status `failure`: it is completed, failed or cancelled; did you mean `failed`?'
done_testing

# make: sanitize
# Hostile values in params, foreach lists, files of lines, file names, $CAIRN_OUTPUT: tasks
# get them unchanged, nothing in them is obeyed, and what cairn prints stays printable.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
PATH="$BUILD/tests/tools:$PATH"
export VALUES="$PWD/values"
mkdir values work said
cd work || exit 1
probe make "$VALUES"
numbers=$(cd "$VALUES" && echo [0-9]*)

said=0
printable() { # NAME: what the last command printed has nothing that a terminal would obey
    said=$((said + 1))
    cp out "../said/$said.out"
    cp err "../said/$said.err"
    if probe clean out err >dirt; then
        tap_report ok "${1:-${tap_last%%[!a-z -]*}}: what is printed is only printed"
    else
        tap_report 'not ok' "${1:-${tap_last%%[!a-z -]*}}: what is printed is only printed"
        sed 's/^/# /' dirt
        tap_context
    fi
}
each() { # TEXT with NN for the number: the text for all values
    for number in $numbers; do
        printf '%s\n' "$1" | sed "s/NN/$number/g"
    done
}
list() { each "$1" | paste -s -d , -; }
# The same values as in the file? Each a line of hex on either side.
same_hex() { # NAME GOT WANTED
    LC_ALL=C sort "$2" >got.hex
    LC_ALL=C sort "$3" >wanted.hex
    ok "$1" cmp got.hex wanted.hex
}

# ---- Params, declared variables, arguments, values of tasks ----
{
    echo 'name: params'
    echo "params: {$(list 'pNN: ""')}"
    cat <<END
tasks:
  environment: {exec: [probe, env, '$VALUES', p]}
  shell: {run: 'probe env "\$VALUES" p; for v in "\$p00" "\$p05"; do printf %s "\$v" >/dev/null; done'}
  declared:
    params: []
    env: {PLAIN: x}
    run: test -z "\${p00-}"
  values: {run: 'probe values "\$VALUES" >>"\$CAIRN_OUTPUT"'}
  conditions: {if: "contains(params.p00, '\$(touch') && params.p16 != 'x' && params.p27 == '\$\${{ params.p00 }}'", run: echo never}
END
    echo "  arguments: {exec: [probe, args, '$VALUES', $(list '"${{ params.pNN }}"')]}"
    echo "  set: {params: [$(list pNN)], env: {$(list 'ENN: "${{ params.pNN }}"')}, exec: [probe, env, '$VALUES', E]}"
    echo "  passed: {needs: values, exec: [probe, args, '$VALUES', $(list '"${{ tasks.values.outputs.vNN }}"')]}"
    echo "  taken: {needs: values, params: [], env: {$(list 'VNN: "${{ tasks.values.outputs.vNN }}"')}, exec: [probe, env, '$VALUES', V]}"
    echo "  checked: {run: ':', check: 'probe env \"\$VALUES\" p', undo: 'probe env \"\$VALUES\" p && touch undone'}"
    echo "finally:"
    echo "  last: {exec: [probe, args, '$VALUES', $(list '"${{ tasks.values.outputs.vNN }}"')]}"
} >params.yaml
run probe params cairn run params.yaml
is "$status" 0 'every value of a param arrives as it is'
printable 'the run'
for task in environment shell declared values arguments set passed taken checked last; do
    ok "$task: nothing was lost" grep -q "^ok  *$task " err
done
run cairn undo 1 checked
if [ "$status" = 0 ]; then
    ok 'undo gets them, too' test -e undone
else
    skip 'undo gets them, too' 'there is no such command yet'
fi
run probe params cairn run params.yaml --fresh --json
is "$status" 0 'with --json, too'
json_ok 'which stays JSON'
for command in status runs 'plan --all' 'explain passed' events; do
    # shellcheck disable=SC2086
    run cairn $command
    is "$status" 0 "cairn $command"
    printable
    # shellcheck disable=SC2086
    run cairn $command --json
    json_ok "cairn $command --json is JSON"
    printable
done

# ---- foreach over a list, lines of a file, names of files ----
mkdir files
probe lines lines.txt
probe files files
(cd files && for name in *; do probe hex ../files.hex "files/$name"; done)
while IFS= read -r line; do probe hex lines.hex "$line"; done <lines.txt
ok 'there are enough of them' test "$(wc -l <files.hex)" -gt 20 -a "$(wc -l <lines.hex)" -gt 20
cat >each.json <<'END'
{"name": "each", "tasks": {
  "list": {"foreach": {"v": ["$(touch pwned)", "\n\ttouch pwned\n", "\u001b[31m", "'", "\"", "-n", "%s", "\u009b31m", "*", ""]},
    "exec": ["probe", "hex", "list.out", "${{ v }}"]},
  "lines": {"foreach": {"v": {"lines": "lines.txt"}}, "exec": ["probe", "hex", "lines.out", "${{ v }}"]},
  "shell": {"foreach": {"v": {"lines": "lines.txt"}}, "run": "probe hex shell.out \"$v\"; printf 'x=%s\\n' \"$v\" >>\"$CAIRN_OUTPUT\""},
  "one": {"foreach": {"v": {"lines": "lines.txt"}}, "needs": ["shell[v=${{ v }}]"],
    "env": {"X": "${{ tasks.shell.outputs.x }}"}, "run": "probe hex one.out \"$X\"; test \"$X\" = \"$v\""},
  "files": {"foreach": {"f": {"glob": "files/*"}}, "exec": ["probe", "hex", "files.out", "${{ f }}"],
    "inputs": "${{ f }}", "outputs": ["${{ f }}"]},
  "both": {"foreach": {"f": {"glob": "files/*"}, "v": ["'", "$(touch pwned)"]}, "run": "test -e \"$f\"; echo \"$v\" >\"$f\""}
}}
END
exits 0 cairn run each.json
printable
is "$(wc -l <list.out)" 10 'every value of a list had its task'
ok 'control characters in a list arrive' grep -qx 1b5b33316d list.out
ok 'line breaks, too' grep -qx 0a09746f7563682070776e65640a list.out
same_hex 'lines arrive as they are' lines.out lines.hex
same_hex 'in the environment, too' shell.out lines.hex
same_hex 'and from one task to the next' one.out lines.hex
same_hex 'names of files arrive as they are' files.out files.hex
run cairn status --tasks --json
json_ok 'the ids in JSON'
high=$(printf '\200-\377')
is "$(awk -F '\t' '$1 ~ /\.task$/' flat.tsv | LC_ALL=C grep -cv "^[^	]*	[]A-Za-z0-9_.+@:\/=,~%${high}[-]*$")" 0 'ids are plain, but for letters of other languages'
ids=$(awk -F '\t' '$1 ~ /\.task$/ && $2 ~ /^files/ { print $2 }' flat.tsv)
wrong=
for id in $ids; do
    cairn log "$id" >out 2>err && cairn explain "$id" >>out 2>>err || wrong="$wrong $id"
    cat out err >>all.out
done
is "$wrong" '' 'every id can be given to a command'
for command in 'status --tasks' 'plan --all' graph 'validate each.json' 'graph each.json' events; do
    # shellcheck disable=SC2086
    run cairn $command
    is "$status" 0 "cairn $command"
    printable
    # shellcheck disable=SC2086
    run cairn $command --json
    json_ok "cairn $command --json is JSON"
done
# The name of a workflow is whatever somebody wrote.
printf '{"name": "w\\u202e \\"\\\\", "tasks": {"a": {"run": "true"}}}' >named.json
for format in dot mermaid; do
    exits 0 cairn graph named.json --format $format
    printable
done
run cairn graph named.json
says 'digraph "w\\u202e \"\\" {' 'the name is escaped, then quoted'
# A list that changed is told with its values.
rm files/\$*
: >"files/$(printf 'new\033[31m\n\302\233')"
run cairn plan each.json
printable 'the plan with new and vanished members'

# ---- Texts that cairn makes of such values ----
fails() { # NAME TASK: a workflow with params x (escapes) and u (not UTF-8); it fails, printably
    printf 'name: fails\nparams: {x: "", u: ""}\ntasks:\n  t: %s\n' "$2" >fails.yaml
    run cairn run fails.yaml --fresh --param "x=$(cat "$VALUES/18" "$VALUES/19" "$VALUES/21" "$VALUES/23")" --param "u=$(cat "$VALUES/24")"
    ok "$1: fails" test "$status" -eq 1 -o "$status" -eq 3
    printable "$1"
    run cairn status
    printable "$1: status"
    run cairn explain t
    printable "$1: explain"
    run cairn events
    printable "$1: events"
    for command in 'status --tasks' 'explain t' 'log t' events runs; do
        # shellcheck disable=SC2086
        run cairn $command --json
        json_ok "$1: cairn $command --json is JSON"
    done
}
fails 'a command that is not there' '{exec: ["./${{ params.x }}${{ params.u }}"]}'
fails 'a directory that is not there' '{cwd: "${{ params.x }}${{ params.u }}", run: ":"}'
fails 'an input that is not there' '{inputs: "${{ params.x }}${{ params.u }}", run: ":"}'
fails 'an output that is not there' '{outputs: "${{ params.x }}${{ params.u }}", run: ":"}'
fails 'a comparison' '{if: "params.x > 0 || params.u > 0", run: ":"}'
fails 'a bad line of $CAIRN_OUTPUT' '{run: "printf \"%s\\n\" \"$x$u\" >>\"$CAIRN_OUTPUT\""}'
fails 'an answer of a check' '{run: ":", check: "echo \"$x$u\" >&2; echo \"{\\\"confidence\\\": \\\"$x\\\"}\""}'
fails 'a check that fails' '{run: ":", check: "echo \"$x$u\" >&2; exit 3"}'
fails 'what a task wrote last' '{run: "echo \"$x$u\"; echo \"$x$u\" >&2; exit 3"}'

bad="$(cat "$VALUES/18" "$VALUES/19" "$VALUES/21")"
printf 'name: bad\ntasks: {a: {run: x}}\n' >"$bad.yaml"
printf 'name: x\n%s: y\n' "$bad" >unknown.yaml
printf 'name: "x\\e[31m"\ntasks: {a: {run: x}}\n' >name.yaml
printf 'name: x\ntasks: {a: {run: x, needs: ["\\e[31m"], pool: "\\e]0;x\\a"}}\n' >refers.yaml
printf 'name: x\nparams: {n: {type: int}, c: {choices: ["\\e[31m"]}}\ntasks: {a: {run: x}}\n' >typed.yaml
for command in "run $bad.yaml" 'run unknown.yaml' 'run name.yaml' 'run refers.yaml' \
    "run none-$bad.yaml" "explain $bad" "log $bad" "checkpoint show $bad" "$bad" "run --$bad" \
    "run params.yaml --param $bad" "run typed.yaml --param n=$bad --param c=x" \
    "run typed.yaml --param n=1 --param c=$bad" "resume $bad" "resume --from $bad" "run --store x/$bad/y" \
    "complete 1 $bad" "fail 1 $bad --message $bad" "claim 1 $bad" "undo 1 $bad" "resolve 1 $bad done"; do
    set --
    # The words of a command are separated by single blanks; the values have none.
    rest=$command
    while :; do
        set -- "$@" "${rest%% *}"
        [ "$rest" != "${rest#* }" ] || break
        rest=${rest#* }
    done
    run cairn "$@"
    printable "cairn ${1%%[!a-z-]*} with an escape in its operand"
    run cairn "$@" --json
    [ ! -s out ] || json_ok "cairn ${1%%[!a-z-]*} --json with it is JSON"
done

# ---- Line breaks in names: nothing gets a line of its own ----
lines="$(printf 'two\nok  forged  0.00s')"
shown='two^Jok  forged  0.00s'
one_line() { # NAME
    ok "$1: the line break is shown" eval 'cat out err | grep -qF "$shown"'
    ok "$1: no line begins with the rest" eval '! cat out err | grep -q "^ok  forged"'
}
printf 'name: breaks\nparams: {x: ""}\ntasks:\n  a: {run: "touch \\"$x\\"", outputs: ["${{ params.x }}"]}\n' >breaks.yaml
run cairn run breaks.yaml --param "x=$lines"
is "$status" 0 'an output with a line break in its name'
rm "$lines"
run cairn plan
one_line 'plan of a missing output'
run cairn explain a
one_line 'explain'
sed 's/touch/:/' breaks.yaml >breaks.new && mv breaks.new breaks.yaml
run cairn resume
is "$status" 1 'it is not made again'
one_line 'the run'
for command in status 'status --tasks' 'explain a' events; do
    # shellcheck disable=SC2086
    run cairn $command
    ok "$command: no line begins with the rest" eval '! cat out err | grep -q "^ok  forged"'
done
run cairn status
one_line 'status'
mkdir "$lines"
cp params.yaml "$lines/flow.yaml"
run cairn validate "$lines/flow.yaml"
one_line 'validate'
printf 'name: asks\ntasks:\n  t:\n    external: |\n      first\n      ok  forged  0.00s\n' >asks.yaml
run cairn run asks.yaml --no-wait
ok 'what a step waits for is one line' eval '! grep -q "^ok  forged" err && grep -q "first^Jok  forged  0.00s$" err'
run cairn next
ok 'instructions go on in indented lines' eval 'grep -qx "    ok  forged  0.00s" out && ! grep -qx "" out'
run cairn status --waiting
ok 'status --waiting: one line' eval '! grep -q "^ok  forged" out && grep -qE "first\^Jok  forged  0.00s( |$)" out'

# ---- Steps of others ----
if cairn help complete >/dev/null 2>&1; then
    cat >steps.yaml <<'END'
name: steps
params: {x: ""}
on_failure: continue
tasks:
  ask: {external: "do ${{ params.x }} now"}
  deny: {external: "or not"}
  use: {needs: ask, run: 'probe hex step.out "$V"', env: {V: "${{ tasks.ask.outputs.v }}"}}
END
    run cairn run steps.yaml --no-wait --param "x=$bad"
    is "$status" 7 'a run that waits for somebody'
    printable
    cairn status --json >out
    number=$(json_get .run)
    for command in next "next $number" 'status --waiting'; do
        # shellcheck disable=SC2086
        run cairn $command
        printable
        # shellcheck disable=SC2086
        run cairn $command --json
        json_ok "cairn $command --json is JSON"
    done
    run cairn claim "$number" ask --lease 10m --holder "$bad"
    token=$(cat out)
    run cairn next "$number"
    printable 'next with a holder'
    run cairn complete "$number" ask ${token:+--token "$token"} --output "v=$bad"
    printable
    run cairn fail "$number" deny --message "no $bad"
    printable
    run cairn resume --no-wait
    printable
    probe hex step.hex "$bad"
    ok 'a value given from outside arrives as it is' cmp step.out step.hex
    run cairn explain deny
    printable
else
    skip 'steps of others' 'there is no such command yet'
fi

is "$(find .. -name 'pwned*')" '' 'nothing was injected'
cd .. || exit 1
ok 'the directory is as it was' test -d values -a -d work
done_testing

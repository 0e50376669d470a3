# make: sanitize
# `defaults: {cwd, pool}`, and `description`, which changes nothing.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

mkdir here there
cat >w.yaml <<'END'
name: w
description: |
  Shows what "defaults" are,
  in two lines.
params: {dir: here}
pools: {p: 1}
defaults: {cwd: '${{ params.dir }}', pool: p}
tasks:
  a: {description: writes a file, run: 'pwd >x', outputs: x}
  b: {run: 'pwd >x', cwd: there, outputs: x}
  c: {description: 'reads it', exec: [cat, x], inputs: x, needs: a}
  d: {external: decide}
END
exits 0 cairn validate w.yaml
exits 7 cairn run w.yaml --no-wait
is "$(cat here/x)" "$PWD/here" 'in the directory of the defaults'
is "$(cat there/x)" "$PWD/there" 'or in its own'
exits 0 cairn explain a
says 'description: writes a file' 'explain shows it'
exits 0 cairn explain c --json
is "$(json_get .description out)" 'reads it' 'in JSON, too'
exits 0 cairn explain b --json
is "$(json_get .description out)" null 'or that there is none'
exits 0 cairn graph w.yaml --format json
is "$(json_get .nodes[0].description out)" 'writes a file' 'graph has those of tasks'
says 'in two lines' 'and that of the workflow'
sed -i 's/writes a file/makes one/; s/in two lines/as ever/' w.yaml
exits 0 cairn plan w.yaml
is "$(planned w.yaml)" '' 'an edit runs nothing again'
exits 0 cairn explain a
says 'makes one' 'it is shown'
sed -i 's/^defaults.*/defaults: {cwd: there, pool: p}/' w.yaml
is "$(planned w.yaml)" 'a c' 'another directory does'

try() { # PLACE TEXT LINES
    place=$1 text=$2
    shift 2
    printf '%s\n' 'name: bad' "$@" >bad.yaml
    exits 3 cairn validate bad.yaml
    says "bad.yaml:$place: " "at $place"
    says "$text" "$text"
}
try 2:18 'there is no pool `q`' 'defaults: {pool: q}' 'tasks: {a: {run: x}}'
try 2:22 'unknown name `part`' 'defaults: {cwd: "${{ part }}"}' 'tasks: {a: {run: x, foreach: {part: [1]}}}'
try 2:12 'the `env` at the top level is for all tasks' 'defaults: {env: {A: b}}' 'tasks: {a: {run: x}}'
try 2:14 '`description` is empty' 'description: ""' 'tasks: {a: {run: x}}'
try 3:21 '`defaults` refers to params.dir' 'params: {dir: x}' 'tasks: {a: {run: x, params: []}}' 'defaults: {cwd: "${{ params.dir }}"}'
try 2:21 'did you mean `description`' 'tasks: {a: {run: x, desc: y}}'
done_testing

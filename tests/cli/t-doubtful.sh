# make: sanitize
# What is valid and doubtful: warnings of validate, and groups over files that a run makes itself.
. "$TESTS/cli/tap.sh"

warned() { # NAME TEXT...; the file on stdin
    cat >w.yaml
    warned_name=$1
    shift
    exits 0 cairn validate w.yaml
    for warned_text; do
        says "$warned_text" "$warned_name: $warned_text"
    done
    is "$(grep -c warning err)" $# "$warned_name: no other warning"
}

warned secrets 'warning: w.yaml:2:18: no task gets the secret `KEY`' <<'END'
name: w
secrets: [TOKEN, KEY]
tasks: {a: {run: x, secrets: [TOKEN]}}
END
warned outputs 'w.yaml:4:3: `a` and `b` have the same output `x`' 'w.yaml:7:3: all members of `e` have the output `y`' <<'END'
name: w
tasks:
  a: {run: x, outputs: x}
  b: {run: x, outputs: [x]}
  c: {run: x, outputs: x, cwd: sub}
  d: {run: x, outputs: x, when: failed, needs: [a]}
  e: {run: x, outputs: y, foreach: {n: [1, 2]}}
  f: {run: x, outputs: 'o/${{ n }}', foreach: {n: [1, 2]}}
END
warned needs '4:15: task `b` never runs: the condition of `a`, which it needs, is false' \
    '7:18: task `e` never runs: `d` runs only after a failure' <<'END'
name: w
tasks:
  a: {run: x, if: false}
  b: {needs: [a], run: x}
  c: {run: x}
  d: {run: x, needs: [c], when: failed}
  e: {needs: [c, d], run: x}
  f: {needs: [c, d], run: x, when: always}
  g: {needs: [d], run: x}
END
warned nothing <<'END'
name: w
tasks: {a: {run: x}, b: {needs: [a], run: x, outputs: b}}
END

mkdir parts && touch parts/1.csv
cat >made.yaml <<'END'
name: made
tasks:
  split: {run: x, foreach: {n: [1, 2]}, outputs: 'parts/${{ n }}.csv'}
  list: {run: x, outputs: hosts.txt}
  convert: {foreach: {file: {glob: 'parts/*.csv'}}, needs: [split], run: x}
  visit: {foreach: {host: {lines: hosts.txt}}, needs: [list], run: x}
END
echo one >hosts.txt
exits 3 cairn validate made.yaml
says 'made.yaml:5:61: the values of `file` are read before anything runs, but `split` makes what they come from' 'a glob'
says 'made.yaml:6:56: the values of `host`' 'lines of a file'
says 'write `from: list` beside the file' 'what to write instead'
says 'inputs: {glob: ...}' 'or that'
sed -i '5s/, needs: \[split\]//; 6s/, needs: \[list\]//' made.yaml
exits 0 cairn validate made.yaml
sed '6s/lines: /from: list, lines: /' made.yaml >from.yaml
exits 0 cairn validate from.yaml
rm parts/1.csv
exits 3 cairn validate made.yaml
says 'values are read before anything runs: a list that a task makes is {from: TASK, value: NAME}' \
    'nothing is there: when it would have to be'
done_testing

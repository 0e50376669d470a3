# cairn graph: groups folded into one node each, and the states of a run.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END'
name: flow
on_failure: continue
tasks:
  get: {run: 'true'}
  test: {foreach: {py: [a, b], os: [x, y]}, needs: [get], if: "os != 'y'", run: 'test $py = a'}
  pack: {foreach: {py: [a, b]}, needs: ['test[py=${{ py }}]'], run: 'true'}
  all: {needs: [test, pack], run: 'true'}
  one: {needs: ['pack[py=a]', get], run: 'true'}
END
exits 0 cairn graph flow.yaml --fold
is "$(grep -c 'label=' out)" 5 'a node for each task and group'
is "$(grep -- '->' out | tr -d ' ;' | tr '\n' ,)" 'n0->n1,n1->n2,n1->n3,n2->n3,n2->n4,n0->n4,' 'an edge for each pair of them, once'
says 'label="test (4)"' 'how many members it has'
ok 'no colours without a run' sh -c '! grep -q fillcolor out'
exits 0 cairn graph flow.yaml --fold --format mermaid
says 'n1["test (4)"]'
is "$(grep -c -- '-->' out)" 6 'the same edges'
exits 1 cairn run flow.yaml
exits 0 cairn graph --states --fold
says '[label="test (4: 1 failed, 1 completed, 2 excluded)", style=filled, fillcolor="#f8b4b4"]' 'a group has the colour of what matters most'
says '[label="get", style=filled, fillcolor="#b7e4c7"]' 'a task its own'
exits 0 cairn graph --states --run 1
is "$(grep -c 'fillcolor' out)" 9 'every task, but no barrier'
exits 0 cairn graph --states --format mermaid
says '["test[py=b,os=x]"]:::failed'
says 'classDef failed fill:#f8b4b4'
is "$(grep -c 'classDef' out)" 4 'a class for each state that there is'
exits 2 cairn graph flow.yaml --states
says '--states shows a run' 'a file has no states'
printf 'name: other\nparams: {x: {default: z}}\ntasks: {get: {run: "true"}}\n' >cairn.yaml
exits 2 cairn graph --states --param x=y
says '--states shows a run, and there is none' 'nor has a file with parameters'
exits 2 cairn graph --states --store none
says '--states shows a run, and there is none' 'nor has one that never ran'
exits 0 cairn graph flow.yaml --json --fold
json_ok 'folded nodes as JSON'
is "$(json_get .edges)" 6 'the edges of the picture'
is "$(grep -o '"id":"[a-z]*"\|"tasks":[0-9]*\|"needs":[^]]*' out | sed 's/"id"://; s/"//g' | tr '\n' ' ')" \
    'tasks:9 get tasks:1 needs:[ test tasks:4 needs:[get pack tasks:2 needs:[test all tasks:1 needs:[test,pack one tasks:1 needs:[pack,get ' 'a node for each group, and what it needs'
exits 0 cairn graph --states --run 1 --fold --json
says '"tasks":4,"state":"failed","counts":{"excluded":2,"completed":1,"failed":1}' 'how many of its tasks are in each state'
# the store's newest run is that of flow.yaml
exits 0 cairn graph --states --json
json_ok 'states as JSON'
is "$(json_get .run)" 1 'of which run they are'
is "$(grep -o '"state":"[a-z]*"' out | sort | uniq -c | tr -s ' \n' ' ')" ' 4 "state":"completed" 2 "state":"excluded" 1 "state":"failed" 2 "state":"skipped" ' 'the state of each task'
is "$(cairn graph --states --format json | cmp - out && echo same)" same 'the same by --format json'
run cairn graph --run 1 --json
is "$(grep -c '"state"' out)" 0 'without --states there are none'
exits 2 cairn graph flow.yaml --states --json

# ---- Descriptions ----
cat >described.yaml <<'EOF'
name: d
tasks:
  a: {run: "true", description: 'says "this"'}
  b: {run: "true"}
EOF
run cairn graph described.yaml
says '[label="a", tooltip="says \"this\""]' 'a description is the tooltip of its node'
says '[label="b"]' 'without one there is none'
done_testing

# Processes that a task left behind in its group are ended with it, and named.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: flow
tasks:
  server:
    run: |
      i=0 all=
      while [ $i -lt 30 ]; do sleep 77 & all="$all $!"; i=$((i + 1)); done
      # Until then they are called sh.
      for one in $all; do until [ "$(cat /proc/$one/comm)" = sleep ]; do sleep 0.01; done; done
  clean: {needs: server, run: 'sleep 0.1 & wait; sh -c "true"; echo done'}
END2
exits 0 cairn run flow.yaml
matches '^server left processes behind, which were ended with it: .*sleep' 'they are named'
matches 'sleep.* and [0-9]+ more; ' 'the first of them'
says 'setsid -f COMMAND' 'with the way to leave one'
is "$(cat out err | grep -c 'left processes behind')" 1 'a task that waits for its own has none'
is "$(lives 'sleep 77' && echo yes)" '' 'and none is there'
exits 0 cairn run flow.yaml --fresh --json
is "$(grep -c 'left processes behind' out)" 1 'a notice in JSON'

command -v setsid >/dev/null || { done_testing; exit; }
cat >stays.yaml <<'END2'
name: stays
tasks:
  server: {run: 'setsid -f sh -c "echo \$\$ >pid; until test -e stop; do sleep 0.05; done; touch stopped" >/dev/null 2>&1; until test -s pid; do sleep 0.05; done'}
END2
exits 0 cairn run stays.yaml
is "$(cat out err | grep -c 'left processes behind')" 0 'one in a session of its own is not meant'
ok 'and lives' kill -0 "$(cat pid)"
touch stop
ok 'until it ends' wait_for 20 test -e stopped
done_testing

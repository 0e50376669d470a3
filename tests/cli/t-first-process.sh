# shellcheck shell=sh disable=SC2016
# cairn as the first process of a container, and as a subreaper: it inherits what daemons
# leave behind and must collect it.
. "$TESTS/cli/tap.sh"

cat >cairn.yaml <<'END'
name: z
tasks:
  a: {run: 'for i in 1 2 3 4 5 6 7 8 9 10; do setsid -f true; done; echo $$ >pid'}
  b:
    needs: a
    run: |
      i=0
      while [ $i -lt 100 ]; do
        n=0
        for s in /proc/[0-9]*/stat; do
          read -r line 2>/dev/null <"$s" || continue
          case $line in *"(true) Z "* | *"(setsid) Z "*) n=$((n + 1)) ;; esac
        done
        [ $n -gt 0 ] || break
        i=$((i + 1)); sleep 0.05
      done
      echo $n >zombies
  c: {needs: b, run: 'exit 3'}
END
reaper=$BUILD/tests/tools/subreaper
exits 1 "$reaper" cairn run
is "$(cat zombies)" 0 'a subreaper collects what daemons of its tasks leave'
says '1 failed' 'the exit status and the words are those of the run'

cat >wait.yaml <<'END'
name: w
tasks: {stay: {run: 'env >seen; : >started; until [ -e go ]; do sleep 0.02; done'}}
END
rm -f started
"$reaper" cairn run wait.yaml >wait.out 2>&1 &
first=$!
wait_for 20 test -e started
ok 'tasks do not see which process is the first' sh -c '! grep CAIRN_FIRST seen'
kill -TERM $first
wait $first
is $? 7 'SIGTERM to the first process stops the run in order'
rm -f started
"$reaper" cairn resume wait.yaml >wait.out 2>&1 &
first=$!
wait_for 20 test -e started
kill -9 $first
wait $first 2>/dev/null
dead() { [ "$(cairn status wait.yaml --json >s && json_get .live s)" = false ]; }
ok 'kill -9 of the first process ends the run, too' wait_for 20 dead
: >go
exits 0 cairn resume wait.yaml

if unshare -pf --mount-proc true 2>/dev/null; then
    rm -rf .cairn zombies
    exits 1 unshare -pf --mount-proc cairn run
    is "$(cat zombies)" 0 'the first process of a container collects, too'
    exits 10 unshare -pf --mount-proc cairn status 77
    # Sanitizers themselves cannot do without /proc.
    ldd "$BUILD/cairn" | grep -q libasan ||
        exits 0 unshare -mpf sh -c 'mount -t tmpfs none /proc && exec cairn status 1'
    rm -f started go
    # shellcheck disable=SC2094
    unshare -pf --mount-proc cairn run wait.yaml >wait.out 2>&1 &
    box=$!
    wait_for 20 test -e started
    read -r init _ <"/proc/$box/task/$box/children"
    kill -TERM "$init"
    wait $box
    is $? 7 'what `docker stop` sends stops the run in order'
else
    skip 'in a container' 'no PID namespace can be made here'
fi
done_testing

# Attempts that outlived their cairn (on_crash: adopt), and the file of the workflow was edited
# before the resume: an end counts only if the files are as they were then, and no attempt that
# still runs is forgotten, whatever `on_crash` says by then.
. "$TESTS/cli/tap.sh"

# write_flow NAME ON_CRASH TASK-BEFORE KEYS: `a` runs until there is `go`, and says what its keeper is.
write_flow() {
    cat >"$1.yaml" <<END2
name: $1
on_crash: $2
on_failure: continue
jobs: 4
tasks:
  $3
  a: {$4 run: 'echo begun >>log; cp in d/a.out; echo \$PPID >keeper.new; mv keeper.new keeper; until [ -e go ]; do sleep 0.02; done; echo ended >>log'}
  b: {needs: 'a', run: 'cp d/a.out b.out', inputs: d/a.out, outputs: b.out}
END2
}
Z1='z: {run: echo 1}'
Z2='y: {run: echo new}
  z: {run: echo 2}'
Z3='z: {run: "touch adopted; until [ -e go ]; do sleep 0.02; done"}'
FILES='inputs: in, outputs: d/a.out,'

begin() { # NAME: a run whose task `a` outlives it
    rm -rf .cairn log go keeper d d2 d.old ./*.out adopted
    mkdir d d2
    echo good >in
    cairn run "$1.yaml" >run.out 2>&1 &
    pid=$!
    wait_for 20 test -s keeper
    wait_for 20 grep -q '^ok' run.out
    kill -9 $pid
    wait $pid 2>/dev/null
}
ended() { # A zombie has no command line, either.
    [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$(cat keeper)/cmdline")" ]
}
end_task() {
    touch go
    wait_for 20 ended
    sleep 0.05 # the times of files lag behind the clock
}

for once in '' 'once: true, '; do
    for how in same hand rename input gone; do
        write_flow files adopt "$Z1" "$once$FILES"
        begin files
        end_task
        wanted=good
        case $how in
        hand) echo foreign >d/a.out ;;
        rename)
            echo foreign >d2/a.out
            mv d d.old
            mv d2 d
            ;;
        input) echo newer >in && wanted=newer ;;
        gone) rm d/a.out ;;
        esac
        write_flow files adopt "$Z2" "$once$FILES"
        exits 0 cairn plan
        if [ $how != same ] && [ "$once" ]; then
            exits 8 cairn resume
            says 'that end does not count' "$once$how: it says why"
            is "$(grep -c begun log)" 1 'and nothing runs twice'
            ok 'nothing is made of it' test ! -e b.out
            continue
        fi
        exits 0 cairn resume
        is "$(cat b.out)" $wanted "$once$how: what is there is what a task has made"
        if [ $how = same ]; then
            is "$(grep -c begun log)" 1 'and its end is taken over'
        else
            says 'that end does not count' 'and it says why'
            is "$(grep -c begun log)" 2 'and the task runs again'
        fi
        exits 0 cairn resume
        says 'nothing to do' 'then all is settled'
    done
done

# The task itself was edited, and what it has done counts (--on-change=keep): what it is to have
# made by now must be of its time. One that must not run twice is asked about.
for how in keep once; do
    for file in old new; do
        case $how in keep) once='' more=--on-change=keep ;; *) once='once: true, ' more='' ;; esac
        write_flow edited adopt "$Z1" "${once}outputs: d/a.out,"
        rm -f other
        [ $file = new ] || echo foreign >other
        sleep 0.05
        begin edited
        [ $file = old ] || echo other >other
        end_task
        write_flow edited adopt "$Z2" "${once}outputs: [d/a.out, other],"
        if [ $how = once ]; then
            exits 8 cairn resume
            [ $file = new ] ||
                says 'a had ended when the run was killed, but other has changed' "$how $file: it says why"
            is "$(grep -c begun log)" 1 "$how $file: it began once"
        else
            # shellcheck disable=SC2086
            exits 0 cairn resume $more
            [ $file = new ] && wanted=1 || wanted=2
            is "$(grep -c begun log)" $wanted "$how $file: it began so often"
        fi
    done
done

# It ends, and its file is changed, while the resume compares large files: after it was found
# running.
cat >slow.c <<'END2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void pause_at(const char *path)
{
    size_t n = strlen(path);
    const struct timespec rest = {0, 10000000};
    if (n < 7 || strcmp(path + n - 7, "slow.in"))
        return;
    creat("looking", 0600);
    while (access("looked", F_OK))
        nanosleep(&rest, NULL);
}
#define OPEN(name)                                            \
    int name(const char *path, int flags, ...)                \
    {                                                         \
        int (*next)(const char *, int, ...);                  \
        *(void **)&next = dlsym(RTLD_NEXT, #name);            \
        va_list list;                                         \
        va_start(list, flags);                                \
        mode_t mode = flags & O_CREAT ? va_arg(list, int) : 0; \
        va_end(list);                                         \
        pause_at(path);                                       \
        return next(path, flags, mode);                       \
    }
OPEN(open)
OPEN(open64)
END2
ok 'the library is made' ${CC:-cc} -shared -fPIC -o slow.so slow.c -ldl
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0"
for once in '' 'once: true, '; do
    write_flow slow adopt 's: {inputs: slow.in, run: ":"}' "$once$FILES"
    rm -f looking looked
    echo slow >slow.in
    begin slow
    touch slow.in
    LD_PRELOAD="$PWD/slow.so" cairn resume >resume.out 2>&1 &
    pid=$!
    wait_for 20 test -e looking
    end_task
    echo foreign >d/a.out
    touch looked
    wait $pid
    is "$?" "$([ "$once" ] && echo 8 || echo 0)" "${once}it continues"
    ok 'and says why that end does not count' grep -q 'a has ended, but d/a.out has changed since' resume.out
    if [ "$once" ]; then
        ok 'nothing is made of it' test ! -e b.out
    else
        is "$(cat b.out)" good 'it runs again'
    fi
done

# Members of a foreach, which have other numbers after the edit.
write_members() { # VALUES
    cat >members.yaml <<END2
name: members
on_crash: adopt
jobs: 4
tasks:
  m: {foreach: {i: [$1]}, outputs: '\${{ i }}.out', run: 'echo \$i >>log; echo \$i >\$i.out; [ \$i = w ] || { echo \$PPID >keeper-\$i.new; mv keeper-\$i.new keeper-\$i; until [ -e go ]; do sleep 0.02; done; }'}
END2
}
rm -rf .cairn log go keeper* ./*.out
write_members 'x, y'
cairn run members.yaml >run.out 2>&1 &
pid=$!
wait_for 20 test -s keeper-x -a -s keeper-y
kill -9 $pid
wait $pid 2>/dev/null
touch go
for i in x y; do
    mv keeper-$i keeper
    wait_for 20 ended
done
sleep 0.05
echo foreign >y.out
write_members 'w, y, x'
exits 0 cairn resume
says 'm[i=y] had ended when the run was killed, but y.out has changed since' 'the member is named'
is "$(sort log | tr '\n' ' ')" 'w x y y ' 'and it alone runs again'
is "$(cat y.out)" y 'and makes its file'

# Taken over by an owner that would not have kept it (on_crash: kill by then), and that is
# killed, too: whoever comes next takes it over as well.
for once in '' 'once: true, '; do
    for now in lives ended; do
        write_flow kill adopt "$Z1" "${once}outputs: d/a.out,"
        begin kill
        write_flow kill kill "$Z3" "${once}outputs: d/a.out,"
        killed_at adopted cairn resume
        rm adopted
        exits 0 cairn status --json
        is "$(json_get .unknown)" 0 "$once$now: nobody has to decide about it"
        exits 0 cairn plan
        matches '^take +a ' 'and the plan says that it is taken over'
        if [ $now = ended ]; then
            end_task
        else
            (wait_for 20 test -e adopted; touch go) &
        fi
        exits 0 cairn resume
        wait
        is "$(tr '\n' ' ' <log)" 'begun ended ' "$once$now: it ran once, by itself"
        is "$(cat b.out)" good 'and what it has made is used'
        exits 0 cairn resume
        says 'nothing to do' 'then all is settled'
        exits 0 cairn checkpoint verify
    done
done

# The same, and its task is gone, or another one, by then: what still runs is ended.
for how in renamed changed; do
    write_flow kill adopt "$Z1" ''
    begin kill
    write_flow kill kill "$Z3" ''
    killed_at adopted cairn resume
    case $how in
    renamed) sed -i 's/^  a: .*/  a2: {run: "echo a2 >>log"}/; s/needs: .a./needs: a2/' kill.yaml ;;
    *) sed -i 's/^  a: .*/  a: {run: "echo a2 >>log"}/' kill.yaml ;;
    esac
    (wait_for 20 grep -q a2 log && touch go) &
    exits 0 cairn resume
    wait
    ok "$how: its old process has ended" ended
    says 'task a was still running under its keeper: ended' 'which is told'
    is "$(tr '\n' ' ' <log)" 'begun a2 ' 'and did not come to its end'
done

# What runs once is asked about, not started again, where nothing tells that it has not
# started. The records of the generation in which it was taken over, or began, are damaged:
damage() { # SEQ: all records behind it
    "$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) / 2) WHERE seq > $1"
}
newest() { # the number of the newest checkpoint
    cairn checkpoint list | grep -o 'workflow:[0-9]*' | cut -d : -f 2 | sort -n | tail -n 1
}
kill_when_adopted() { # COMMAND...
    killed_at adopted "$@"
    rm adopted
}
for now in lives ended; do
    write_flow damaged adopt "$Z1" 'once: true,'
    begin damaged
    n=$(newest)
    write_flow damaged adopt "$Z3" 'once: true,'
    kill_when_adopted cairn resume
    [ $now = lives ] || end_task
    damage "$n"
    (sleep 1 && touch go) &
    exits 8 cairn resume
    [ $now = ended ] || says 'was still running under its keeper: ended' 'what still runs is ended, and told'
    wait
    is "$(grep -c begun log)" 1 "taken over, $now: it has begun once"
    wait_for 20 ended
    exits 0 cairn resolve 1 a rerun
    exits 0 cairn resume
    is "$(grep -c begun log)" 2 'and begins again if so decided'
done
for now in lives ended; do
    write_begun() { # TEXT-OF-D
        cat >begun.yaml <<END2
name: begun
on_crash: adopt
tasks:
  d: {run: '$1'}
  a: {needs: d, once: true, run: 'echo begun >>log; echo \$PPID >keeper.new; mv keeper.new keeper; until [ -e go ]; do sleep 0.02; done'}
END2
    }
    rm -rf .cairn log go keeper
    write_begun false
    exits 1 cairn run begun.yaml
    n=$(newest)
    write_begun true
    cairn resume >resume.out 2>&1 &
    pid=$!
    wait_for 20 test -s keeper
    kill -9 $pid
    wait $pid 2>/dev/null
    [ $now = lives ] || end_task
    damage "$n"
    exits 8 cairn resume
    is "$(grep -c begun log)" 1 "begun, $now: it has begun once"
    touch go
    wait_for 20 ended
done

# It was turned off by an edit, and the owner of that time was killed, too.
for now in lives ended; do
    write_flow turned adopt "$Z1" 'once: true,'
    begin turned
    [ $now = lives ] || end_task
    rm -f go
    write_flow turned adopt "$Z3" "once: true, if: 'false',"
    kill_when_adopted cairn resume
    touch go
    write_flow turned adopt "$Z1" 'once: true,'
    exits 8 cairn resume
    is "$(grep -c begun log)" 1 "turned off, $now: it has begun once"
    wait_for 20 ended
done

# What must not run twice is let come to its end where it was edited, but that end is not one of
# the task as it is now, however many owners were killed meanwhile.
write_ship() { # VERSION MORE
    cat >ship.yaml <<END2
name: ship
on_crash: adopt
tasks:
  a: {once: true$2, undo: 'echo undo $1 >>log', run: 'echo begun >>log; echo \$PPID >keeper.new; mv keeper.new keeper; until [ -e go ]; do sleep 0.02; done; echo $1 >rel; echo ended >>log'}
  use: {needs: a, run: 'cp rel used'}
  $3
END2
}
for now in lives ended twice keep; do
    rm -rf .cairn log go keeper rel used adopted
    write_ship 1 '' "$Z1"
    cairn run -j3 ship.yaml >run.out 2>&1 &
    pid=$!
    wait_for 20 test -s keeper
    kill -9 $pid
    wait $pid 2>/dev/null
    [ $now != ended ] || end_task
    if [ $now = twice ]; then
        write_ship 2 '' "$Z3"
        kill_when_adopted cairn resume -j3
    fi
    write_ship 2 '' "$Z1"
    [ $now = ended ] || (sleep 0.5 && touch go) &
    if [ $now = keep ]; then
        exits 0 cairn resume --on-change=keep
        is "$(cat used)" 1 'what was kept is used'
        exits 0 cairn resume
        says 'nothing to do' 'then all is settled'
        continue
    fi
    exits 8 cairn resume -j3
    wait
    is "$(tr '\n' ' ' <log)" 'begun ended ' "$now: it came to its end"
    ok 'nothing is made of it' test ! -e used
    exits 0 cairn log a --run 1
    exits 0 cairn resolve 1 a rerun
    exits 0 cairn resume -j3
    is "$(cat used)" 2 "$now: what is used is of the task as it is now"
    exits 0 cairn resume
    says 'nothing to do' 'then all is settled'
    exits 0 cairn checkpoint verify
done
done_testing

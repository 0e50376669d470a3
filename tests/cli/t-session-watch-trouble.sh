# shellcheck shell=sh disable=SC2154
# make: long
# Watching files where the system cannot tell all of it: a full queue, no more watches, a
# directory that goes, comes back, is another one, is unmounted or may not be read; and
# very many directories.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION

printed() { wait_for 200 grep -q -e "$1" "$2"; }
is_stored() { # the newest checkpoint of the branch has the files as they are
    cairn checkpoint diff --patch >diff.out 2>diff.err && [ ! -s diff.out ] && [ ! -s diff.err ]
}
stored() { wait_for 200 is_stored; }
start() { # NAME DIRECTORY: a session of its files
    cairn session start "$1" -q && cairn session config files "$2" -q &&
        cairn session config settle 1s -q
}
begin() { # NAME [COMMAND...]: watches into NAME.out and NAME.err
    begin_name=$1
    shift
    "$@" cairn session watch >"$begin_name.out" 2>"$begin_name.err" &
    watch=$!
}
finish() {
    kill "$watch"
    wait "$watch" 2>/dev/null || true
}
n_of() { grep -c -e "$1" "$2"; }
mark() { # FILE: what it tells from here on
    marked=$1
    passed=$(wc -l <"$1")
}
is_since() { tail -n +$((passed + 1)) "$marked" | grep -q -e "$1"; }
since() { wait_for 200 is_since "$1"; }

# ---- What passes ----
mkdir e
exits 0 start passing e
begin passing
ok 'it watches' printed 'watched in' passing.err
soft() { prlimit --pid "$watch" --nofile="$1:" 2>/dev/null; }
if before=$(prlimit --pid "$watch" --nofile --raw --noheadings -o SOFT 2>/dev/null) && soft 3; then
    echo x >e/x
    ok 'a store that cannot be opened is said' printed 'the files were not stored, which is tried again: .*Too many open files' passing.err
    exits 0 cairn session config schedule 1s -q
    ok 'whatever the checkpoint is for' printed 'the checkpoint was not made, which is tried again: .*Too many open files' passing.err
    ok 'not more than once a second' [ "$(n_of 'tried again' passing.err)" -lt 20 ]
    ok 'and it continues' kill -0 "$watch"
    soft "$before"
    ok 'the files are stored' stored
    ok 'and it is told' printed 'checkpoint *debug' passing.out
else
    skip 'a store that cannot be opened' 'no limit can be set here'
fi
finish
exits 2 cairn session watch --key k
says 'sessions have no key'

# ---- More than the queue holds ----
most=$(cat /proc/sys/fs/inotify/max_queued_events)
if [ "$most" -gt 60000 ]; then
    skip 'a full queue' "it holds $most events"
else
    mkdir p
    exits 0 start queue p
    begin queue
    ok 'it watches' printed 'watched in' queue.err
    echo before >p/a
    ok 'an edit' stored
    kill -STOP $watch
    (cd p && seq 1 $((most / 3 + 1000)) | xargs touch && mkdir -p late/deep && echo x >late/deep/x)
    kill -CONT $watch
    ok 'that events were lost is said' printed 'fs.inotify.max_queued_events' queue.err
    ok 'and what was done is stored' stored
    echo y >p/late/deep/x
    ok 'a directory of which nothing was told is watched' stored
    is "$(n_of 'max_queued_events' queue.err)" 1 'it is said once'
    finish
    rm -r p
fi

# ---- The directory goes and comes ----
mkdir -p way/p
echo 1 >way/p/a
exits 0 start gone way/p
begin gone
ok 'it watches' printed 'watched in' gone.err
ok 'what is there' stored
mark gone.err
mv way/p q
ok 'it is moved' since 'cannot be read\|No such file'
mv q way/p
ok 'and back' since 'exists again'
echo 2 >way/p/a
ok 'then it is watched' stored
mark gone.err
rm -r way/p
ok 'it is removed' since 'No such file'
mkdir way/p
ok 'another one is made' since 'exists again'
echo 3 >way/p/a
ok 'which is watched' stored
mark gone.err
mv way/p way/real
ok 'it is gone' since 'No such file'
ln -s real way/p
ok 'a link is in its place: another reason' since 'by way of a link'
echo 4 >way/real/a
rm way/p
mv way/real way/p
ok 'no more' since 'exists again'
ok 'what was done meanwhile is stored' stored
mark gone.err
mv way other
ok 'what leads to it is moved' since 'No such file'
sleep 2.5
is "$(tail -n +$((passed + 1)) gone.err | grep -c 'No such file')" 1 'which is said once'
cp -R other way
ok 'a copy of it is made' since 'exists again'
echo 5 >way/p/a
ok 'which is watched, too' stored
ok 'it continues after all that' kill -0 $watch
exits 0 cairn session end -q
status=0
wait "$watch" || status=$?
is "$status" 0 'and ends with the session'

# ---- Mounted and unmounted ----
cat >mounted.sh <<'END'
set -eu
mount -t tmpfs none m
cairn session watch >mount.out 2>mount.err &
watch=$!
i=0
until grep -q 'watched in' mount.err; do
    sleep 0.1
    i=$((i + 1))
    [ $i -lt 1000 ]
done
mkdir m/d
echo on >m/d/a
i=0
until grep -q 'checkpoint *debug' mount.out; do
    sleep 0.1
    i=$((i + 1))
    [ $i -lt 1000 ]
done
umount m # nothing of the watch keeps it
i=0
until grep -q 'another directory is in the place' mount.err; do
    sleep 0.1
    i=$((i + 1))
    [ $i -lt 1000 ]
done
echo below >m/b
i=0
until cairn checkpoint diff --patch | cmp -s - /dev/null; do
    sleep 0.1
    i=$((i + 1))
    [ $i -lt 1000 ]
done
kill $watch
END
mkdir m
exits 0 start mounted m
if unshare -Urm true 2>/dev/null; then
    ok 'it is unmounted: the directory below is watched' unshare -Urm sh mounted.sh
else
    skip 'it is unmounted' 'no file system can be mounted here'
fi

# ---- No more watches ----
mkdir l
for i in 1 2 3 4 5 6 7 8 9; do
    mkdir -p l/$i/1 l/$i/2 l/$i/3 l/$i/4 l/$i/5 l/$i/6 l/$i/7 l/$i/8 l/$i/9
done
exits 0 start limit l
limited() { # N COMMAND...: with a user's limit of watches
    limited=$1
    shift
    # shellcheck disable=SC2016
    exec unshare -Ur sh -c 'echo "$0" >/proc/sys/user/max_inotify_watches && exec "$@"' "$limited" "$@"
}
if (limited 0 true) 2>/dev/null; then
    begin limit limited 60
    ok 'the limit is said' printed 'no more watches (fs.inotify.max_user_watches' limit.err
    ok 'and what is done' printed 'looked at every 10 s' limit.err
    is "$(n_of 'watched in' limit.err)" 0 'nothing is said to be watched'
    ok 'the files are stored' stored
    echo x >l/9/9/x
    ok 'and stored again' stored
    exits 0 cairn note add 'the store is watched' -q
    ok 'the store' printed 'the store is watched' limit.out
    finish
    begin zero limited 0
    ok 'not even the store can be watched' printed 'the store cannot be watched: it is asked' zero.err
    exits 0 cairn note add 'asked' -q
    ok 'it is asked' printed 'asked' zero.out
    echo x >l/1/1/x
    ok 'the files are stored' stored
    finish
    (
        # shellcheck disable=SC2016
        exec unshare -Ur sh -c 'echo 1 >/proc/sys/user/max_inotify_instances && exec cairn session watch --json'
    ) >instance.out 2>instance.err &
    watch=$!
    ok 'only one instance: said as a document' printed '"watch":"refused","path":".*/l","text":"the files cannot be watched' instance.out
    ok 'with the state' printed '"watch":"state","state":"looked-at"' instance.out
    echo x >l/2/1/x
    ok 'the files are stored' stored
    json_ok 'documents' instance.out
    finish
else
    skip 'no more watches' 'no limit can be set here'
fi

# ---- No right to read ----
mkdir -p r/locked r/open
exits 0 start rights r
if unshare -U true 2>/dev/null; then
    chmod 0 r/locked
    begin rights unshare -U
    ok 'what cannot be watched is said' printed 'locked/: the directory cannot be watched: Permission denied' rights.err
    echo x >r/open/x
    ok 'all else is' stored
    chmod 755 r/locked
    echo y >r/locked/y
    ok 'what can be read now is stored' stored
    echo z >r/locked/y
    ok 'and watched' stored
    chmod 0 r
    mkdir r/new 2>/dev/null
    ok 'not even the directory itself' printed 'r: the directory cannot be opened' rights.err
    chmod 755 r
    ok 'and again' printed 'exists again' rights.err
    echo a >r/open/x
    ok 'which is stored' stored
    finish
else
    skip 'no right to read' 'no process can be without rights here'
fi

# ---- Very many ----
directories=3000
[ "${CAIRN_TEST_LEVEL-}" != full ] || directories=100000
if [ "$(cat /proc/sys/fs/inotify/max_user_watches)" -lt $((directories + 1000)) ]; then
    skip 'many directories' 'the system allows fewer watches'
else
    mkdir many
    (cd many && seq 1 $((directories / 10)) | sed 's|.*|&/1 &/2 &/3 &/4 &/5 &/6 &/7 &/8 &/9|' | xargs mkdir -p)
    exits 0 start many many
    begin many
    ok 'all are watched' printed "$((directories + 1)) directories are watched" many.err
    echo x >many/7/7/x
    ok 'an edit in one' stored
    rm -r many/8 many/9
    mkdir many/new
    ok 'some are removed' stored
    echo y >many/new/y
    ok 'and another is watched' stored
    peak=$(awk '/^VmHWM/ { print $2 }' /proc/$watch/status)
    if ldd "$BUILD/cairn" | grep -q libasan; then
        skip 'memory' 'a sanitizer takes more'
    else
        ok "memory: $peak KiB" [ "$peak" -lt $((60000 + directories)) ]
    fi
    finish
fi
exits 0 cairn checkpoint verify
done_testing

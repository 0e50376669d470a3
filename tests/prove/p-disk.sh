# shellcheck shell=sh disable=SC2154
# A full small disk, no inodes left, a store that is made read-only or unreadable midway,
# limits on file sizes, descriptors and processes: what was told as saved is saved, it is
# said loudly what was not, and all continues once the cause is gone. The disk is a tmpfs in
# a user and mount namespace of our own.
set -u
if [ -z "${CAIRN_DISK_INSIDE-}" ]; then
    if ! unshare -Urm sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null; then
        echo 'skip|full disks, inodes, read-only file systems, limits|no user and mount namespaces here'
        exit 0
    fi
    CAIRN_DISK_INSIDE=yes exec unshare -Urm sh "$0"
fi

tasks=24
lost=0 repeated=0 other=0 runs=0 degraded=0
state=$((SEED % 1000003))
random() { # below $1, into $r
    state=$(((state * 1103515245 + 12345) % 2147483648))
    r=$((state / 65536 % $1))
}
# Each task needs some 16 KiB in the log, of which 64 are there beforehand.
moments() { # at, until, room
    random 6
    at=$((1 + r))
    random 8
    until=$((at + 8 + r))
    random 40
    room=$r
}

# ---- The workflow: a chain, and beside each link a task that needs the one before ----

mkdir w disk
cd w || exit 1
export CAIRN_STORE="$PWD/../disk/.cairn"
{
    echo 'name: disk'
    echo 'tasks:'
    i=1
    while [ "$i" -le "$tasks" ]; do
        needs=
        [ "$i" -gt 2 ] && needs="needs: [t$((i - 2))], "
        echo "  t$i: {${needs}run: '. ./task'}"
        i=$((i + 1))
    done
} >flow.yaml
cat >task <<'END'
echo "start $CAIRN_TASK" >>log
if test -e "act-$CAIRN_TASK"; then sh "./act-$CAIRN_TASK" || true; fi
head -c 12000 /dev/urandom | od -A n -t x1 || true
echo "end $CAIRN_TASK" >>log
END

blame() { # COUNTER WORD...
    counter=$1
    shift
    echo "# $what: $*"
    sed 's/^/#    err: /' err | head -n 8
    case $counter in
    lost) lost=$((lost + 1)) ;;
    repeated) repeated=$((repeated + 1)) ;;
    *) other=$((other + 1)) ;;
    esac
}

# A new disk. Options of the mount are the operands.
new_disk() {
    umount ../disk 2>/dev/null
    mount -t tmpfs -o "mode=700,$1" none ../disk || exit 1
    rm -f log act-* filler
    : >log
}

# Takes the room, but for about $1 KiB; gives it back.
cat >fill <<'END'
head -c 100m /dev/zero >../disk/filler 2>/dev/null
truncate -s "-${1}k" ../disk/filler
END
cat >free <<'END'
rm -rf ../disk/filler ../disk/many
END
cat >fill-inodes <<'END'
mkdir -p ../disk/many
i=0
while : >"../disk/many/$i"; do i=$((i + 1)); done 2>/dev/null
END

starts() { grep -cx "start $1" log; }
# cairn with a patience; $wrap, unquoted, stands before it.
wrap=
go() {
    # shellcheck disable=SC2086
    timeout -k 5 60 $wrap cairn "$@" >out 2>err
    status=$?
}

# begin STATUSES ARGUMENT...: the run that meets the trouble.
begin() {
    allowed=$1
    shift
    runs=$((runs + 1))
    go "$@"
    cp out told
    first=$status
    grep -q '"type":"degraded"' told && degraded=$((degraded + 1))
    case " $allowed " in
    *" $status "*) ;;
    *) blame other "it ended with $status" ;;
    esac
    if [ "$status" -ne 0 ] && [ ! -s err ]; then
        blame other "it ended with $status without a word"
    fi
    if grep -q '"checkpoint":null' told && ! grep -q 'DEGRADED\|"degraded"' err told; then
        blame other 'something could not be saved, and nobody said so'
    fi
}

# The cause is gone: all that was told is there, and it continues to the end.
end() {
    wrap=
    rm -f act-*
    sh ./free
    go checkpoint verify
    case $status in
    0 | 10) ;;
    *) blame other "afterwards verify ended with $status" ;;
    esac
    go status --tasks --json
    grep -o '"task":"[^"]*","state":"completed"' out | cut -d '"' -f 4 >stored
    # What was not saved when it was told is saved later, or it ends with 9.
    seq='[0-9]'
    [ "$first" -eq 9 ] || [ "$first" -eq 75 ] || seq='[0-9n]'
    sed -n 's/.*"type":"task_finished".*"task":"\([^"]*\)".*"outcome":"completed","checkpoint":'"$seq"'.*/\1/p' told >acknowledged
    while read -r task; do
        grep -qx "$task" stored || blame lost "$task was told as completed and is not stored"
    done <acknowledged
    while read -r task; do echo "$task $(starts "$task")"; done <stored >before
    go resume
    [ "$status" -eq 10 ] && go run flow.yaml
    [ "$status" -eq 0 ] || blame other "afterwards it ended with $status"
    while read -r task times; do
        [ "$(starts "$task")" -eq "$times" ] || blame repeated "$task was stored as completed and ran again"
    done <before
    go status --json
    grep -q "\"state\":\"completed\".*\"completed\":$tasks" out || blame other "afterwards not all is completed"
    go checkpoint verify
    [ "$status" -eq 0 ] || blame other "at the end verify ended with $status"
}

figure() {
    echo "figure|$1|$2|$runs runs, $degraded degraded|$lost|$repeated|0|$other"
    all=$((${all-0} + lost + repeated + other))
    lost=0 repeated=0 other=0 runs=0 degraded=0
}

# ---- A full disk ----

rounds=5
[ "$LEVEL" = full ] && rounds=50
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    moments
    # Freed by a task: it continues by itself.
    what="full from t$at to t$until with $room KiB left (round $round)"
    new_disk size=1500k
    echo "sh ./fill $room" >"act-t$at"
    echo 'sh ./free' >"act-t$until"
    begin 0 run flow.yaml --json -j 1
    end
    what="full from t$at with $room KiB left (round $round)"
    new_disk size=1500k
    echo "sh ./fill $room" >"act-t$at"
    begin '0 1 9 75' run flow.yaml --json -j 2
    end
    # Nothing new starts, until somebody makes room.
    random 3
    at=$((1 + r))
    what="full from t$at, --checkpoint=required (round $round)"
    new_disk size=1500k
    echo "sh ./fill 0" >"act-t$at"
    : >err
    (
        waited=0
        while [ "$waited" -lt 100 ] && ! grep -q DEGRADED err 2>/dev/null; do
            waited=$((waited + 1))
            sleep 0.05
        done
        sleep 0.2
        grep -c '^start' log >paused
        sleep 0.2
        grep -c '^start' log >later
        sh ./free
    ) &
    begin 0 run flow.yaml --json -j 1 --checkpoint=required
    wait
    # One may have been asked for just before, and is told after.
    awk '/"type":"degraded"/ { bad = 1 } /"type":"recovered"/ { bad = 0 }
        bad && /"type":"task_started"/ { print; n++ } END { exit n > 1 }' told >early ||
        blame other "started while nothing could be saved: $(head -n 1 early)"
    [ "$(cat paused)" = "$(cat later)" ] || blame other 'a task started while nothing could be saved'
    end
    room=$((40 + 16 * room))
    what="full before the run, $room KiB left (round $round)"
    new_disk size=1500k
    sh ./fill "$room"
    begin '0 1 9 75' run flow.yaml --json
    end
done
[ "$degraded" -ge "$rounds" ] || blame other 'hardly any run met the full disk'
figure 'G1 G2 G3' 'the disk full at random moments, with freeing and without'

# ---- No inodes ----

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    moments
    what="no inodes from t$at to t$until (round $round)"
    new_disk size=4m,nr_inodes=70
    cp fill-inodes "act-t$at"
    echo 'sh ./free' >"act-t$until"
    begin '0 1 9' run flow.yaml --json -j 1
    end
    inodes=$((5 + 3 * round % 25))
    what="only $inodes inodes (round $round)"
    new_disk "size=4m,nr_inodes=$inodes"
    begin '0 1 9 75' run flow.yaml --json
    mount -o remount,nr_inodes=200 ../disk
    end
done
figure 'G1 G2 G3' 'inodes used up at random moments, and too few from the start'

# ---- Read-only, and without permission ----

# Privileges would make permissions count for nothing.
without='setpriv --bounding-set -all --inh-caps -all --ambient-caps -all'
$without true 2>/dev/null || without=
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    moments
    what="the store read-only for new files from t$at (round $round)"
    new_disk size=4m
    echo "mount --bind '$CAIRN_STORE' '$CAIRN_STORE' && mount -o remount,bind,ro '$CAIRN_STORE'" >"act-t$at"
    begin '0 1 9 75' run flow.yaml --json -j 2
    umount "$CAIRN_STORE" 2>/dev/null
    end
    what="the whole file system read-only before a resume (round $round)"
    new_disk size=4m
    echo "kill -9 \$(cut -d ' ' -f 4 /proc/\$PPID/stat)" >"act-t$at"
    begin 137 run flow.yaml --json
    rm -f "act-t$at"
    waited=0 # for the guard of the run that was killed
    while ! mount -o remount,ro ../disk 2>/dev/null && [ "$waited" -lt 100 ]; do
        waited=$((waited + 1))
        sleep 0.05
    done
    go resume
    [ "$status" -eq 75 ] || blame other "resume on a read-only file system ended with $status"
    grep -qi 'read-only\|writ' err || blame other 'it did not say why'
    go status
    [ "$status" -eq 0 ] || [ "$status" -eq 75 ] || blame other "status ended with $status"
    mount -o remount,rw ../disk
    end
    for victim in . live cairn.db lock; do
        [ -n "$without" ] || continue
        what="no permission for $victim from t$at (round $round)"
        new_disk size=4m
        echo "chmod 0 '$CAIRN_STORE/$victim'" >"act-t$at"
        wrap=$without
        begin '0 1 9 75' run flow.yaml --json -j 2
        chmod 0700 "$CAIRN_STORE" "$CAIRN_STORE/live"
        chmod 0600 "$CAIRN_STORE/cairn.db" "$CAIRN_STORE/lock"
        end
    done
done
figure 'G1 G2 G3' 'the store read-only, or its permissions taken away midway'

# ---- Limits of the process ----

umount ../disk
mount -t tmpfs -o size=20m,mode=700 none ../disk
limited() { # LETTER VALUE STATUSES
    what="ulimit -$1 $2"
    rm -rf ../disk/.cairn log
    : >log
    printf '%s\n' "ulimit -$1 $2; exec \"\$@\"" >limit
    wrap="sh ./limit"
    begin "$3" run flow.yaml --json
    end
}
step=7
[ "$LEVEL" = full ] && step=1
value=3
while [ "$value" -le 45 ]; do
    limited n "$value" '0 1 9 75 126 127'
    value=$((value + step))
done
figure 'G1 G2 G3' 'too few descriptors'
value=1
while [ "$value" -le 330 ]; do # of 512 bytes
    limited f "$value" '0 1 9 75'
    value=$((value + 6 * step + value / 4))
done
figure 'G1 G2 G3' 'files may not grow beyond a size'
cd .. && umount disk
[ "${all-0}" -eq 0 ]

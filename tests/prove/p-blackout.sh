# shellcheck shell=sh disable=SC2154
# Power cuts from outside, with the real command: on a file system that can tell what a
# disk would hold (tests/prove/blackout/lazyfs.c), and on a machine that is switched off
# (user-mode Linux, killed). In full only.
set -u
what_fuse='power cut on a file system that forgets unsynced writes'
what_uml='power cut of a whole machine (user-mode Linux, ext4)'
if [ "${LEVEL:?}" != full ]; then
    echo "skip|$what_fuse|in the full form only"
    echo "skip|$what_uml|in the full form only"
    exit 0
fi
tasks=400
cat >flow.yaml <<END
name: blackout
tasks:
  step:
    foreach: {i: {range: [1, $tasks]}}
    run: echo "\$i" >>"\$RAN"
END
here=$PWD
fs=''
run=''
# Called by the trap, and between machines and file systems.
put_out() {
    [ -z "$run" ] || kill -s KILL -- "-$run" 2>/dev/null
    run=''
    [ -z "$fs" ] || fusermount3 -u -z mnt 2>/dev/null || umount -l mnt 2>/dev/null
    [ -z "$fs" ] || kill "$fs" 2>/dev/null
    fs=''
}
trap 'put_out' EXIT
trap 'exit 130' INT TERM

# What was reported as completed in the file $1, whole lines only.
reported() {
    awk '/"type":"task_finished".*"outcome":"completed".*}$/ {
        if (match($0, /step\[i=[0-9]+\]/)) print substr($0, RSTART, RLENGTH) }' "$1" | sort -u
}

# examine LEVEL WHAT: the store in image/.cairn must keep what `promised` names. One line
# "image LOST REPEATED UNDETECTED OTHER NAMED" into `results`, and # lines.
examine() {
    lost=0 repeated=0 other=0 undetected=0 named=0
    n=$(($(wc -l <promised)))
    timeout 60 cairn checkpoint verify --store image/.cairn >verified 2>&1
    status=$?
    if [ "$status" -eq 10 ] && [ "$n" -eq 0 ]; then
        : # it was not made yet
    elif [ "$status" -eq 5 ] && [ "$1" != full ]; then
        named=1
    elif [ "$status" -ne 0 ]; then
        other=1
        sed "s/^/# $1, $2: verify ($status): /" verified
    else
        timeout 60 cairn status --tasks --all --store image/.cairn 2>status.err | awk '$1 == "completed" && /step/ { print $2 }' | sort -u >have
        lost=$(comm -23 promised have | wc -l)
        [ "$lost" -eq 0 ] || [ "$1" != full ] || echo "# $1, $2: $lost of $n reported tasks are lost"
        RAN=$here/again timeout 120 cairn resume --store image/.cairn -j 2 >resumed 2>&1
        status=$?
        if [ "$status" -eq 10 ]; then # there is no run yet
            RAN=$here/again timeout 120 cairn run flow.yaml --store image/.cairn -j 2 >resumed 2>&1
            status=$?
        fi
        sed 's/.*/step[i=&]/' again | sort >ran
        repeated=$(comm -12 ran have | wc -l)
        [ "$repeated" -eq 0 ] || echo "# $1, $2: $repeated finished tasks ran again"
        if [ "$status" -eq 5 ] && [ "$1" != full ]; then
            named=1
        elif [ "$status" -ne 0 ]; then
            other=1
            sed "s/^/# $1, $2: resume ($status): /" resumed
        elif [ "$(sort -u ran have | wc -l)" -ne "$tasks" ]; then
            undetected=1
            echo "# $1, $2: tasks are missing in the end"
        fi
    fi
    echo "image $lost $repeated $undetected $other $named $n" >>"results.$1"
    rm -rf image again promised
}

prepare() { # an empty image, and nothing that ran again
    rm -rf image
    mkdir image
    : >again
}

figures() { # WHAT: one figure per level
    for level in full normal off; do
        awk -v level="$level" -v what="$1" '
            { cuts++; lost += $2; losing += $2 > 0; if ($2 > worst) worst = $2
              r += $3; u += $4; o += $5; named += $6; acks += $7 }
            END {
                text = sprintf("%d cuts, %.0f tasks reported before each", cuts, acks / (cuts ? cuts : 1))
                if (level != "full")
                    text = text sprintf("; %d lost some, which is not promised: at most %d; %d named as damaged", losing, worst, named)
                printf "figure|%s|%s, --sync=%s|%s|%d|%d|%d|%d\n", level == "full" ? "G1 G2" : "G6", what, level, text, level == "full" ? lost : 0, r, u, o + !cuts
                exit level == "full" && lost || r || u || o || !cuts
            }' "results.$level" || bad=1
        rm -f "results.$level"
    done
}

# start LEVEL run flow.yaml|resume: on the lazy file system
start() {
    level=$1
    shift
    RAN=$here/ran setsid timeout 60 cairn "$@" --store mnt/.cairn -j 2 "--sync=$level" --json >>acks 2>>run.err &
    run=$!
}

lazy() { # LEVEL ROUNDS CUTS
    round=0
    while [ "$round" -lt "$2" ]; do
        round=$((round + 1))
        : >acks
        rm -rf stills
        mkdir -p mnt stills
        timeout 100 ./lazyfs -s -f mnt 2>lazyfs.err &
        fs=$!
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            [ -e mnt/.ctl ] && break
            sleep 0.1
        done
        start "$1" run flow.yaml
        cut=0
        while [ "$cut" -lt "$3" ]; do
            cut=$((cut + 1))
            # Half of them go on after a kill: the WAL is recovered, the marker stands.
            if [ "$cut" -eq $(($3 / 2)) ]; then
                kill -s KILL -- "-$run" 2>/dev/null
                wait "$run" 2>/dev/null
                start "$1" resume
            fi
            sleep "0.0$(((SEED + cut * 7 + round * 3) % 10))"
            mkdir "stills/$cut"
            reported acks >"stills/$cut.promised"
            mode=none
            [ $((cut % 2)) -eq 0 ] || mode=some
            printf 'cut %s %s %s' "$mode" "$((SEED + cut))" "$here/stills/$cut" >mnt/.ctl ||
                echo "# $1: the cut $cut failed"
        done
        put_out
        wait
        cut=0
        while [ "$cut" -lt "$3" ]; do
            cut=$((cut + 1))
            prepare
            rm -rf image
            mv "stills/$cut" image
            # After a power cut it is another boot, for which no note of an end counts.
            rm -f image/.cairn/live/*.ends
            mv "stills/$cut.promised" promised
            examine "$1" "file system, round $round, cut $cut"
        done
    done
}

cat >init.sh <<'END'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
work=$(sed 's/.*wf=\([^ ]*\).*/\1/' /proc/cmdline)
level=$(sed 's/.*sy=\([^ ]*\).*/\1/' /proc/cmdline)
cairn=$(sed 's/.*bin=\([^ ]*\).*/\1/' /proc/cmdline)
mount -t ext4 /dev/ubda /mnt
: >"$work/booted"
cd "$work" && RAN=$work/ran "$cairn" run flow.yaml --store /mnt/.cairn -j 2 "--sync=$level" --json >>acks 2>run.err
echo "$?" >ended
sleep 60
END
chmod +x init.sh

machine() { # LEVEL CUTS
    cut=0
    while [ "$cut" -lt "$2" ]; do
        cut=$((cut + 1))
        : >acks
        rm -f booted ended ran d.img
        truncate -s 32M d.img
        mkfs.ext4 -q -F d.img || return 1
        # Not under `timeout`: it makes a group of its own. It ends with its init, too.
        LD_PRELOAD=$BUILD/tests/prove/uml.so setsid linux.uml mem=256M "ubda=$here/d.img" rootfstype=hostfs rootflags=/ rw "init=$here/init.sh" \
            con=null con0=null,fd:2 con1=fd:0,fd:1 "wf=$here" "sy=$1" "bin=$BUILD/cairn" </dev/null >uml.log 2>&1 &
        run=$!
        # Until so many tasks are reported.
        for _ in $(seq 300); do
            [ -e booted ] || kill -0 "$run" 2>/dev/null || break
            [ "$(grep -c task_finished acks)" -ge $(((SEED + cut * 37) % 150 + cut)) ] && break
            [ -e ended ] && break
            sleep 0.05
        done
        reported acks >promised
        put_out # the whole group: its disk helper outlives the machine
        wait
        if [ ! -e booted ]; then
            reason='the machine does not boot on this one'
            return
        fi
        sleep 0.2
        prepare
        e2fsck -fy d.img >fsck.log 2>&1
        debugfs -R "rdump /.cairn $here/image" d.img >debugfs.log 2>&1
        if [ ! -s promised ]; then
            echo "# $1, machine, cut $cut: nothing was reported in time"
            tail -q -n 3 run.err uml.log | sed 's/^/# /'
            echo "image 0 0 0 1 0 0" >>"results.$1"
            continue
        fi
        examine "$1" "machine, cut $cut"
    done
}

bad=0
reason=
[ -w /dev/fuse ] || reason='no /dev/fuse that may be used'
command -v fusermount3 >fusermount || reason='fusermount3 is missing'
# shellcheck disable=SC2046
if [ -z "$reason" ] && ! { pkg-config --exists fuse3 &&
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra "$root/tests/prove/blackout/lazyfs.c" $(pkg-config --cflags --libs fuse3) -o lazyfs; }; then
    reason='libfuse3-dev or a compiler is missing'
fi
if [ -z "$reason" ]; then
    mkdir mnt
    timeout 5 ./lazyfs -s -f mnt 2>lazyfs.err &
    fs=$!
    sleep 1
    [ -e mnt/.ctl ] || reason='it cannot be mounted here'
    put_out
    wait
fi
if [ -n "$reason" ]; then
    echo "skip|$what_fuse|$reason"
else
    lazy full 3 14
    lazy normal 1 14
    lazy off 1 14
    figures "$what_fuse"
fi

reason=
for program in linux.uml mkfs.ext4 e2fsck debugfs; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" >found || reason="$program is missing"
done
if [ -n "$reason" ]; then
    echo "skip|$what_uml|$reason"
else
    PATH=$PATH:/usr/sbin:/sbin
    machine full 8
    [ -n "$reason" ] || machine normal 3
    [ -n "$reason" ] || machine off 3
    if [ -n "$reason" ]; then
        echo "skip|$what_uml|$reason"
    else
        figures "$what_uml"
    fi
fi
[ "$bad" -eq 0 ]

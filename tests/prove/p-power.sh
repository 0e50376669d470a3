# shellcheck shell=sh disable=SC2154
# Power cuts in a model (tests/prove/power): every change and sync of the store's files
# is logged while workloads run; then, for moments of the log, disks are made on which
# what was synced stands and of the rest anything, and each is opened and judged.
set -u
power=$BUILD/tests/prove/power
kept=$BUILD/tests/prove/power-failed
rm -rf "$kept"
if [ "$LEVEL" = full ]; then
    rounds=2 images=1200 less_images=300
else
    rounds=1 images=130 less_images=60
fi

# record WORK SYNC SEED SESSIONS RACERS: its log in WORK.SYNC.SEED/log
record() {
    dir=$PWD/$1.$2.$3
    mkdir -p "$dir/base"
    session=0
    while [ "$session" -lt "$4" ]; do
        racer=0
        while [ "$racer" -lt "$5" ]; do
            kill=
            case $1.$racer in
            begun.0) # while the store is made: just after its directory, and later
                [ "$session" -eq $(($4 - 1)) ] || kill=$((2 + 3 * session + $3 % 3)) ;;
            killed.0 | racers.1) [ "$session" -eq $(($4 - 1)) ] ||
                kill=$((30 + ($3 * 7919 + session * 271) % 400)) ;;
            esac
            (
                timeout 120 "$power" record "$dir/base" "$dir/log" "$1" "$2" "$session" "$racer" ${kill:+"$kill"} 2>&1
                status=$?
                [ "$status" -eq 0 ] || { [ -n "$kill" ] && [ "$status" -eq 137 ]; } ||
                    echo "# $1 $2, seed $3: session $session.$racer ended with $status"
            ) >>"$dir/out" 2>/dev/null &
            racer=$((racer + 1))
        done
        wait
        session=$((session + 1))
    done
    grep '^#\|^power:' "$dir/out" | sed 's/^\([^#]\)/# \1/'
}

# judge WORK SYNC SEED IMAGES
judge() {
    dir=$PWD/$1.$2.$3
    timeout "${PART_TIMEOUT:?}" "$power" sweep "$dir/base" "$dir/log" "$1" "$2" "$3" "$4" "$dir/img" >"$dir/judged" 2>&1
    status=$?
    if [ "$status" -ne 0 ] || ! grep -q '^tally' "$dir/judged"; then
        echo "# $1 $2, seed $3: judging ended with $status"
        tail -n 3 "$dir/judged" | sed 's/^/# /'
    fi
    if grep -q '^#' "$dir/judged" || [ "$status" -ne 0 ]; then
        mkdir -p "$kept"
        cp "$dir/log" "$kept/$1.$2.$3.log"
        echo "# to see an image: $power one $dir/base $kept/$1.$2.$3.log $1 $2 $3 DIR CUT VARIANT"
        grep '^#' "$dir/judged"
    fi
    rm -rf "$dir/base" "$dir/img" "$dir/log"
}

# figure SYNC PROMISES TEXT: sums up; what failed outside of an image is "other"
figure() {
    cat ./*."$1".*/judged >"judged.$1"
    other=$(grep -c '^# .* ended with' "out.$1")
    tries=$(awk '/^tally/ { cuts += $2; named += $8; losing += $10; if ($12 > worst) worst = $12
            resumed += $14; moments += $16; acks += $18 }
        END { printf "%d %d %d %d %d %d %d", cuts, named, losing, worst, resumed, moments, acks }' "judged.$1")
    median=$(sed -n 's/^loss //p' "judged.$1" | sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] + 0 }')
    # shellcheck disable=SC2086
    set -- "$1" "$2" "$3" $tries
    text="$4 cuts over $9 moments, $8 resumed"
    if [ "$1" != full ]; then
        text="$text; $6 lost acknowledged outcomes, which is not promised: median $median, at most $7; $5 named as damaged"
    fi
    sums=$(awk -v other="$other" '/^tally/ { l += $3; r += $4; u += $5; o += $6 }
        END { printf "%d|%d|%d|%d", l, r, u, o + other }' "judged.$1")
    echo "figure|$2|$3|$text|$sums"
    [ "$sums" = '0|0|0|0' ]
}

"$power" list >works || exit 1
for sync in full normal off; do
    round=0
    while [ "$round" -lt "$rounds" ]; do
        number=$((${SEED:?} + round))
        round=$((round + 1))
        [ "$sync" = full ] && count=$images || count=$less_images
        while read -r work sessions racers; do
            # For the rollback journal the level makes no difference.
            [ "$sync" != full ] && [ "$work" = network ] && continue
            if [ "$LEVEL" = short ] && [ "$sync" != full ]; then
                case $work in
                killed | runs) ;;
                *) continue ;;
                esac
            fi
            record "$work" "$sync" "$number" "$sessions" "$racers" </dev/null
            judge "$work" "$sync" "$number" "$count" </dev/null
        done <works
    done >"out.$sync"
    cat "out.$sync"
done
status=0
figure full 'G1 G2 G3 G4 G6' 'power cut in a model of the disk, at every sync and report: unsynced writes and names kept, dropped, torn, reordered; --sync=full' || status=1
figure normal 'G2 G6' 'power cut in a model of the disk, --sync=normal' || status=1
figure off 'G6' 'power cut in a model of the disk, --sync=off' || status=1
exit "$status"

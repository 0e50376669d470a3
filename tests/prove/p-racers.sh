# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# Two and more of everything at once (tests/prove/racers).
set -u
here=$root/tests/prove/racers
for part in common load stop claims clock pids removed beside; do
    # shellcheck source=/dev/null
    . "$here/$part.sh"
done
unset CAIRN_STORE
if [ "$LEVEL" = full ]; then
    racers=50 rounds=30 storms=150 crowds=25 seconds=60 stopped=60 claims=10 clocks=9 pids=5 steps=1 copies=5
else
    racers=50 rounds=3 storms=15 crowds=3 seconds=8 stopped=2 claims=2 clocks=2 pids=1 steps=6 copies=1
fi

part_c() { # name, numbers: a part of the program `racers`
    part=$1
    mkdir "c.$1"
    shift
    timeout 200 "$BUILD/tests/prove/racers" "$part" "$PWD/c.$part" "$@" >"c.$part/said" 2>&1
    grep '^#' "c.$part/said" | head -n 60
    grep -q "^$part " "c.$part/said" || fail 'it did not come to its end'
    grep "^$part " "c.$part/said" | tail -n 1 >"c.$part/figures"
}

part_race() {
    part_c race $racers $rounds
    read -r _ n of lost repeated more <c.race/figures
    failed=$((failed + ${more:-1})) lost=${lost:-0} repeated=${repeated:-0}
    figure 'G2 G12' 'many racers for one workflow, on new, empty and interrupted stores: one wins, the others are told who' \
        "${n:-0} races of ${of:-0}"
}

part_storm() { # workers, rounds
    rm -rf c.storm
    part_c storm "$1" "$2" "$SEED"
    read -r _ n of kills acks lost more <c.storm/figures
    failed=$((failed + ${more:-1})) lost=${lost:-0}
    figure 'G1 G6' "$1 processes make, open, write, read and close a new store at once; a third of them killed, a third stopped" \
        "${n:-0} stores, ${kills:-0} kills, ${acks:-0} commits"
}

# Beside the one that only waits.
part_stop $stopped >stop.said 2>&1 &
stopping=$!
part_race
part_storm 8 $storms
part_storm 60 $crowds
part_claims $claims
part_clock $clocks
part_pids $pids
part_removed
part_beside $steps
part_copies $copies
part_load $seconds
wait $stopping
cat stop.said
awk -F '|' '/^figure/ { n += $5 + $6 + $7 + $8 } END { exit NR == 0 || n > 0 }' stop.said || bad=$((bad + 1))
[ "$bad" -eq 0 ]

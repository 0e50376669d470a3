# shellcheck shell=sh disable=SC1091,SC2154
# Nothing grows with the number of tasks done, and no task can do harm to the run
# (tests/prove/resources).
set -u
here=$root/tests/prove
. "$here/racers/common.sh"
. "$here/resources/nasty.sh"
CAIRN_STORE=$PWD/store
export CAIRN_STORE
if [ "$LEVEL" = full ]; then
    calls=100000 tasks=50000 wide=6000 mib=10240 children=1000
else
    calls=3000 tasks=2000 wide=1000 mib=200 children=300
fi

long_run() { # promises, what, name, numbers
    part=$3
    promises=$1 what=$2
    shift 2
    mkdir "$1.dir"
    timeout "${PART_TIMEOUT:?}" "$BUILD/tests/prove/resources" "$1" "$PWD/$1.dir" "$2" ${3+"$3"} >said 2>&1
    grep -q "^$part " said || fail 'it did not come to its end'
    read -r _ n more bytes <<END
$(grep "^$part " said)
END
    failed=$((failed + ${more:-1}))
    [ "$failed" -eq 0 ] || grep '^#' said
    figure "$promises" "$what" "${n:-0} tasks, ${bytes:-0} bytes of store each"
    rm -rf "$part.dir"
}

long_run 'G7' 'callbacks one after the other: memory, descriptors, bytes and calls a step, near the beginning and near the end' calls $calls
long_run 'G5 G7' 'processes, 4 at a time: the same figures as for callbacks, and processes and live files' tasks $tasks 4
long_run 'G5 G7' 'processes, 64 at a time: the same figures' tasks $wide 64

mkdir nasty && cd nasty || exit 1
CAIRN_STORE=$PWD/store
nasties=0
PATIENCE=300 nasty_floods $mib
nasties_of_output
nasties_of_processes $children
nasties_of_files
cd .. && rm -rf nasty
figure 'G2 G5' 'tasks that do harm: to their output, processes, files, the live directory: right outcomes, all else continues, nothing is left' \
    "$nasties kinds; $flood"
[ "$bad" -eq 0 ]

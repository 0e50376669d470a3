# shellcheck shell=sh disable=SC2154
# Hostile bytes for every decoder. Short: every input of tests/fuzz/corpus again, among
# them all that once broke something, with the objects of `make sanitize`. Full: 15 seconds
# of libFuzzer on each target from there (`make fuzz` takes 10 minutes for each).
set -u
what='hostile bytes for every decoder, hashes recomputed'
programs=$BUILD make='make fuzz-programs, needs clang'
[ "$LEVEL" = full ] || programs=$BUILD/asan make='make fuzz-replay'
for source in "$root"/tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    if [ ! -x "$programs/fuzz/$name" ]; then
        echo "skip|$what|$name is not built ($make)"
        exit 0
    fi
done
seconds=0 how='replayed from the corpus'
if [ "$LEVEL" = full ]; then
    seconds=15 how='made in 15 s for each target'
fi
BUILD=$programs FUZZ_SECONDS=$seconds FUZZ_JOBS=1 FUZZ_SEED=$SEED sh "$root/tests/fuzz/run.sh" >log 2>&1
status=$?
targets=$(grep -c '^ok ' log)
inputs=$(sed -n 's/^ok [a-z]*: \([0-9]*\) inputs/\1/p' log | awk '{ n += $1 } END { print n + 0 }')
bad=$(grep -c '^FAILED ' log)
[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
grep -v '^ok ' log | sed 's/^/# /'
echo "figure|G6|$what|$inputs inputs $how, $targets targets|0|0|0|$bad"
[ "$bad" -eq 0 ]

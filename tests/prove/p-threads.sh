# shellcheck shell=sh disable=SC2154
# Random lives of threads (tests/unit/session/thread/check_thread_model.c): states and writes
# put, replaced, copied, kept by retention and deleted through two handles and by processes
# that are killed. After each step everything is got and listed, and compared with a model;
# at the end all verifies, the index with the records, too.
set -u
lives=20
[ "$LEVEL" != full ] || lives=10000
export CAIRN_LIVES="$lives" CAIRN_SEED="$SEED" CK_FORK=no TMPDIR="$PWD"
"$BUILD/tests/unit/session/thread/check_thread_model" >said 2>&1
status=$?
lived=$(sed -n 's/^lives \([0-9]*\), .*/\1/p' said)
killed=$(sed -n 's/^lives .*, killed \([0-9]*\)$/\1/p' said)
other=0
if [ "$status" -ne 0 ] || [ "${lived:-0}" -ne "$lives" ] || [ "${killed:-0}" -eq 0 ]; then
    other=1
    head -n 20 said | sed 's/^/# /'
fi
printf 'figure|G1 G2 G10|random lives of threads: every state and write as it was put|%s lives, %s processes killed|0|0|0|%s\n' \
    "${lived:-0}" "${killed:-0}" "$other"
[ "$other" -eq 0 ]

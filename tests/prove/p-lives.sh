# shellcheck shell=sh disable=SC2154
# Random lives of debugging sessions (tests/unit/session/check_session_model.c): changes of the
# board, checkpoints, restores, branches, merges, prunes, settings, labels, deletions, files for
# a second store, and processes that are killed in the middle of a restore, a checkpoint, a
# prune, an import or a change. Every state that was ever saved must come back as it was, here
# and in other stores, and everything must verify.
set -u
lives=200
[ "$LEVEL" != full ] || lives=10000
export CAIRN_LIVES="$lives" CAIRN_LIVES_SEED="$SEED" CAIRN_LIFE_STEPS=20
"$BUILD/tests/unit/session/check_session_model" >said 2>&1
status=$?
states=$(sed -n 's/^lives [0-9]*, states \([0-9]*\), .*/\1/p' said)
killed=$(sed -n 's/^lives .*, killed \([0-9]*\)$/\1/p' said)
other=0
if [ "$status" -ne 0 ] || [ "${killed:-0}" -eq 0 ] || [ "${states:-0}" -eq 0 ]; then
    other=1
    echo "# $(grep '^seed ' said | tail -n 1)"
    grep -v '^seed ' said | head -n 20 | sed 's/^/# /'
fi
printf 'figure|G1 G2 G10|random lives of sessions: every saved state as it was, here, copied and imported|%s lives, %s states, %s processes killed|0|0|0|%s\n' \
    "$lives" "${states:-0}" "${killed:-0}" "$other"
[ "$other" -eq 0 ]

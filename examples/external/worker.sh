#!/bin/sh
# Does one step, given by $CAIRN_CLAIM_TASK; what to do comes on stdin. This one only
# pretends; a real one would ask a person or call a program, and print what later steps
# should know as a JSON object.
set -eu
cat >/dev/null
echo "$CAIRN_CLAIM_TASK" >>done.txt
case $CAIRN_CLAIM_TASK in
outline) echo '{"file": "outline.md"}' ;;
review) echo "{\"verdict\": \"${VERDICT:-approve}\"}" ;;
esac

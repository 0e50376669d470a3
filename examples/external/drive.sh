#!/bin/sh
# usage: drive.sh WORKER [RUN]
#
# Goes through a run (default: the newest) of external steps until it is done. Each step is
# claimed and given to WORKER, which reads what to do from stdin and prints a JSON object of
# values; its lease is renewed meanwhile. If the worker fails, so does the step, and this
# script ends with 1; started again, it continues with that step. Any number of these can run
# side by side, and be killed: a step that somebody claimed comes back when the lease is over.
set -u
worker=$1
run=${2:-$(cairn status --json | sed -n 's/.*"run":\([0-9]*\).*/\1/p')}

# 7: steps are left to do; 6: another driver does the same right now.
while cairn resume "$run" --no-wait --quiet; status=$?; [ $status -eq 7 ] || [ $status -eq 6 ]; do
    cairn claim --any "$run" --wait 1h --exec "$worker" || [ $? -ne 1 ] || exit 1
done
exit $status

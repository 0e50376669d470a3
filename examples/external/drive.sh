#!/bin/sh
# usage: drive.sh WORKER [RUN]
#
# Goes through a run (default: the newest) of external steps until it is done. Each step is
# claimed, given to `WORKER TASK`, and completed with the lines key=value that the worker
# prints. If the worker fails, so does the step, and this script ends with 1; started
# again, it goes on with that step. Any number of these can run side by side, and be
# killed: a step that somebody claimed comes back when the lease is over.
set -eu
worker=$1
run=${2:-$(cairn status --json | sed -n 's/.*"run":\([0-9]*\).*/\1/p')}

while :; do
    # Takes in what was completed, and tells whether something is left.
    status=0
    cairn resume "$run" --no-wait --quiet || status=$?
    case $status in
    6 | 7) ;; # another driver does the same right now, or steps are left to do
    *) exit "$status" ;;
    esac

    # One of the steps that can be taken. Ids have no quotes in them.
    task=$(cairn next "$run" --json | sed -n 's/.*"task":"\([^"]*\)".*/\1/p')
    if [ -z "$task" ]; then
        sleep 1 # others have what is left
        continue
    fi
    # Somebody may have been faster.
    token=$(cairn claim "$run" "$task" --lease 10m) || continue

    if ! answer=$("$worker" "$task"); then
        cairn fail "$run" "$task" --token "$token" --message "$worker gave up"
        exit 1
    fi
    set --
    while IFS= read -r line; do
        [ -z "$line" ] || set -- "$@" --output "$line"
    done <<LINES
$answer
LINES
    cairn complete "$run" "$task" --token "$token" "$@"
done

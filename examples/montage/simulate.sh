#!/bin/sh
# usage: simulate.sh ID INPUT... -- (OUTPUT SIZE)...
# Stands for a recorded program: every input must be there, every output is made with
# SIZE bytes. Adds "start ID" and "end ID" with nanoseconds to simulate.log.
set -eu
id=$1
shift
echo "start $id $(date +%s%N)" >>simulate.log
while [ "$1" != -- ]; do
    [ -e "$1" ] || {
        echo "simulate.sh: $id started before its input $1 was made" >&2
        exit 1
    }
    shift
done
shift
while [ $# -gt 0 ]; do
    head -c "$2" /dev/zero >"$1.part"
    mv "$1.part" "$1"
    shift 2
done
echo "end $id $(date +%s%N)" >>simulate.log

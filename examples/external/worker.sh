#!/bin/sh
# Does one step, given by its task. This one only pretends; a real one would ask a person
# or call a program, and print what later steps should know as lines key=value.
set -eu
echo "$1" >>done.txt
case $1 in
outline) echo "file=outline.md" ;;
review) echo "verdict=${VERDICT:-approve}" ;;
esac

# shellcheck shell=sh
# Sourced by the steps. Every step ends with `done_with ID`: one line, written in one
# append, to done.log: what really ran, told by the tasks and not by cairn.
set -eu
mkdir -p work

# Result files appear whole or not at all: a step killed half-way leaves none.
write_to() {
    cat >"$1.$$" && mv "$1.$$" "$1"
}

done_with() {
    echo "$1" >>done.log
}

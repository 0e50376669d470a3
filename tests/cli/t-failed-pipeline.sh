# make: sanitize
# examples/failed-pipeline does what its README shows: every command there is run, in
# order, and prints the lines that stand below it.
. "$TESTS/cli/tap.sh"

cp -r "$root/examples/failed-pipeline" scene
cd scene || exit 1
# One file for each command at `$ `: the command, what is typed into it, what it prints.
awk '/^```/ { on = /console/; next }
    !on { next }
    /^\$ / { n++; printf "%s\n", substr($0, 3) >(n ".command"); next }
    /^total\$ / { printf "%s\n", substr($0, 8) >(n ".typed"); next }
    { print >(n ".printed") }' README.md
n=$(find . -name '*.command' | wc -l)
is "$n" 5 'the README has five commands'
i=0
while [ $i -lt "$n" ]; do
    i=$((i + 1))
    : >>$i.typed
    : >>$i.printed
    tap_last=$(cat $i.command)
    SHELL=/bin/sh sh -c "$tap_last" <$i.typed >out 2>err
    status=$?
    case $i in
    1) is $status 1 'the first run fails' ;;
    *) is $status 0 "$tap_last exits 0" ;;
    esac
    while IFS= read -r line; do
        # shellcheck disable=SC2016
        ok "$tap_last prints: $line" sh -c 'cat out err | grep -qF -e "$1"' - "${line%%…*}"
    done <$i.printed
    cat err >>said
done
is "$(grep -c '^ok   fetch' said)" 1 'fetch ran once'
is "$(cairn status --json >out; json_get .state)" completed 'and the run has completed'
done_testing

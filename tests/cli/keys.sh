# shellcheck shell=sh disable=SC2016,SC2119,SC2120
# Keys of the workflow file, held against what changing them changes; sourced behind
# tap.sh by t-workflow-keys.sh and t-task-keys.sh, each of which tries a part of them.
#
#   key NAME LOOK SEEN FILE SEEN FILE...       one that every FILE has, with another value
#   default NAME LOOK SEEN FILE SEEN FILE...   one that the first FILE does not have
#   all_tried KIND                             the list is held against the schema
#
# A LOOK is a command, in a directory that has FILE as w.yaml; what it prints, on one line,
# must be SEEN, and not the same for all of them.
top=$PWD
unset CAIRN_STORE
export TOKEN=of-the-caller

# Two tasks that look for each other: `together` if they ran at the same time. Those that
# are to meet have time for it, however slow the machine is.
cat >meet <<'END'
touch "$1.on"
for i in $(seq "$patience"); do
    [ ! -e "$2.on" ] || { echo together >>log; exit 0; }
    sleep 0.05
done
rm "$1.on"
echo alone >>log
END

# What a look is: prints what happened, in a directory with w.yaml.
go() { # OPTION...
    cairn run w.yaml --json "$@" >events 2>err
    echo "exit $?"
    cat log 2>/dev/null
}
events() { # FIELD: its values in the events of the run
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" events
}
twice() {
    cairn run w.yaml >/dev/null 2>&1
    go
}
warned() {
    go
    grep -c 'check warns' events
}
described() {
    go
    cairn graph w.yaml --format json | grep -o 'see [a-z]*'
    cairn explain a 2>/dev/null | grep description
}
# Kills cairn while a task runs, then continues.
held='{a: {run: "echo begins >>log; touch at; while [ -e hold ]; do sleep 0.02; done; echo ends >>log"}}'
crash() {
    : >hold
    killed_at at cairn run w.yaml
    rm hold
    cairn resume >/dev/null 2>&1
    echo "exit $?"
    cat log
}

observe() { # LOOK FILE SEEN: one line
    rm -rf "$top/try"
    mkdir "$top/try" && cd "$top/try" || exit 1
    cp ../meet .
    printf '%s\n' "$2" >w.yaml
    case $2 in name:*) ;; *) printf 'name: w\n%s\n' "$2" >w.yaml ;; esac
    case $3 in *together*) patience=400 ;; *) patience=10 ;; esac
    export patience
    eval "$1" 2>&1 | tr '\n' ' ' | sed 's/ *$//'
    cd "$top" || exit 1
}
# key NAME LOOK, then SEEN FILE for each value that is tried. What is seen must differ.
: >keys.tried
: >defaults.tried
key() {
    echo "$1" >>keys.tried
    try "$@"
}
# The same where the first file does not have the key.
default() {
    echo "$1" >>defaults.tried
    try "$@"
}
try() {
    tried=$1
    look=$2
    shift 2
    ok "$tried: the values make a difference" test "$1" != "$3"
    number=0
    while [ $# -gt 0 ]; do
        number=$((number + 1))
        is "$(observe "$look" "$2" "$1")" "$1" "$tried ($number)"
        shift 2
    done
}

# What a task can have but its lists, or all else.
of_kind() { # task|workflow
    awk -v kind="$1" '{
        of_task = /^(task|need_order|input_glob|timeout|service_timeout|retries|reuse|shell|check_min|check_warn)(\.|$)/ &&
            !/^task\.(foreach|exclude|include)(\.|$)/
        if (of_task == (kind == "task")) print
    }'
}
all_tried() { # task|workflow
    schema=$root/docs/workflow.schema.json
    "$BUILD/tests/tools/json" flat "$schema" >schema.flat
    # .$defs.retries.oneOf[1].properties.delay.default is the key retries.delay. What only
    # narrows a key that stands elsewhere (allOf) makes no key.
    cut -f 1 schema.flat | grep -v '\.allOf\[' |
        sed -n 's/^\(.*\.properties\.[a-z_]*\)\(\..*\)\{0,1\}$/\1/p' |
        sed 's/\$defs\.//; s/\.oneOf\[[0-9]*\]//g; s/\.properties\./\./g; s/^\.//' |
        while IFS= read -r path; do
            # A key with keys of its own is one, too.
            while [ -n "$path" ]; do
                echo "$path"
                case $path in *.*) path=${path%.*} ;; *) path= ;; esac
            done
        done | grep -vx 'task\|param\|timeout\|service_timeout\|retries\|reuse\|foreach_key\|input_glob\|need_order\|included\|whole_task\|pool_limit\|size' | sort -u >keys.all
    of_kind "$1" <keys.all >keys.known
    sort -u keys.tried >keys.seen
    is "$(comm -23 keys.known keys.seen | tr '\n' ' ')" '' 'every key of the schema has been tried'
    is "$(comm -13 keys.known keys.seen | tr '\n' ' ')" '' 'and every key that was tried is in it'
    ok 'they are as many as there should be' test "$(wc -l <keys.all)" -gt 50
    grep '\.default\(\[[0-9]*\]\)\{0,1\}	' schema.flat | cut -f 1 | grep -v '\.allOf\[' |
        sed 's/\.default\(\[[0-9]*\]\)\{0,1\}$//; s/\$defs\.//; s/\.oneOf\[[0-9]*\]//g; s/\.*properties\././g; s/^\.*//' |
        sort -u | of_kind "$1" >defaults.known
    sort -u defaults.tried >defaults.seen
    is "$(comm -23 defaults.known defaults.seen | tr '\n' ' ')" '' 'every default of the schema has been tried'
}

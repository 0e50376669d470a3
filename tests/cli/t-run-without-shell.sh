# `run` with a text that needs no shell: executed itself, with the same result.
. "$TESTS/cli/tap.sh"

case $(readlink -f "$(command -v sh)") in
*/dash) ;;
*) skip_all 'sh is not dash here, so every text gets its shell' ;;
esac
mkdir sub other bin
ln -s sub link
cat >show <<'END'
#!/bin/sh
printf '%s|' "$@" && read -r parent </proc/$PPID/comm && echo "$parent"
END
printf 'echo "no shebang $1" && read -r parent </proc/$PPID/comm && echo "$parent"\n' >plain
printf '#!/bin/sh\nkill -KILL $$\n' >dies
printf '#!/bin/sh\necho "$PWD"\n' >where
cp show bin/sh
chmod +x show plain dies where bin/sh
: >closed

# Runs the workflow with this as its task t, and prints what the task wrote.
try() {
    printf 'name: try\nparams: {day: monday}\ntasks:\n  t: {%s}\n' "$1" >try.yaml
    rm -rf .cairn
    run cairn run --quiet try.yaml
    cairn log t
}

is "$(try "run: './show a \"b c\" \$day'")" 'a|b c|monday|cairn' 'no shell in between'
is "$(try "run: './show a; true'")" 'a|sh' 'a shell where one is needed'
is "$(try "run: './show a', shell: [sh, -eu, -c]")" 'a|cairn' 'the default shell by name'
is "$(try "run: './show a', shell: [sh, -c]")" 'a|sh' 'not for another one'
is "$(try "run: './show a', env: {PATH: /usr/bin}")" 'a|sh' 'nor with a PATH of its own'
is "$(try "run: './show a', env: {PWD: /}")" 'a|sh' 'nor with a PWD of its own'
is "$(PATH=$PWD/bin:$PATH try "run: './show a'")" '-eu|-c|./show a|cairn' \
    'an sh that is something else gets the text'

is "$(try 'run: ./plain x')" 'no shebang x
sh' 'what the kernel cannot execute goes to the shell'
try 'run: ./closed' >logged 2>&1
matches 'exit 126' 'what may not be executed'
is "$(cat logged)" 'sh: 1: ./closed: Permission denied' 'the shell says so'
try 'run: no-such-command x' >logged 2>&1
matches 'exit 127' 'what does not exist'
try 'run: ./dies' >logged 2>&1
matches 'exit 137' 'a signal is 128 more, as behind a shell'
says 'killed by signal 9 (SIGKILL)' 'and told'
try "run: './dies', retries: {max: 1, on_exit: [137]}" >logged 2>&1
run cairn log t --attempt 2
is "$status" 0 'and counts for retries'
try 'run: sleep 1000, timeout: 200ms' >logged 2>&1
says 'timed out' 'a time limit ends it'

here=$(pwd -P)
cd "$here" || exit 1
is "$(try 'run: ../where, cwd: sub')" "$here/sub" 'PWD is where it runs'
is "$(PWD=$here/link try 'run: ../where, cwd: link')" "$here/link" \
    'by the name that it was given, if that leads there'
is "$(PWD=$here/other try 'run: ../where, cwd: link')" "$here/sub" 'else by its own'
rm -r .cairn
run env -u PWD "$(command -v cairn)" run --quiet try.yaml
is "$(cairn log t)" "$here/sub" 'also if there was none'
done_testing

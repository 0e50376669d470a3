# make: sanitize
# cairn exec on a terminal: the command sees it, and its keys reach the command.
. "$TESTS/cli/tap.sh"
command -v bash >/dev/null || skip_all 'no bash, which controls jobs'
command -v script >/dev/null || skip_all 'no program script to make a terminal'

# A command line on a terminal of its own; what it reads comes from stdin. A shell that
# waits for cairn would get its keys too: a lone command is begun with exec.
on_terminal() {
    SHELL=/bin/sh script -qec "$1" /dev/null >raw 2>&1
    status=$?
    tr -d '\r' <raw >out
    : >err
    tap_last=$1
}
# A file appears, then the text is typed.
mkfifo keys
type_when() {
    {
        wait_for 20 test -e "$1"
        sleep 0.2
        printf '%b' "$2"
        sleep 0.3
    } >keys &
}

exits 0 cairn session start one
cat >look.sh <<'END'
for fd in 0 1 2; do [ -t $fd ] && echo "$fd is a terminal"; done
stty size <&1
END
on_terminal 'stty rows 33 cols 99; cairn exec -- sh look.sh' </dev/null
is "$(cat out)" '0 is a terminal
1 is a terminal
2 is a terminal
33 99' 'the command sees a terminal, of its size'
on_terminal 'cairn exec -- sh look.sh 2>/dev/null | cat' </dev/null
is "$(head -n 1 out) $(grep -c 'is a terminal' out)" '0 is a terminal 1' 'and a pipe where there is one'
on_terminal 'cairn exec -- printf "a\nb\n"; printf "a\nb\n"' </dev/null
is "$(od -An -c raw | tr -d ' \n')" 'a\r\nb\r\na\r\nb\r\n' 'its output arrives as without cairn'
exits 0 cairn command list --limit 1 --json
is "$(json_get '.items[0].stdout')" 'a\nb\n' 'and is recorded as it was written'
on_terminal 'cairn exec -- sh -c "stty -icanon -echo -onlcr <&1"; stty -a' </dev/null
ok 'modes that a program sets on its output are set' grep -q -e ' -icanon' out
on_terminal 'stty tostop; cairn exec -- sh -c "stty -icanon <&1; stty icanon <&1"; stty -a' </dev/null
ok 'and set back' grep -q ' icanon' out

# ---- Ctrl-C ----

type_when ready '\003'
on_terminal "exec cairn exec -- sh -c 'trap \"echo got it; exit 5\" INT; >ready; while :; do sleep 0.1; done'" <keys
is "$status" 5 'Ctrl-C reaches the command, and cairn continues'
ok 'which says so' grep -q 'got it' out
rm ready
type_when ready '\003'
on_terminal "exec cairn exec -- sh -c '>ready; exec sleep 60'" <keys
is "$status" 130 'the command may be ended by it'
exits 0 cairn command list --limit 1
says ' 130 ' 'which is recorded'

# ---- Ctrl-Z ----

rm ready
type_when ready '\032'
on_terminal "bash --norc -i -c '
cairn exec -- sh -c \"echo >ready; until test -e go; do sleep 0.1; done; exit 6\"
jobs >jobs
echo >go
fg
echo \$? >status'" <keys
ok 'Ctrl-Z stops the command and cairn' grep -qi stopped jobs
is "$(cat status 2>/dev/null)" 6 'and both go on in the foreground'
done_testing

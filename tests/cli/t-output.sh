# What `cairn run` shows of what tasks write: --output, -v, -vv; the end of a failed one.
. "$TESTS/cli/tap.sh"

cat >two.yaml <<'END2'
name: two
jobs: 1
tasks:
  good: {run: 'echo to out; echo to err >&2'}
  bad: {needs: good, run: 'seq 1 30; echo the cause >&2; printf unended; exit 3'}
END2
exits 1 cairn run two.yaml --fresh
is "$(grep -c 'to out' err)" 0 'what is good is not shown'
is "$(sed -n '/^FAILED/,/see:/p' err | sed '1d;$d' | tr -s ' \n' ' ')" \
    ' 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 the cause unended ' \
    'of a failed one the last 20 lines, as they were written'
exits 1 cairn run two.yaml --fresh --output=none
is "$(grep -c 'the cause' err)" 0 '--output=none'
says 'cairn log bad' 'but where it can be seen'
for words in -v --verbose --output=group; do
    exits 1 cairn run two.yaml --fresh $words
    is "$(sed -n '/^ok/,/^start\|^FAILED/p' err | sed '1d;$d')" '    to out
    to err' "$words: what a good one wrote, below its line"
    is "$(sed -n '/^FAILED/,/see:/p' err | grep -c '^    ')" 33 "$words: all of a failed one"
done
exits 1 cairn run two.yaml --fresh -v
is "$(grep '^start' err | tr '\n' ' ')" 'start good start bad ' '-v tells when a task starts'
exits 1 cairn run two.yaml --fresh -vv
is "$(grep -c '^good | to out$' err) $(grep -c '^bad | 7$' err) $(grep -c '^bad | unended$' err)" '1 1 1' \
    '-vv: lines with the name in front'
exits 2 cairn run two.yaml -v --json
exits 2 cairn run two.yaml --output=group -q
exits 2 cairn run two.yaml --output=all
says 'failed|group|stream|none'

# Lines come while the task runs, each once.
cat >slow.yaml <<'END2'
name: slow
tasks:
  slow: {run: 'echo one; printf half; until test -e go; do sleep 0.05; done; echo " done"; echo two >&2'}
END2
cairn run slow.yaml -vv >out 2>err &
pid=$!
ok 'the first line comes while it runs' wait_for 20 grep -q '^slow | one$' err
is "$(grep -c half err)" 0 'a line that has not ended waits'
touch go
wait $pid
is "$(grep '^slow | ' err | sort | tr '\n' ';')" 'slow | half done;slow | one;slow | two;' 'each line once'

# Retries, members, long output, control characters.
cat >more.yaml <<'END2'
name: more
tasks:
  again: {run: 'echo try $CAIRN_ATTEMPT; test $CAIRN_ATTEMPT = 2', retries: {max: 2, delay: 0s}}
  m: {foreach: {n: [1, 2]}, run: 'printf "\033[31mred\033[0m\n"'}
  long: {run: 'seq 1 20000'}
END2
exits 0 cairn run more.yaml -v --output-limit 1K
is "$(grep -c '^    try' err)" 2 'each attempt is shown'
is "$(grep -c 'are missing here' err)" 1 'what was not kept is told'
says '    20000' 'the end of a long one'
is "$(grep -c "$(printf '\033')" err)" 0 'control characters are harmless'
exits 0 cairn run more.yaml --fresh -vv
is "$(grep -c '^long | ' err)" 20000 'all of a long one is streamed'

# Secrets do not leave.
cat >secret.yaml <<'END2'
name: secret
secrets: [TOKEN]
tasks:
  tell: {secrets: [TOKEN], run: 'echo "it is $TOKEN"; sleep 0.5; echo "$TOKEN" >&2; exit 1'}
END2
for words in --output=failed -v -vv; do
    TOKEN=very-secret-value exits 1 cairn run secret.yaml --fresh $words
    is "$(grep -c very-secret err)" 0 "$words: no secret is shown"
    says 'it is [REDACTED]'
done

# ---- Long lines ----
cat >long.yaml <<'END'
name: long
tasks:
  one: {run: 'head -c 300000 /dev/zero | tr "\0" x; exit 1'}
  nul: {run: 'echo first; head -c 300000 /dev/zero; echo; echo last; exit 1'}
  two: {stderr: apart, run: 'head -c 300000 /dev/zero | tee /dev/stderr; exit 1'}
END
exits 1 cairn run long.yaml -k
ok 'what failed tasks wrote is bounded by bytes, too' test "$(wc -c <err)" -lt 60000
is "$(grep -c '^    \.\.\.' err)" 4 'where it is cut is marked'
says 'last' 'the end is there'
is "$(grep -c 'see: cairn log' err)" 4 'with the command that shows all of it'
is "$(awk '{ print (length($0) > 2100) }' err | sort -u)" 0 'of one line a part is enough'
cat >lines.yaml <<'END'
name: lines
tasks:
  a: {run: 'head -c 30000000 /dev/zero | tr "\0" x; echo end; echo next; printf "begin%900s\n" middle; exit 1'}
END
exits 1 cairn run lines.yaml
says 'xend' 'the end of a long line'
matches '^    begin.* \.\.\. .*middle$' 'of a whole one begin and end'
ok 'a line of 30 MB needs a few lines of the terminal' test "$(wc -c <err)" -lt 1600

# ---- A part of a log ----
cat >part.yaml <<'END'
name: part
tasks:
  ten: {run: 'printf 0123456789'}
  sides: {stderr: apart, run: 'printf abcdef; printf uvwxyz >&2'}
  none: {run: "true"}
  long: {run: 'head -c 200000 /dev/zero | tr "\\0" x; printf end'}
END
exits 0 cairn run part.yaml -q --output-limit 64K
while read -r bytes wanted; do
    is "$(cairn log ten --bytes "$bytes" 2>err)" "${wanted#_}" "--bytes $bytes"
done <<'END'
0:4 _0123
4: _456789
:3 _012
-3: _789
0:99 _0123456789
10:20 _
-99: _0123456789
5:5 _
END
exits 0 cairn log ten --bytes 2:5 --json
json_ok 'a part as JSON'
is "$(json_get .log.text) $(json_get .log.from) $(json_get .log.to)" '234 2 5' 'its text and place'
exits 0 cairn log ten --bytes 10: --json
is "$(json_get .log.text)/$(json_get .log.from)/$(json_get .log.to)" '/10/10' 'at the end there is nothing yet'
exits 0 cairn log ten --json
is "$(grep -c '"from"' out)" 0 'the whole has no place'
is "$(cairn log sides --stdout --bytes 1:3)$(cairn log sides --stderr --bytes 1:3 2>&1)" bcvw 'of either stream'
exits 0 cairn log long --bytes -3:
is "$(cat out)" end 'the end of one whose middle was not kept'
exits 0 cairn log long --bytes 199999: --json
is "$(json_get .log.text) $(json_get .log.from) $(json_get .log.to)" 'xend 199999 200003' 'places are those in what was written'
exits 0 cairn log long --bytes 100000:100010 --json
is "$(json_get .log.text)$(json_get .log.gap_bytes)" 10 'a part that was not kept is a gap'
exits 0 cairn log long --bytes 100000:100010
says '10 bytes of the log are missing' 'which is as long for people'
for bad in '' 5 5:3 -3:5 a: : -0: 1:2:3 99999999999999999999:; do
    run cairn log ten --bytes "$bad"
    is "$status" 2 "'$bad' is no part"
done
exits 2 cairn log --all --bytes 0:3
says '--bytes is about one TASK'
exits 2 cairn log --bytes 0:3

# ---- A gap, in a file ----
cat >gap.yaml <<'END'
name: gap
tasks:
  a: {run: 'yes some-long-line-of-output | head -n 50000'}
END
exits 0 cairn run gap.yaml -q --output-limit 64K
exits 0 cairn log a --run "$(cairn runs | awk 'NR == 2 { print $1 }')"
is "$(grep -vxc some-long-line-of-output out)" 2 'the gap parts two lines'
ok 'and is marked' grep -q '^[a-z-]*\.\.\. .* of the log are missing here' out
done_testing

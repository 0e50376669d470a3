# `depfile`: what a command wrote that it had read counts as its input.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

# A compiler without one: it reads lines "include FILE", and writes its depfile.
cat >cc.sh <<'END'
set -eu
src=$1 out=$2
files=$src
for h in $(sed -n 's/^include //p' "$src"); do files="$files $h"; done
cat $files >"$out"
{ printf '%s: \\\n' "$out"; printf ' %s \\\n' $files; echo; for h in $files; do echo "$h:"; done; } >"${out%.o}.d"
END
mkdir src
printf 'include src/a.h\ninclude src/common.h\n' >src/a.c
printf 'include src/common.h\n' >src/b.c
echo 1 >src/a.h
echo 1 >src/common.h
cat >w.yaml <<'END'
name: w
tasks:
  cc:
    foreach: {u: [a, b]}
    inputs: 'src/${{ u }}.c'
    run: 'sh cc.sh "src/$u.c" "$u.o"'
    outputs: '${{ u }}.o'
    depfile: '${{ u }}.d'
  link: {needs: cc, run: 'cat a.o b.o >prog', inputs: [a.o, b.o], outputs: prog}
  last: {needs: link, run: 'test -e ready'}
END
exits 0 cairn validate w.yaml
exits 1 cairn run w.yaml
is "$(planned w.yaml)" last 'nothing has changed'
rm ./*.d
is "$(planned w.yaml)" last 'the depfile itself is not needed any more'
echo 2 >src/a.h
is "$(planned w.yaml)" 'cc[u=a] link last' 'a file that only one has read'
exits 0 cairn explain 'cc[u=a]'
says 'the content of its input src/a.h differs' 'which it is'
exits 1 cairn resume
is "$(planned w.yaml)" last 'it was read'
echo 2 >src/common.h
is "$(planned w.yaml)" 'cc[u=a] cc[u=b] link last' 'a file that both have read'
exits 1 cairn resume
sed -i 1d src/a.c
exits 1 cairn resume
echo 3 >src/a.h
is "$(planned w.yaml)" last 'one that is not read any more'
rm src/a.h
is "$(planned w.yaml)" last 'and may be gone'
rm src/common.h
is "$(planned w.yaml)" 'cc[u=a] cc[u=b] link last' 'one that is read is gone'
echo 2 >src/common.h
is "$(planned w.yaml)" last 'and is there again'
touch ready
exits 0 cairn resume

# Relative to cwd; absolute names; names with blanks, a dollar, a number sign.
mkdir sub
echo 1 >sub/h; echo 1 >'sub/a b'; echo 1 >'sub/$x'; echo 1 >'sub/#y'
cat >cwd.yaml <<'END'
name: cwd
tasks:
  a:
    cwd: sub
    run: 'printf "o: ./h a\\ b \$\$x \\#y %s/abs /no/such gen \\\\\n /dev/null\n" "$PWD" >x.d; sleep 0.03; touch gen o; echo a >>ran'
    outputs: o
    depfile: x.d
  last: {needs: a, run: 'test -e ready2'}
END
echo 1 >sub/abs
exits 1 cairn run cwd.yaml
says 'last' 'only the last one failed'
is "$(planned cwd.yaml)" 'a last' 'what the command itself has written and read is not known'
sed -i 's/ gen / /; s/touch gen o/touch o/; s/sleep 0.03; //' cwd.yaml
exits 1 cairn run cwd.yaml
is "$(planned cwd.yaml)" last 'nothing has changed'
for file in h 'a b' '$x' '#y' abs; do
    echo 2 >"sub/$file"
    is "$(planned cwd.yaml)" 'a last' "$file has changed"
    echo 1 >"sub/$file"
    is "$(planned cwd.yaml)" last "$file is as it was"
done

# Read while somebody changes it: which of both was read is not known.
cat >race.yaml <<'END'
name: race
tasks:
  a: {run: 'cat h2 >o2; sleep 0.03; echo new >h2; echo "o2: h2" >r.d; echo a >>raced', outputs: o2, depfile: r.d}
  last: {needs: a, run: 'test -e ready3'}
END
echo old >h2
exits 1 cairn run race.yaml
is "$(planned race.yaml)" 'a last' 'it changed while the task ran'

# Missing, old, no depfile at all.
try() { # COMMAND TEXT
    printf 'name: bad\ntasks:\n  a: {run: "%s", depfile: bad.d}\n  b: {needs: a, run: "touch b-ran"}\n' "$1" >bad.yaml
    exits 1 cairn run bad.yaml
    run cairn status
    says "$2" "$2"
    ok 'what needs it did not run' test ! -e b-ran
}
try true 'it ended well, but its depfile bad.d is missing'
echo 'a: b' >bad.d
sleep 0.1
try 'true ' 'its depfile is older than the attempt'
try 'echo junk >bad.d' 'its depfile bad.d is not valid: line 1 is not a rule'
try 'rm bad.d; mkdir bad.d' 'is a directory'
rmdir bad.d
try 'head -c 5000000 /dev/zero | tr \\\\\\\\0 x >bad.d' 'its depfile bad.d is not valid'

# Killed: what had ended before is adopted from its note with what it read.
cat >kill.yaml <<'END'
name: kill
jobs: 2
tasks:
  a: {run: 'cat k1 >ko; echo "ko: k1" >k.d; echo a >>killed', outputs: ko, depfile: k.d}
  b: {needs: a, run: 'touch at; while [ ! -e go ]; do sleep 0.02; done'}
END
echo 1 >k1
cairn run kill.yaml >kill.out 2>&1 &
pid=$!
ok 'it has begun' wait_for 20 test -e at
kill -KILL $pid
wait $pid 2>/dev/null
is "$(planned kill.yaml)" b 'what it read is the same'
echo 2 >k1
is "$(planned kill.yaml)" 'a b' 'or is not'
touch go
exits 0 cairn resume
is "$(cat ko killed | tr '\n' ' ')" '2 a a ' 'and was read again'
done_testing

# Completion by Tab: for bash, and for zsh and fish, which ask that one.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
if ! command -v bash >/dev/null; then
    skip_all 'there is no bash'
fi
script=$root/cli/completion.bash

cat >cairn.yaml <<'END'
name: c
tasks:
  get: {run: 'true'}
  test: {foreach: {py: ['3.9', '3.10'], os: [lin]}, run: 'true'}
  last: {needs: [test, get], run: 'true'}
END
exits 0 cairn run
exits 0 cairn session start s

fits() { # WORD...: what fits at the end of these, on one line
    bash "$script" $(($# - 1)) "$@" 2>err | tr '\n' ' ' | sed 's/ $//'
}
is "$(fits cairn gr)" graph 'a command'
is "$(fits cairn checkpoint sh)" show 'of a group'
is "$(fits cairn graph --f)" '--format --fold' 'options'
is "$(fits cairn events --si)" --since 'those that its help names'
is "$(fits cairn session message --l) $(fits cairn session message list --l)" ' --last' 'of a group of a group'
is "$(fits cairn session m)" message 'a group in a group'
is "$(fits cairn gap add x --kind a) $(fits cairn evidence add x --kind o)" 'assumption observation' 'values are those of the command'
is "$(fits cairn plan -k --fre)" --fresh 'behind a short option'
is "$(fits cairn run -j 2 la)" last 'behind one with a value'
is "$(fits cairn graph --format=m)" --format=mermaid 'the value of an option'
is "$(fits cairn graph --format m)" mermaid 'in a word of its own'
is "$(fits cairn status --state f)" failed 'states of tasks'
is "$(fits cairn runs --state w)" waiting 'states of runs'
is "$(fits cairn log te)" 'test[py=3.9,os=lin] test[py=3.10,os=lin]' 'tasks of the newest run'
is "$(fits cairn explain 'test[py=3.1')" 'test[py=3.10,os=lin]' 'behind a bracket'
is "$(fits cairn rerun te)" 'test test[py=3.10,os=lin] test[py=3.9,os=lin]' 'groups where they can be chosen'
is "$(fits cairn run la)" last 'tasks of the file here'
is "$(fits cairn run cairn.yaml ge)" get 'of a file that is named'
is "$(fits cairn status '')" 1 'numbers of runs'
ok 'ids of checkpoints' sh -c 'bash "$1" 3 cairn checkpoint show "" | grep -q "^workflow:"' sh "$script"
ok 'sessions' test -n "$(fits cairn session show '')"
is "$(fits cairn log nosuch)" '' 'nothing where nothing fits'
# As bash itself has it: quoted for the shell.
is "$(bash -c '. "$1"; COMP_WORDS=(cairn log "test[py=3.1") COMP_CWORD=2; _cairn; echo "${COMPREPLY[@]}"' bash "$script")" \
    'test\[py=3.10\,os=lin\]' 'quoted in bash'

# Every command of the overview is known to it.
cairn help all | awk '/^commands:/ { on = 1; next } /^[a-z]/ { on = 0 } on && /^  [a-z]/ { print $1 }' | sort -u >commands
fits cairn '' | tr ' ' '\n' | sort -u >known
is "$(comm -23 commands known | tr '\n' ' ')" '' 'every command is completed'

if command -v zsh >/dev/null; then
    sed "s|@COMPLETION@|$script|" "$root/cli/completion.zsh" >_cairn
    cat >ask.zsh <<'END'
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@" }
words=("$@") CURRENT=$#
. ./_cairn
END
    is "$(zsh -f ask.zsh cairn gr)" graph 'zsh: a command'
    is "$(zsh -f ask.zsh cairn log 'test\[py=3.1')" 'test[py=3.10,os=lin]' 'zsh: a task'
else
    skip 'zsh' 'there is no zsh'
fi
if command -v fish >/dev/null; then
    sed "s|@COMPLETION@|$script|" "$root/cli/completion.fish" >cairn.fish
    is "$(HOME=$PWD fish --no-config -c 'source cairn.fish; complete -C "cairn gr"')" graph 'fish: a command'
    is "$(HOME=$PWD fish --no-config -c 'source cairn.fish; complete -C "cairn log test[py=3.1"')" 'test[py=3.10,os=lin]' 'fish: a task'
else
    skip 'fish' 'there is no fish'
fi
done_testing

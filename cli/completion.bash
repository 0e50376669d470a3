# SPDX-License-Identifier: MIT
# Completion of cairn for bash. Words are those of `cairn help`; numbers of runs, names of
# tasks, ids of items and the like come from the store.
#
# Those for zsh and fish ask this one: run as a program with CWORD and the words of the
# command line, it prints what fits, one a line, as it is.

_cairn_runs()
{
    cairn runs --limit 50 --quiet 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_cairn_tasks()
{
    cairn status --tasks --all 2>/dev/null | awk '/^  [a-z]/ { print $2 }' | head -n 500
}

# Tasks that can be chosen, and their groups: of a workflow file, or of the newest run.
_cairn_choices()
{
    cairn plan ${1:+"$1"} --all --quiet 2>/dev/null |
        awk '{ print $2; group = $2; if (sub(/\[.*/, "", group)) print group }' | sort -u | head -n 500
}

_cairn_checkpoints()
{
    cairn checkpoint list --limit 50 --quiet 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_cairn_sessions()
{
    cairn session list --limit 50 --quiet 2>/dev/null | awk 'NR > 1 { print $1; print $NF }'
}

_cairn_branches()
{
    cairn branch list --quiet 2>/dev/null | awk 'NR > 1 { print $6 }'
}

# Those of the newest checkpoint.
_cairn_files()
{
    cairn checkpoint files now --quiet 2>/dev/null | sed -n 's/^-[0-7]* .\{9,10\}  [-0-9: ]\{19\}  //p' | head -n 2000
}

# Of items: their ids. KIND LIST
_cairn_items()
{
    local all=()
    [[ $1 == gap ]] && all=(--all)
    cairn "$1" "${2:-list}" --limit 100 --quiet "${all[@]}" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# Candidates one a line; names like convert[part=3] are quoted for the shell.
_cairn_words()
{
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        [[ $word != "$cur"* ]] && continue
        [[ -n ${_cairn_plain-} ]] || word=$(printf '%q' "$word")
        COMPREPLY+=("$word")
    done
}

# The help of a command or group, which is asked once for a line.
_cairn_help()
{
    if [[ ${_cairn_asked-none} != "$1" ]]; then
        # shellcheck disable=SC2086 # words of a command
        _cairn_text=$(cairn $1 --help 2>/dev/null)
        _cairn_asked=$1
    fi
}

_cairn_is_group()
{
    _cairn_help "$1"
    [[ -z $1 || $_cairn_text == *$'\ncommands:\n'* ]]
}

# What can stand behind a group, or first.
_cairn_commands()
{
    local text
    _cairn_help "$1"
    text=$_cairn_text
    [[ -n $1 ]] || text=$(cairn help all 2>/dev/null)
    awk -v group="$1" '/^(options|EXAMPLE)/ { exit }
        /^commands:/ { on = 1 }
        on && /^  [a-z]/ && index($0, "  " (group == "" ? "" : group " ")) == 1 {
            split(substr($0, group == "" ? 3 : length(group) + 4), words, " ")
            if (!seen[words[1]]++) print words[1]
        }' <<<"$text"
}

_cairn_options()
{
    _cairn_help "$1"
    awk '/^options/ { on = 1; next } /^$/ { on = 0 }
        on && /^  -/ { sub(/^  (-., )?/, ""); sub(/[ =].*/, ""); print }' <<<"$_cairn_text"
    [[ -n $1 ]] || printf '%s\n' --version
}

# What stands behind an option in the help of a command: "=a|b", " NAME", or nothing.
_cairn_argument()
{
    _cairn_help "$1"
    awk -v option="$2" '/^options/ { on = 1; next } /^$/ { on = 0 }
        on && /^  -/ {
            short = substr($0, 3, 2)
            sub(/^  (-., )?/, ""); sub(/  .*/, "")
            name = $0; sub(/[ =].*/, "", name)
            if (option == name || option == short) { print substr($0, length(name) + 1); exit }
        }' <<<"$_cairn_text"
}

# The values of an option; fails if the option takes none.
_cairn_values()
{
    local argument
    argument=$(_cairn_argument "$1" "$2")
    case "$1 $2$argument" in
    *=*) tr '|' '\n' <<<"${argument#=}" ;;
    status' --state '*) printf '%s\n' running interrupted pending completed failed skipped excluded cancelled \
        undone unknown ;;
    runs' --state '*) printf '%s\n' running waiting interrupted completed failed cancelled undone ;;
    *'--run N') _cairn_runs ;;
    *' TASK') _cairn_tasks ;;
    *' CHECKPOINT') _cairn_checkpoints ;;
    *' SESSION') _cairn_sessions ;;
    *'--hypothesis '*) _cairn_items hypothesis ;;
    *) [[ -n $argument ]] ;;
    esac
}

_cairn_operands()
{
    case $1 in
    help) _cairn_commands '' ;;
    resume)
        _cairn_runs
        _cairn_choices
        ;;
    rerun) _cairn_choices ;;
    status | watch | cancel | diff | events | next | add | artifact\ * | 'checkpoint head') _cairn_runs ;;
    shell | resolve | undo | claim | renew | complete | fail)
        _cairn_runs
        _cairn_tasks
        ;;
    log | explain | values) _cairn_tasks ;;
    'checkpoint show' | 'checkpoint verify' | 'checkpoint delete' | 'checkpoint at' | \
        'checkpoint diff' | 'checkpoint restore' | 'checkpoint resume' | 'checkpoint files' | 'checkpoint export') _cairn_checkpoints ;;
    report)
        _cairn_checkpoints
        _cairn_runs
        ;;
    'checkpoint log' | 'checkpoint blame-file') _cairn_files ;;
    'session show' | 'session size' | 'session switch' | 'session end' | 'session delete') _cairn_sessions ;;
    'session config') cairn session config 2>/dev/null | awk '{ print $1 }' ;;
    'branch switch' | 'branch merge' | 'branch abandon') _cairn_branches ;;
    'evidence add') _cairn_items hypothesis ;;
    'belief depend') _cairn_items belief ;;
    'belief undepend') _cairn_items belief dependencies ;;
    'hypothesis add' | 'belief add' | 'gap add' | 'note add' | 'check add') ;;
    hypothesis\ * | evidence\ * | belief\ * | gap\ * | note\ * | command\ * | check\ *) _cairn_items "${1%% *}" ;;
    esac
}

_cairn()
{
    local cur prev command='' i word skip=0 file=''
    # `:` and `=` break words for bash, but not for cairn.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        local words cword
        _get_comp_words_by_ref -n := cur prev words cword
    else
        local words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=${words[cword]} prev=${words[cword - 1]}
    fi
    for ((i = 1; i < cword; i++)); do
        word=${words[i]}
        if ((skip)); then
            skip=0
        elif [[ $word == -* ]]; then
            [[ $word != *=* ]] && _cairn_values "$command" "$word" >/dev/null && skip=1
        elif [[ -z $command ]]; then
            command=$word
        elif _cairn_is_group "$command"; then
            command="$command $word"
        elif [[ $command == run || $command == plan ]] && [[ $word == *.y*ml || $word == *.json ]]; then
            file=$word
        fi
    done
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
        _cairn_words < <(_cairn_values "$command" "$prev")
    elif [[ $prev == -* ]] && _cairn_values "$command" "$prev" >/dev/null; then
        if [[ $prev == --store ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        elif [[ $prev == --state && $command != status && $command != runs ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        else
            _cairn_words < <(_cairn_values "$command" "$prev")
        fi
    elif [[ $cur == -* ]]; then
        _cairn_words < <(_cairn_options "$command")
    else
        case $command in
        run | plan)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            local files=("${COMPREPLY[@]}")
            [[ -z $file && $command == run && -e cairn.yaml ]] && file=cairn.yaml
            _cairn_words < <(_cairn_choices "$file")
            COMPREPLY=("${files[@]}" "${COMPREPLY[@]}")
            ;;
        graph | validate | 'session export' | 'session import' | 'session message import')
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        *)
            if _cairn_is_group "$command"; then
                _cairn_words < <(_cairn_commands "$command")
            else
                _cairn_words < <(_cairn_operands "$command")
            fi
            ;;
        esac
    fi
    declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
    return 0
}

if [[ ${BASH_SOURCE[0]} != "$0" ]]; then
    complete -F _cairn cairn
else
    _cairn_plain=1
    COMP_CWORD=${1:?CWORD WORD...}
    COMP_WORDS=("${@:2}")
    _cairn
    typed=${COMP_WORDS[COMP_CWORD]}
    [[ $typed == --*=* ]] && COMPREPLY=("${COMPREPLY[@]/#/${typed%%=*}=}")
    [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
fi

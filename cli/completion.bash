# SPDX-License-Identifier: MIT
# Completion of cairn for bash. Words are those of `cairn help`; run numbers and task
# names come from the store.

_cairn_runs()
{
    cairn runs --limit 50 --quiet 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_cairn_tasks()
{
    cairn status --tasks 2>/dev/null | awk '/^  [a-z]/ { print $2 }' | head -n 500
}

_cairn_checkpoints()
{
    cairn checkpoint list --limit 50 --quiet 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# Candidates one a line; names like convert[part=3] are quoted for the shell.
_cairn_words()
{
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
    done
}

_cairn_options()
{
    local tuning=(--jobs --on-change --check-outputs --checkpoint --sync --output-limit
        --keep --secrets-fd)
    printf '%s\n' --store --key --json --quiet --help
    case $1 in
    run) printf '%s\n' --param --fresh "${tuning[@]}" --no-wait --no-checkpoint ;;
    resume) printf '%s\n' --from "${tuning[@]}" --no-wait ;;
    plan) printf '%s\n' --param --fresh --run --from --on-change --check-outputs --all \
        --secrets-fd ;;
    explain) printf '%s\n' --param --run --on-change --check-outputs --secrets-fd ;;
    status) printf '%s\n' --tasks --waiting --can-resume ;;
    watch) printf '%s\n' --interval ;;
    runs) printf '%s\n' --workflow --limit --offset --sort ;;
    log) printf '%s\n' --run --attempt --stdout --stderr --follow ;;
    events) printf '%s\n' --follow ;;
    graph) printf '%s\n' --format --param --run ;;
    validate) printf '%s\n' --param --undo ;;
    undo) printf '%s\n' --secrets-fd ;;
    next) printf '%s\n' --claimed ;;
    claim) printf '%s\n' --lease --holder ;;
    complete) printf '%s\n' --token --output ;;
    fail) printf '%s\n' --token --message ;;
    'checkpoint list') printf '%s\n' --run --workflow --limit --offset --sort ;;
    doctor) printf '%s\n' --repair ;;
    gc) printf '%s\n' --keep-runs --older-than --dry-run ;;
    'checkpoint show') printf '%s\n' --tasks ;;
    'checkpoint verify') printf '%s\n' --head ;;
    'checkpoint timeline') printf '%s\n' --workflow --limit ;;
    'checkpoint delete') printf '%s\n' --yes ;;
    'checkpoint prune') printf '%s\n' --run --keep --dry-run ;;
    '') printf '%s\n' --version ;;
    esac
}

# The values of an option; fails if the option takes none.
_cairn_values()
{
    case $2 in
    --on-change) printf '%s\n' rerun keep refuse ;;
    --check-outputs) printf '%s\n' changed content exist ;;
    --checkpoint) printf '%s\n' best-effort required ;;
    --sync) printf '%s\n' full normal off ;;
    --format) printf '%s\n' dot mermaid json ;;
    --sort)
        case $1 in
        runs) printf '%s\n' -started started ;;
        *) printf '%s\n' -seq seq ;;
        esac
        ;;
    --run) _cairn_runs ;;
    --from) _cairn_checkpoints ;;
    --store | --key | --param | --jobs | -j | --output-limit | --keep | --interval | --workflow | \
        --limit | --offset | --attempt | --secrets-fd | --head | --lease | --holder | --token | --output | \
        --message | --keep-runs | --older-than) : ;;
    *) return 1 ;;
    esac
}

_cairn_operands()
{
    case $1 in
    '') printf '%s\n' run resume plan explain status watch runs log events graph init \
        validate cancel resolve undo next claim complete fail doctor gc checkpoint help version ;;
    checkpoint) printf '%s\n' list show timeline verify head delete prune ;;
    help) printf '%s\n' run resume plan explain status watch runs log events graph init \
        validate cancel resolve undo next claim complete fail doctor gc checkpoint ;;
    resume | status | watch | cancel | events | next | 'checkpoint head') _cairn_runs ;;
    resolve | undo | claim | complete | fail)
        _cairn_runs
        _cairn_tasks
        ;;
    log | explain) _cairn_tasks ;;
    'checkpoint show' | 'checkpoint verify' | 'checkpoint delete') _cairn_checkpoints ;;
    esac
}

_cairn()
{
    local cur prev command='' i word skip=0
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
        elif [[ $command == checkpoint ]]; then
            command="checkpoint $word"
        fi
    done
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
        _cairn_words < <(_cairn_values "$command" "$prev")
    elif [[ $prev == -* ]] && _cairn_values "$command" "$prev" >/dev/null; then
        if [[ $prev == --store ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        else
            _cairn_words < <(_cairn_values "$command" "$prev")
        fi
    elif [[ $cur == -* ]]; then
        _cairn_words < <(_cairn_options "$command")
    else
        case $command in
        run | plan | graph | validate)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        *) _cairn_words < <(_cairn_operands "$command") ;;
        esac
    fi
    declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
    return 0
}

complete -F _cairn cairn

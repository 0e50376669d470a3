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

_cairn_options()
{
    local tuning=(--keep-going --stop --output --verbose --heartbeat --jobs --on-change --check-outputs --no-reuse --checkpoint --sync --output-limit
        --keep --secrets-fd)
    printf '%s\n' --store --key --json --quiet --help
    case $1 in
    run) printf '%s\n' --param --fresh "${tuning[@]}" --no-wait --no-checkpoint ;;
    resume) printf '%s\n' --run --from "${tuning[@]}" --no-wait ;;
    rerun) printf '%s\n' --only --run "${tuning[@]}" --no-wait ;;
    plan) printf '%s\n' --rerun --only --keep-going --stop --param --fresh --run --from --on-change --check-outputs --no-reuse --all --verbose \
        --secrets-fd ;;
    explain) printf '%s\n' --param --run --on-change --check-outputs --no-reuse --secrets-fd ;;
    status) printf '%s\n' --run --tasks --state --sort --all --limit --offset --timing --waiting --can-resume --line ;;
    watch) printf '%s\n' --run --interval ;;
    runs) printf '%s\n' --workflow --state --limit --offset --sort ;;
    log) printf '%s\n' --run --attempt --stdout --stderr --bytes --follow --timestamps --all --failed ;;
    values) printf '%s\n' --run ;;
    diff) printf '%s\n' --stat ;;
    whence) printf '%s\n' --all ;;
    'artifact list') printf '%s\n' --run --task ;;
    'artifact get') printf '%s\n' --task --output --force ;;
    events) printf '%s\n' --run --follow --task --type --since ;;
    shell) printf '%s\n' --run --attempt --print --secrets-fd ;;
    graph) printf '%s\n' --format --fold --states --param --run ;;
    validate) printf '%s\n' --param --undo ;;
    undo) printf '%s\n' --run --secrets-fd ;;
    cancel | resolve | 'checkpoint head') printf '%s\n' --run ;;
    next) printf '%s\n' --run --claimed ;;
    claim) printf '%s\n' --run --any --wait --exec --lease --holder ;;
    renew) printf '%s\n' --run --token --lease ;;
    complete) printf '%s\n' --run --token --output ;;
    fail) printf '%s\n' --run --token --message ;;
    add) printf '%s\n' --run --by --withdraw --secrets-fd ;;
    'checkpoint list') printf '%s\n' --run --workflow --session --auto-only --limit --offset --sort --contextd --any-tag --from-seq --to-seq ;;
    doctor) printf '%s\n' --repair ;;
    clean) printf '%s\n' --stale --dry-run --yes --param --run --from --fresh ;;
    gc) printf '%s\n' --keep-runs --older-than --any-params --keep-outputs --forget-lost --dry-run ;;
    stats) printf '%s\n' --prometheus ;;
    search) printf '%s\n' --in --tag --since --until --project --hits --rebuild --contextd ;;
    'checkpoint show') printf '%s\n' --tasks --all ;;
    'checkpoint verify') printf '%s\n' --head ;;
    'checkpoint timeline') printf '%s\n' --workflow --limit ;;
    'checkpoint delete' | 'session delete') printf '%s\n' --yes ;;
    'checkpoint prune') printf '%s\n' --run --keep --session --keep-last --keep-days --keep-hourly \
        --keep-tag --manual-too --dry-run ;;
    'checkpoint create') printf '%s\n' --summary --description --context --state --tokens --threshold \
        --tag --trigger --session --contextd ;;
    'checkpoint resume') printf '%s\n' --level --session --contextd ;;
    'checkpoint at') printf '%s\n' --seq --tag --section --session ;;
    'checkpoint diff') printf '%s\n' --patch --stat --unified --worktree --paths --color --session ;;
    'checkpoint undo-restore' | 'checkpoint redo-restore') printf '%s\n' --all --dry-run --yes --session ;;
    'checkpoint recover') printf '%s\n' --session ;;
    'checkpoint log') printf '%s\n' --newest --all --session ;;
    'checkpoint export') printf '%s\n' --tar --session ;;
    'checkpoint grep') printf '%s\n' --ignore-case --fixed --paths --session ;;
    'checkpoint blame-file') printf '%s\n' --at --session ;;
    'checkpoint files' | 'checkpoint cat') printf '%s\n' --session ;;
    'checkpoint fork') printf '%s\n' --name --to --all --dry-run --session ;;
    'checkpoint restore') printf '%s\n' --yes --dry-run --paths --board-only --files-only --messages-only \
        --all --force --finish --session ;;
    'checkpoint bisect') printf '%s\n' --good --bad --check ;;
    'session start') printf '%s\n' --no-switch ;;
    'session list') printf '%s\n' --limit --offset ;;
    'session log') printf '%s\n' --after --session ;;
    'session switch' | 'session import') ;;
    'session message add') printf '%s\n' --role --model --tokens-in --tokens-out --jsonl --session ;;
    'session message list') printf '%s\n' --last --at --session ;;
    'session message show') printf '%s\n' --raw --session ;;
    'session export') printf '%s\n' --all --session ;;
    'session size') printf '%s\n' --limit --session ;;
    'session '* | 'branch list') printf '%s\n' --session ;;
    'branch switch') printf '%s\n' --all --dry-run --session ;;
    'branch start') printf '%s\n' --from --all --dry-run --session ;;
    'branch abandon') printf '%s\n' --reason --session ;;
    'branch merge') printf '%s\n' --take --session ;;
    'belief cascade') printf '%s\n' --preview --page --token --session ;;
    'hypothesis add') printf '%s\n' --prior --tag --session ;;
    'hypothesis update') printf '%s\n' --statement --prior --tag --session ;;
    'hypothesis confirm' | 'hypothesis reject') printf '%s\n' --reason --session ;;
    'evidence add') printf '%s\n' --strength --kind --source --session ;;
    'evidence update') printf '%s\n' --text --strength --kind --source --session ;;
    'belief add') printf '%s\n' --confidence --subject --claim --denied --tag --session ;;
    'belief update') printf '%s\n' --statement --confidence --subject --claim --denied --tag --session ;;
    'belief depend') printf '%s\n' --kind --session ;;
    'gap add') printf '%s\n' --kind --criticality --hypothesis --session ;;
    'gap update') printf '%s\n' --text --kind --criticality --hypothesis --session ;;
    'note add') printf '%s\n' --severity --tag --about --session ;;
    'note update') printf '%s\n' --text --severity --tag --about --session ;;
    'hypothesis list') printf '%s\n' --status --tag --at --limit --offset --sort --session ;;
    'evidence list') printf '%s\n' --hypothesis --at --limit --offset --sort --session ;;
    'belief list') printf '%s\n' --tag --at --limit --offset --sort --session ;;
    'belief dependencies') printf '%s\n' --at --limit --offset --sort --session ;;
    'gap list') printf '%s\n' --all --at --limit --offset --session ;;
    'note list') printf '%s\n' --tag --about --at --limit --offset --sort --session ;;
    'command list') printf '%s\n' --at --limit --offset --sort --session ;;
    exec) printf '%s\n' --session ;;
    'check add') printf '%s\n' --run --hypothesis --timeout --retries --session ;;
    mcp) printf '%s\n' --tools --read-only --time-limit --listen --token-file --allow-remote --allow-host ;;
    'session hook') printf '%s\n' --strategy --time-limit --session ;;
    'session install-hooks') printf '%s\n' --strategy --print --remove ;;
    'check update') printf '%s\n' --text --run --hypothesis --timeout --retries --session ;;
    'check list') printf '%s\n' --status --hypothesis --at --limit --offset --sort --session ;;
    'check run') printf '%s\n' --all --session ;;
    *' show') printf '%s\n' --at --session ;;
    *' test' | *' remove' | 'belief undepend' | 'gap fill') printf '%s\n' --session ;;
    '') printf '%s\n' --version ;;
    esac
}

# The values of an option; fails if the option takes none.
_cairn_values()
{
    case $2 in
    --on-change) printf '%s\n' rerun keep refuse ;;
    --output)
        [[ $1 == complete ]] && return 0
        [[ $1 == report ]] && return 1
        printf '%s\n' failed group stream none
        ;;
    --check-outputs) printf '%s\n' changed content exist ;;
    --checkpoint) printf '%s\n' best-effort required ;;
    --color) printf '%s\n' auto always never ;;
    --sync) printf '%s\n' full normal off ;;
    --format) printf '%s\n' dot mermaid json ;;
    --sort)
        case $1 in
        runs) printf '%s\n' -started started ;;
        status) printf '%s\n' file duration started name ;;
        *' list' | *' dependencies')
            [[ $1 == checkpoint* ]] && printf '%s\n' -seq seq -created created || printf '%s\n' -number number
            ;;
        *) printf '%s\n' -seq seq ;;
        esac
        ;;
    command) printf '%s\n' list show remove ;;
    check) printf '%s\n' add list show run update remove ;;
    --run) _cairn_runs ;;
    --task) _cairn_tasks ;;
    --from | --at | --good | --bad) _cairn_checkpoints ;;
    --session) _cairn_sessions ;;
    --hypothesis) _cairn_items hypothesis ;;
    --take) printf '%s\n' union ours theirs ;;
    --state)
        [[ $1 == status ]] && printf '%s\n' running interrupted pending completed failed skipped excluded cancelled \
            undone unknown
        [[ $1 == runs ]] && printf '%s\n' running waiting interrupted completed failed cancelled undone
        return 0
        ;;
    --status) printf '%s\n' proposed testing confirmed rejected ;;
    --severity) printf '%s\n' info warning critical ;;
    --in) printf '%s\n' sessions runs logs files messages board ;;
    --strategy) printf '%s\n' smart per_tool_use per_prompt manual ;;
    --role) printf '%s\n' user assistant system tool ;;
    --criticality) printf '%s\n' high medium low ;;
    --trigger) printf '%s\n' manual compaction-warning code-modified tool-call significant-time \
        files-settled context-threshold ;;
    --level) printf '%s\n' summary context full ;;
    --section) printf '%s\n' hypotheses evidence beliefs dependencies gaps notes \
        commands checks ;;
    --denied)
        [[ $1 == 'belief update' ]] || return 1
        printf '%s\n' yes no
        ;;
    --kind)
        case $1 in
        evidence*) printf '%s\n' observation experiment reference deduction ;;
        gap*) printf '%s\n' assumption information contradiction dependency other ;;
        *) printf '%s\n' implication cause evidence derivation assumption measurement contradicts ;;
        esac
        ;;
    --store | --key | --param | --jobs | -j | --output-limit | --keep | --interval | --workflow | \
        --limit | --offset | --attempt | --bytes | --secrets-fd | --head | --lease | --wait | --exec | --holder | --by | --token | \
        --message | --keep-runs | --older-than | --keep-outputs | --after | --prior | --tag | --reason | --statement | --text | \
        --summary | --description | --context | --tokens | --threshold | \
        --page | --keep-last | --keep-days | --keep-tag | --strength | --source | --confidence | --subject | --claim | --about | --seq | --model | \
        --tokens-in | --tokens-out | --last | --newest | --paths | --unified | -U | --time-limit | --since | --until | --project | --hits | -k) : ;;
    *) return 1 ;;
    esac
}

_cairn_operands()
{
    case $1 in
    '') printf '%s\n' run resume rerun plan explain status watch runs log values artifact diff whence shell events graph init \
        validate cancel resolve undo next claim renew complete fail add doctor clean gc stats search checkpoint session hypothesis \
        evidence belief gap note branch exec command check report mcp web help version ;;
    checkpoint) printf '%s\n' list show timeline verify head delete prune create resume at files cat log \
        grep blame-file export diff restore undo-restore redo-restore fork bisect recover ;;
    session) printf '%s\n' start list show size switch end delete config undo log message watch hook install-hooks export import ;;
    artifact) printf '%s\n' list get ;;
    'session message') printf '%s\n' add import list show ;;
    hypothesis) printf '%s\n' add list show test confirm reject update remove ;;
    evidence | note) printf '%s\n' add list show update remove ;;
    belief) printf '%s\n' add list show update remove depend dependencies undepend cascade ;;
    gap) printf '%s\n' add list show fill update remove ;;
    command) printf '%s\n' list show remove ;;
    check) printf '%s\n' add list show run update remove ;;
    branch) printf '%s\n' start list switch merge abandon ;;
    help) printf '%s\n' run resume rerun plan explain status watch runs log values artifact diff whence shell events graph init \
        validate cancel resolve undo next claim renew complete fail add doctor clean gc stats search checkpoint session hypothesis \
        evidence belief gap note branch exec command check report mcp web ;;
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
        elif [[ " checkpoint session hypothesis evidence belief gap note branch command check " == *" $command "* ]]; then
            command="$command $word"
        elif [[ $command == run || $command == plan ]] && [[ $word == *.y*ml || $word == *.json ]]; then
            file=$word
        elif [[ $command == 'session message' ]]; then
            command="$command $word"
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
        *) _cairn_words < <(_cairn_operands "$command") ;;
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

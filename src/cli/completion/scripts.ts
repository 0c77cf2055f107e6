/**
 * Completion scripts by shell. They pass the words so far to `docket __complete`, the word to complete last, and never
 * use `eval`. The command prints one candidate per line, a tab, and a description. `:files` and `:folders` request the
 * shell's own completion.
 */
export const COMPLETION_SCRIPTS: Readonly<Record<'bash' | 'zsh' | 'fish', string>> = {
  bash: `
_docket() {
  local value what line
  local -a described=()
  COMPREPLY=()
  while IFS=$'\\t' read -r value what; do
    case $value in
      :files) compopt -o default ;;
      :folders) compopt -o dirnames ;;
      *)
        COMPREPLY+=("$value")
        line=$value
        [[ $value =~ ^[0-9a-f]{8,}$ ]] && line="$value  $what"
        described+=("\${line:0:\${COLUMNS:-80}-1}")
        ;;
    esac
  done < <(docket __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # Tab for the second time: a list, of which nothing is inserted. An id alone does not show which run it is.
  if (( COMP_TYPE == 63 && \${#COMPREPLY[@]} > 1 )); then COMPREPLY=("\${described[@]}"); fi
}
complete -o nosort -F _docket docket 2>/dev/null || complete -F _docket docket
`,
  zsh: `
#compdef docket
_docket() {
  local -a candidates
  local line
  for line in "\${(@f)$(docket __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files*) _files ;;
      :folders*) _files -/ ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#candidates )) && _describe -V docket candidates
}
if [[ $funcstack[1] == _docket ]]; then _docket; else compdef _docket docket; fi
`,
  fish: `
function __docket_complete
    set -l words (commandline -opc)[2..-1]
    set -l current (commandline -ct)
    for line in (docket __complete -- $words "$current" 2>/dev/null)
        switch $line
            case ':files*'
                __fish_complete_path "$current"
            case ':folders*'
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c docket -e
complete -c docket -f -k -a '(__docket_complete)'
`,
};

# fish completion for acs
function __acs_complete
    set -l word (commandline -ct)
    set -l words (commandline -opc) "$word"
    set -l flag (string match -r '^-[^=]*=' -- "$word")
    for line in (acs __complete -- $words[2..-1] 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path (string replace -r '^-[^=]*=' '' -- "$word") | string replace -r '^' -- "$flag"
        else
            echo $line
        end
    end
end
complete -c acs -f -k -a '(__acs_complete)'

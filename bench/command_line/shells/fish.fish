# Prints the command that is being completed: "dlroof cluster script", with " --" behind it after that word.
function __dlroof_path
    set -l words (commandline -opc)
    set -l path (string replace -r '.*/' '' -- $words[1])
    for word in $words[2..-1]
        if test "$word" = --
            echo "$path --"
            return
        end
        if contains -- "$path $word" $__dlroof_paths
            set path "$path $word"
        end
    end
    echo $path
end

function __dlroof_at
    test "$(__dlroof_path)" = "$argv[1]"
end

# Prints the words, each after the part of the current value that ends with a comma.
function __dlroof_list
    set -l value (commandline -ct | string replace -r '^--[^=]*=' '')
    set -l before (string match -r '^.*,' -- $value)
    or set before ''
    printf '%s\n' $before$argv
end

# Prints the words of the command line after "--".
function __dlroof_after_dashes
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    if test -n "$at" -a (count $words) -gt "$at"
        printf '%s\n' $words[(math $at + 1)..-1]
    end
end

function __dlroof_bench_flags
    complete -C "dlroof_bench "(commandline -ct)
end

function __dlroof_program
    set -l words (__dlroof_after_dashes)
    if set -q words[1]
        set words (string escape -- $words)
    end
    complete -C (string join -- ' ' $words (commandline -ct))
end


# Runs one program for as long as its owner lives.
#
#   standard input   a pipe whose write end only the owner holds
#                      a line       ask the program to stop (SIGTERM)
#                      end of file  the owner let go or is gone: kill everything at once
#   $1               the file the program reads as its standard input
#   $2 ...           the program and its arguments
#
# Signals go to the whole process group (pid 0), never to a remembered pid: a group cannot be taken over by a
# stranger while its members live, and whatever the program itself has started is hit as well.

input=$1
shift
exec 3<&0 </dev/null

# The watcher starts before the program, so there is no moment at which the program runs unwatched. It ignores
# SIGTERM because it is a member of the group it signals.
(
    trap '' TERM
    while read -r _; do kill -s TERM 0; done
    kill -s KILL 0
) <&3 3<&- >/dev/null 2>&1 &
watcher=$!

# A handler and not "ignore": an ignored signal would stay ignored in the program.
asked=
trap 'asked=yes' TERM

"$@" <"$input" 3<&- &
program=$!
exec 3<&-

wait "$program"
status=$?
# The polite signal interrupts this shell's wait too. The second wait lasts until the program is really
# gone.
if [ -n "$asked" ]; then wait "$program"; fi

# The watcher cannot have ended by itself: its last act kills this shell.
kill -s KILL "$watcher"
exit "$status"

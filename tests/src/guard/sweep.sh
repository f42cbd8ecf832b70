# Removes one directory when its owner lets go of it.
#
#   standard input   a pipe whose write end only the owner holds
#                      a line       every program that used the directory has ended: remove it now
#                      end of file  the owner is gone and its programs are being killed: remove it in a moment
#   $1               the directory

trap '' TERM INT HUP
read -r _ || sleep 0.3 2>/dev/null || sleep 1

# A program that is dying may still add a file while the directory is being emptied.
attempts=0
while rm -rf -- "$1" 2>/dev/null; [ -e "$1" ] && [ "$attempts" -lt 30 ]; do
    attempts=$((attempts + 1))
    sleep 0.1 2>/dev/null || sleep 1
done

#!/bin/sh
# Holds that object files of kernels define nothing that the linker would merge with another instruction set's: a
# merged function compiled for AVX-512 would crash an older processor.
#   kernel_symbols.sh nm object…
nm=$1
shift
merged=$("$nm" -C "$@" | grep -E ' [WVu] ' | grep -v 'DW\.ref\.__gxx_personality')
[ -z "$merged" ] && exit 0
echo "kernels define symbols that may be merged across instruction sets:"
echo "$merged"
exit 1

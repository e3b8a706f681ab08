#!/usr/bin/env bash
# A newcomer's way from a model of their own to a running application, in five commands: in an empty folder, with an empty home
# and no variables, with what `make demo` installed. CI runs it between README's two commands.
#
# usage: tests/newcomer.sh [MODEL [BIN]]   MODEL is a .tflite or .keras file, BIN the folder of aboard
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
model=$(realpath "${1:-$checkout/tests/data/newcomer/own.tflite}")
bin=$(realpath "${2:-$checkout/.venv/bin}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/here"
cp "$model" "$work/here"
file=$(basename "$model")

env -i HOME="$work/home" PATH="$bin:/usr/local/bin:/usr/bin:/bin" FILE="$file" bash -euo pipefail -x -c '
cd "$HOME/../here"
aboard new mine --model "$FILE" --board arm/mps2_an386
cd mine
aboard build firmware
aboard run firmware 2>decisions.txt
aboard verify "$FILE" --samples 1
' || { echo "newcomer: a command failed, expected all to succeed" >&2; exit 1; }

grep -qE '^aboard: [a-z_]+: class [0-9]$' "$work/here/mine/decisions.txt" || {
    echo "newcomer: the application decided nothing, got:" >&2; cat "$work/here/mine/decisions.txt" >&2; exit 1; }

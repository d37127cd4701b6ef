#!/usr/bin/env bash
# All checks that need no test run. Every finding is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

python3 tools/lint/deps.py
python3 tools/lint/rules.py
python3 tools/lint/complaints.py
git ls-files '*.h' '*.cc' | xargs clang-format-16 --dry-run --Werror

cmake --preset tidy >/dev/null
# Only what the change touches when a base is named (quick); everything in CI.
if [ "${1:-}" = "--since" ]; then
  files=$(git diff --name-only --diff-filter=d "$2" -- 'src/*.cc')
else
  files=$(git ls-files 'src/*.cc')
fi
# Tests are left out: the compilers' warnings and the sanitizers watch them, and parsing the test
# framework again for every file would double the time.
files=$(printf '%s\n' "$files" | grep -vE '(_test|_bench)\.cc$' || true)
# Sources that this configuration does not compile (CUDA without its toolkit) have no flags to parse them with.
compiled=$(python3 -c 'import json, os, sys
for entry in json.load(open(sys.argv[1])): print(os.path.relpath(entry["file"]))' build/tidy/compile_commands.json)
files=$(comm -12 <(printf '%s\n' "$files" | sort) <(printf '%s\n' "$compiled" | sort -u))
if [ -n "$files" ]; then
  printf '%s\n' "$files" | xargs -P "$(nproc)" -n 2 clang-tidy-16 -p build/tidy --quiet \
    2> >(grep -v 'warnings generated' >&2)
fi
echo "lint: clean"

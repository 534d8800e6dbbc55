#!/usr/bin/env bash
# llama.cpp's server: MODEL=file.gguf [DRAFT=draft.gguf] [CONTEXT=32768] [KV=f16] [PORT=8080] llamacpp.sh LAYOUT
# Reuse is measured per slot: one slot per session that runs at the same time (SLOTS).
set -euo pipefail
layout=${1:-plain}
slots=${SLOTS:-1}
args=(-m "${MODEL:?set MODEL}" --host "${HOST:-127.0.0.1}" --port "${PORT:-8080}" --jinja --metrics --slots -np "$slots"
    -c "$((${CONTEXT:-32768} * slots))" --cache-type-k "${KV:-f16}" --cache-type-v "${KV:-f16}"
    --slot-save-path "${TMPDIR:-/tmp}")
case $layout in
plain) ;;
ngram) args+=(--spec-type ngram-simple) ;;
draft) args+=(-md "${DRAFT:?set DRAFT}") ;;
*) echo "llamacpp.sh: no layout $layout (plain ngram draft)" >&2; exit 2 ;;
esac
exec llama-server "${args[@]}"
